#include "agent/replay/play/replay_records.h"

#include "base/clock.h"
#include "model/cuda/activities.h"

#include "agent/replay/play/compose.h"
#include "agent/replay/play/replay_graphs.h"
#include "agent/replay/state/faults.h"
#include "agent/replay/state/replay_state.h"
#include "agent/replay/state/host_watch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ATTRS_MAX         32
#define MALFORMED_BYTES   8
#define MALFORMED_KIND    (ACTIVITY_KINDS_MAX - 1)
#define SHUTDOWN_DELAY_NS 2000000
#define LAUNCHES_KEPT     65536
#define LATE_BUFFERS_MAX  2 /* holding back more than an agent can spare would block the replay */

struct buffer {
    uint8_t *data;
    size_t size;
    size_t used;
    size_t records;
    size_t records_max; /* 0: no limit */
    bool hangs;         /* has a record of work that does not end */
};

/* A subscriber's enabled kinds and buffers. The first place is also that of the classic API. */
struct consumer {
    bool is_gone; /* unsubscribed */
    struct {
        _Atomic bool is_on;
        _Atomic bool is_known; /* the composition is valid; stays set when the kind is disabled, because
                                  buffers remain */
        struct composition composition;
    } kinds[ACTIVITY_KINDS_MAX];
    struct cupti_record_layout *layouts[ACTIVITY_KINDS_MAX];
    uint64_t attrs[ATTRS_MAX];
    _Atomic uint64_t clock_lead_ns; /* of the subscriber's clock over the replay's, when it was last read */
    _Atomic(cupti_request_fn *) request;
    _Atomic(cupti_complete_fn *) complete;
    _Atomic(cupti_request_v2_fn *) request_v2;
    _Atomic(cupti_complete_v2_fn *) complete_v2;
    /* As with CUPTI: if kernels are toggled while copies are enabled, no more kernel records arrive. */
    _Atomic bool kernels_have_ended;
    struct buffer current;                /* data NULL: none */
    bool was_refused;                     /* a call's request was refused; counts for the next record */
    struct buffer late[LATE_BUFFERS_MAX]; /* held back, oldest first */
    size_t late_count;
    _Atomic uint64_t dropped; /* not yet reported */
    _Atomic bool has_current;
};

static const uint64_t default_attrs[ATTRS_MAX] = {
    [CUPTI_ATTR_DEVICE_BUFFER_SIZE] = 3200000,
    [CUPTI_ATTR_DEVICE_BUFFER_POOL_LIMIT] = 250,
    [CUPTI_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE] = 3,
    [CUPTI_ATTR_PER_THREAD_ACTIVITY_BUFFER] = 1,
};

static struct consumer consumers[SUBSCRIBERS_MAX];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for everything below and the consumers; released
                                                            while a buffer is delivered */
static size_t next_activity;
static unsigned next_filled; /* bit mask of places that already have the next record */
static uint64_t intervals, buffers, graphs, executions, works, kernels;
static struct replay_records_counts counts;
static pthread_t shutdown_thread;
static bool has_shutdown_thread;

__attribute__((constructor)) static void set_all_defaults(void)
{
    for (unsigned i = 0; i < SUBSCRIBERS_MAX; i++)
        memcpy(consumers[i].attrs, default_attrs, sizeof default_attrs);
}

static void disable_all(struct consumer *consumer)
{
    for (uint32_t kind = 0; kind < ACTIVITY_KINDS_MAX; kind++)
        atomic_store(&consumer->kinds[kind].is_on, false);
}

static bool has_kinds(const struct consumer *consumer)
{
    for (uint32_t kind = 0; kind < ACTIVITY_KINDS_MAX; kind++)
        if (atomic_load_explicit(&consumer->kinds[kind].is_on, memory_order_relaxed))
            return true;
    return false;
}

void replay_records_begin(unsigned place)
{
    struct consumer *consumer = &consumers[place];
    pthread_mutex_lock(&lock);
    if (consumer->is_gone) {
        uint64_t clock =
            consumer->attrs[CUPTI_ATTR_TIMESTAMP_CALLBACK]; /* kept after the subscription ends */
        memcpy(consumer->attrs, default_attrs, sizeof default_attrs);
        consumer->attrs[CUPTI_ATTR_TIMESTAMP_CALLBACK] = clock;
        consumer->request = NULL;
        consumer->complete = NULL;
        consumer->request_v2 = NULL;
        consumer->complete_v2 = NULL;
        consumer->current = (struct buffer){0};
        consumer->was_refused = consumer->is_gone = false;
        atomic_store(&consumer->has_current, false);
        atomic_store(&consumer->kernels_have_ended, false);
        for (uint32_t kind = 0; kind < ACTIVITY_KINDS_MAX; kind++)
            consumer->kinds[kind].is_known = false;
    }
    pthread_mutex_unlock(&lock);
}

void replay_records_end(unsigned place)
{
    pthread_mutex_lock(&lock);
    disable_all(&consumers[place]);
    consumers[place].is_gone = true;
    pthread_mutex_unlock(&lock);
}

uint32_t replay_records_register(cupti_request_fn *on_request, cupti_complete_fn *on_complete)
{
    struct consumer *consumer = &consumers[0];
    if (!on_request || !on_complete || fault(FAULT_REGISTER))
        return CUPTI_INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    consumer->request = on_request;
    consumer->complete = on_complete;
    consumer->is_gone = false;
    pthread_mutex_unlock(&lock);
    atomic_store(&consumer->dropped, fault(FAULT_DROPPED));
    return CUPTI_OK;
}

uint32_t replay_records_register_v2(unsigned place, cupti_request_v2_fn *on_request,
                                    cupti_complete_v2_fn *on_complete)
{
    struct consumer *consumer = &consumers[place];
    if (!on_request || !on_complete || fault(FAULT_REGISTER))
        return CUPTI_INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    consumer->request_v2 = on_request;
    consumer->complete_v2 = on_complete;
    pthread_mutex_unlock(&lock);
    atomic_store(&consumer->dropped, fault(FAULT_DROPPED));
    return CUPTI_OK;
}

static size_t attr_size(uint32_t attr)
{
    switch (attr) {
    case CUPTI_ATTR_DEVICE_BUFFER_SIZE:
    case CUPTI_ATTR_DEVICE_BUFFER_POOL_LIMIT:
    case CUPTI_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE:
    case CUPTI_ATTR_TIMESTAMP_CALLBACK:
        return sizeof(size_t);
    case CUPTI_ATTR_THREAD_ID_TYPE:
        return sizeof(uint32_t);
    default:
        return sizeof(uint8_t);
    }
}

/* CLOCK_REALTIME is CUPTI's default, for which the recorded clock substitutes. */
static bool is_default(uint64_t told_ns)
{
    return clock_read_ns(CLOCK_REALTIME) - told_ns < NS_PER_SECOND;
}

extern cuspan_replay_clock_fn cuspan_replay_clock;

/* CUPTI reads a subscriber's clock also between two recordings, and gives the next records times by what it
 * said then (13.5). */
static void read_clock(struct consumer *consumer)
{
    cupti_timestamp_fn *clock = NULL;
    uint64_t before, theirs;
    pthread_mutex_lock(&lock);
    memcpy(&clock, &consumer->attrs[CUPTI_ATTR_TIMESTAMP_CALLBACK], sizeof clock);
    pthread_mutex_unlock(&lock);
    if (!clock)
        return;
    do { /* another thread may advance the replay's clock */
        before = cuspan_replay_clock();
        theirs = clock();
    } while (before != cuspan_replay_clock());
    atomic_store(&consumer->clock_lead_ns, is_default(theirs) ? 0 : theirs - before);
}

uint32_t replay_records_set_attribute(unsigned place, uint32_t attr, size_t *size, const void *value)
{
    struct consumer *consumer = &consumers[place];
    if (attr >= ATTRS_MAX || !size || !value || attr == CUPTI_ATTR_MULTIPLE_SUBSCRIBER_STATE ||
        fault(FAULT_ATTRIBUTE))
        return CUPTI_INVALID_PARAMETER;
    if (*size < attr_size(attr))
        return CUPTI_PARAMETER_SIZE_NOT_SUFFICIENT;
    /* A buffer's layout and clock must not change under it. */
    bool is_settled = attr == CUPTI_ATTR_USER_DEFINED_RECORDS || attr == CUPTI_ATTR_TIMESTAMP_CALLBACK;
    for (unsigned i = 0; i < SUBSCRIBERS_MAX && is_settled; i++)
        if (has_kinds(&consumers[i]))
            return CUPTI_NOT_COMPATIBLE;
    pthread_mutex_lock(&lock);
    consumer->attrs[attr] = 0;
    memcpy(&consumer->attrs[attr], value, attr_size(attr));
    pthread_mutex_unlock(&lock);
    if (attr == CUPTI_ATTR_TIMESTAMP_CALLBACK)
        read_clock(consumer);
    return CUPTI_OK;
}

uint32_t replay_records_get_attribute(unsigned place, uint32_t attr, size_t *size, void *value)
{
    if (attr >= ATTRS_MAX || !size || !value)
        return CUPTI_INVALID_PARAMETER;
    if (*size < attr_size(attr))
        return CUPTI_PARAMETER_SIZE_NOT_SUFFICIENT;
    *size = attr_size(attr);
    memcpy(value, &consumers[place].attrs[attr], *size);
    return CUPTI_OK;
}

static bool choose_layout(struct consumer *consumer, uint32_t kind,
                          const struct cupti_activity_config *config)
{
    struct composition *composition = &consumer->kinds[kind].composition;
    if (!consumer->attrs[CUPTI_ATTR_USER_DEFINED_RECORDS])
        return compose_classic(composition, replay.version, kind);
    if (!config || config->structSize == 0 || !compose_selected(composition, kind, &config->fieldSelection))
        return false;
    consumer->layouts[kind] = &composition->layout;
    return true;
}

static bool copies_are_on(const struct consumer *consumer)
{
    return atomic_load(&consumer->kinds[ACTIVITY_MEMCPY].is_on) ||
           atomic_load(&consumer->kinds[ACTIVITY_MEMSET].is_on);
}

static _Atomic long flushing_thread; /* with FAULT_FLUSH_ALONE; 0: none */

/* CUPTI crashes, or never returns (docs/cupti.md). */
static void crash(const char *reason)
{
    fprintf(stderr, "cuspan replay: %s\n", reason);
    abort();
}

static void check_flush(void)
{
    long thread = atomic_load(&flushing_thread);
    if (thread != 0 && thread != syscall(SYS_gettid))
        crash("records are switched during a flush");
}

uint32_t replay_records_enable(unsigned place, uint32_t kind, const struct cupti_activity_config *config)
{
    struct consumer *consumer = &consumers[place];
    struct composition unused;
    check_flush();
    if (kind >= ACTIVITY_KINDS_MAX || !compose_classic(&unused, replay.version, kind))
        return CUPTI_INVALID_KIND;
    if (fault(FAULT_ENABLE_KIND) == kind)
        return CUPTI_NOT_COMPATIBLE;
    if (kind == ACTIVITY_GRAPH_TRACE)
        replay_sleep_ns(fault(FAULT_LATE_GRAPHS) * 1000000);
    pthread_mutex_lock(&lock);
    bool was_on = atomic_load(&consumer->kinds[kind].is_on);
    if (kind == ACTIVITY_KERNEL && !was_on && consumer->kinds[kind].is_known && copies_are_on(consumer))
        atomic_store(&consumer->kernels_have_ended, true);
    /* Enabling again after sleep must use the same fields, since older buffers may still be read. */
    bool is_right = was_on || consumer->kinds[kind].is_known || choose_layout(consumer, kind, config);
    if (is_right && !was_on) {
        consumer->kinds[kind].is_known = true;
        atomic_store(&consumer->kinds[kind].is_on, true);
    }
    pthread_mutex_unlock(&lock);
    return is_right ? CUPTI_OK : CUPTI_INVALID_PARAMETER;
}

/* As in CUPTI, whether work is recorded is decided at its launch. */
static struct {
    _Atomic uint32_t correlation_id;
    _Atomic uint64_t kinds[SUBSCRIBERS_MAX];         /* enabled at that time, one bit each */
    _Atomic enum replay_graph_records graph_records; /* if the work is a graph's */
} launches[LAUNCHES_KEPT];

static bool graphs_are_on(void)
{
    bool is_on = false;
    for (unsigned i = 0; i < SUBSCRIBERS_MAX; i++)
        is_on |= atomic_load(&consumers[i].kinds[ACTIVITY_GRAPH_TRACE].is_on);
    return is_on;
}

void replay_records_note_exec(uint64_t handle)
{
    replay_graphs_created(handle, graphs_are_on());
}

void replay_records_note_launch(const struct call_record *call)
{
    uint32_t correlation_id = call->correlation_id;
    for (unsigned i = 0; i < SUBSCRIBERS_MAX; i++) {
        uint64_t on = 0;
        for (uint32_t kind = 0; kind < ACTIVITY_KINDS_MAX; kind++)
            on |= (uint64_t)atomic_load_explicit(&consumers[i].kinds[kind].is_on, memory_order_relaxed)
                  << kind;
        atomic_store(&launches[correlation_id % LAUNCHES_KEPT].kinds[i], on);
    }
    atomic_store(&launches[correlation_id % LAUNCHES_KEPT].graph_records,
                 replay_graphs_launched(call, graphs_are_on()));
    atomic_store(&launches[correlation_id % LAUNCHES_KEPT].correlation_id, correlation_id);
}

static bool was_on_at_launch(unsigned place, const struct activity_record *record)
{
    uint32_t at = record->correlation_id % LAUNCHES_KEPT;
    if (record->correlation_id && atomic_load(&launches[at].correlation_id) == record->correlation_id)
        return atomic_load(&launches[at].kinds[place]) >> record->kind & 1 &&
               replay_graphs_has(atomic_load(&launches[at].graph_records), record);
    return atomic_load(&consumers[place].kinds[record->kind].is_on);
}

uint32_t replay_records_disable(unsigned place, uint32_t kind)
{
    struct consumer *consumer = &consumers[place];
    check_flush();
    if (kind >= ACTIVITY_KINDS_MAX)
        return CUPTI_INVALID_KIND;
    if (atomic_exchange(&consumer->kinds[kind].is_on, false) && kind == ACTIVITY_KERNEL &&
        copies_are_on(consumer))
        atomic_store(&consumer->kernels_have_ended, true);
    return CUPTI_OK;
}

static void deliver(struct consumer *consumer, struct buffer *buffer)
{
    struct cupti_buffer_complete_info info = {
        .structSize = sizeof info,
        .threadId = (uint64_t)syscall(SYS_gettid),
    };
    if (consumer->attrs[CUPTI_ATTR_USER_DEFINED_RECORDS] && !fault(FAULT_NULL_INFO)) {
        info.ppRecordLayouts = consumer->layouts;
        info.numRecordLayouts = ACTIVITY_KINDS_MAX;
    }
    /* Loaded first: gcc 12 reads an atomic pointer plainly in a call through it. */
    cupti_complete_v2_fn *complete_v2 = consumer->complete_v2;
    cupti_complete_fn *complete = consumer->complete;
    host_watch_begin("a completed buffer");
    if (complete_v2)
        complete_v2(buffer->data, buffer->size, buffer->used, &info);
    else if (complete)
        complete(NULL, 0, buffer->data, buffer->size, buffer->used);
    host_watch_end();
}

static struct buffer take_current_locked(struct consumer *consumer)
{
    struct buffer taken = consumer->current;
    if (fault(FAULT_MALFORMED) && taken.data && ++buffers % fault(FAULT_MALFORMED) == 0 &&
        taken.used + MALFORMED_BYTES <= taken.size) {
        uint32_t kind = MALFORMED_KIND;
        memcpy(taken.data + taken.used, &kind, sizeof kind);
        taken.used += MALFORMED_BYTES;
    }
    consumer->current = (struct buffer){0};
    atomic_store(&consumer->has_current, false);
    return taken;
}

/* Holds the buffer back and returns the oldest one if there are too many. */
static struct buffer keep_late_locked(struct consumer *consumer, const struct buffer *buffer)
{
    struct buffer *late = consumer->late, oldest = late[0];
    if (consumer->late_count == LATE_BUFFERS_MAX)
        memmove(&late[0], &late[1], (--consumer->late_count) * sizeof late[0]);
    else
        oldest.data = NULL;
    late[consumer->late_count++] = *buffer;
    return oldest;
}

/* Delivers a full buffer. Releases the lock meanwhile. */
static void deliver_full_locked(struct consumer *consumer)
{
    struct buffer full = take_current_locked(consumer);
    if (fault(FAULT_LATE_BUFFERS))
        full = keep_late_locked(consumer, &full);
    pthread_mutex_unlock(&lock);
    if (full.data)
        deliver(consumer, &full);
    pthread_mutex_lock(&lock);
}

/* False: try again later. */
static bool request_locked(struct consumer *consumer)
{
    struct cupti_buffer_request_info info = {.structSize = sizeof info};
    if (!replay_has_room())
        return false;
    struct buffer got = {0};
    cupti_request_v2_fn *request_v2 = consumer->request_v2;
    cupti_request_fn *request = consumer->request;
    host_watch_begin("a buffer's request");
    if (request_v2)
        request_v2(&got.data, &got.size, &got.records_max, &info);
    else if (request)
        request(&got.data, &got.size, &got.records_max);
    host_watch_end();
    if (got.data && !consumer->attrs[CUPTI_ATTR_ZEROED_OUT_ACTIVITY_BUFFER])
        memset(got.data, 0, got.size);
    consumer->current = got;
    consumer->was_refused = !got.data;
    atomic_store(&consumer->has_current, got.data != NULL);
    return true;
}

static bool has_functions(const struct consumer *consumer)
{
    return !consumer->is_gone && (consumer->request || consumer->request_v2);
}

void replay_records_expect(void)
{
    for (unsigned i = 0; i < SUBSCRIBERS_MAX; i++) {
        struct consumer *consumer = &consumers[i];
        if (atomic_load_explicit(&consumer->has_current, memory_order_relaxed) || !has_kinds(consumer))
            continue;
        pthread_mutex_lock(&lock);
        if (!consumer->current.data && !consumer->was_refused && has_functions(consumer))
            (void)request_locked(consumer);
        pthread_mutex_unlock(&lock);
    }
}

static bool fits_current(const struct consumer *consumer, size_t bytes)
{
    const struct buffer *current = &consumer->current;
    size_t reserved = fault(FAULT_MALFORMED) ? MALFORMED_BYTES : 0;
    bool has_place = current->records_max == 0 || current->records < current->records_max;
    return has_place && current->used + bytes + reserved <= current->size;
}

static bool has_times(uint16_t kind)
{
    return !fault(FAULT_ZERO_TIMESTAMPS) || !activity_table[kind].is_interval ||
           ++intervals % fault(FAULT_ZERO_TIMESTAMPS) != 0;
}

/* The executions of a graph that several threads launch at once share the memory of their times. */
static void mix_times(struct activity_record *record)
{
    if (record->kind != ACTIVITY_GRAPH_TRACE || !fault(FAULT_GRAPH_TIMES) ||
        ++executions % fault(FAULT_GRAPH_TIMES) != 0)
        return;
    uint64_t way = executions / fault(FAULT_GRAPH_TIMES) % 3;
    record->start_ns = way == 2 ? record->end_ns + 1000 : 0;
    record->end_ns = way == 1 ? 0 : record->end_ns;
}

static bool has_hung(uint64_t count)
{
    return fault(FAULT_KERNEL_HANGS) && count >= fault(FAULT_KERNEL_HANGS);
}

/* Removes the times that faults suppress. */
static void take_times(struct activity_record *record)
{
    bool is_stopped = replay_work_is_stopped(record->correlation_id);
    mix_times(record);
    if (!has_times(record->kind) || (is_stopped && !fault(FAULT_ASSERT_STARTED)) ||
        (has_hung(kernels) && activity_table[record->kind].is_gpu_work))
        record->start_ns = 0;
    if (!record->start_ns || is_stopped)
        record->end_ns = 0;
}

static bool is_left_out(const struct activity_record *record)
{
    bool is_left_out = record->kind == ACTIVITY_GRAPH_TRACE && graphs < fault(FAULT_NO_GRAPH_RECORDS);
    graphs += is_left_out;
    if (replay_work_never_comes(record->correlation_id))
        return true;
    if (fault(FAULT_NO_RECORD) && record->correlation_id && ++works % fault(FAULT_NO_RECORD) == 0)
        return true;
    return is_left_out;
}

static bool is_off(unsigned place, const struct activity_record *record)
{
    const struct consumer *consumer = &consumers[place];
    if (record->kind == ACTIVITY_KERNEL && atomic_load(&consumer->kernels_have_ended))
        return true;
    return !was_on_at_launch(place, record) || !consumer->kinds[record->kind].is_known ||
           atomic_load(&replay.is_finished) || !has_functions(consumer);
}

/* The record with times by the subscriber's clock. */
static struct activity_record in_own_time(const struct consumer *consumer,
                                          const struct activity_record *record)
{
    struct activity_record own = *record;
    uint64_t lead_ns = atomic_load(&consumer->clock_lead_ns);
    own.start_ns += own.start_ns ? lead_ns : 0;
    own.end_ns += own.end_ns ? lead_ns : 0;
    return own;
}

/* Writes one record into the buffer, or counts why not. False: it must wait for a buffer. */
static bool fill_one_locked(unsigned place, const struct activity_record *record)
{
    struct consumer *consumer = &consumers[place];
    const struct composition *composition = &consumer->kinds[record->kind].composition;
    size_t bytes = composition->layout.recordSize;
    if (is_off(place, record)) {
        counts.off += place == 0;
        return true;
    }
    /* CUPTI keeps also what has ended before the kernel that hangs. But the replay's clock stands still then,
     * so that it would seem to end just now. */
    uint64_t count = kernels + (record->kind == ACTIVITY_KERNEL);
    bool hangs = has_hung(count) && !has_hung(kernels);
    if (consumer->current.data && (hangs || !fits_current(consumer, bytes)))
        deliver_full_locked(consumer);
    if (!consumer->current.data && !consumer->was_refused && !request_locked(consumer))
        return false;
    if (!consumer->current.data || !fits_current(consumer, bytes)) {
        consumer->was_refused = false;
        counts.dropped++;
        atomic_fetch_add(&consumer->dropped, 1);
        return true;
    }
    struct activity_record own = in_own_time(consumer, record);
    kernels = count;
    consumer->current.hangs |= has_hung(kernels) && activity_table[record->kind].is_gpu_work;
    take_times(&own);
    compose_record(composition, &own, consumer->current.data + consumer->current.used);
    consumer->current.used += bytes;
    consumer->current.records++;
    counts.filled++;
    return true;
}

/* Writes the record for each subscriber, and remembers who has it while another one has no buffer. */
static bool fill_all_locked(const struct activity_record *record)
{
    if (!next_filled && is_left_out(record)) {
        counts.off++;
        return true;
    }
    for (unsigned i = 0; i < SUBSCRIBERS_MAX; i++) {
        if (next_filled >> i & 1)
            continue;
        if (!fill_one_locked(i, record))
            return false;
        next_filled |= 1u << i;
    }
    next_filled = 0;
    return true;
}

bool replay_records_fill(uint64_t reached)
{
    bool is_filled = true;
    pthread_mutex_lock(&lock);
    while (is_filled && next_activity < replay.timeline.activity_count &&
           replay.timeline.activities[next_activity].index < reached) {
        /* Read first, because the lock may be released for a moment. */
        const struct activity_record *record = replay.timeline.activities[next_activity++].record;
        is_filled = fill_all_locked(record);
        if (!is_filled)
            next_activity--;
    }
    pthread_mutex_unlock(&lock);
    return is_filled;
}

uint64_t replay_records_position(uint64_t *order_ns)
{
    pthread_mutex_lock(&lock);
    uint64_t position = UINT64_MAX;
    *order_ns = 0;
    if (next_activity < replay.timeline.activity_count) {
        position = replay.timeline.activities[next_activity].index;
        *order_ns = replay.timeline.activities[next_activity].order_ns;
    }
    pthread_mutex_unlock(&lock);
    return position;
}

void replay_records_rewind(void)
{
    pthread_mutex_lock(&lock);
    next_activity = 0;
    next_filled = 0;
    pthread_mutex_unlock(&lock);
}

struct replay_records_counts replay_records_counts(void)
{
    pthread_mutex_lock(&lock);
    struct replay_records_counts now = counts;
    pthread_mutex_unlock(&lock);
    return now;
}

uint32_t replay_records_next(unsigned place, uint8_t *buffer, size_t valid, struct cupti_activity **record)
{
    const struct consumer *consumer = &consumers[place];
    uint32_t kind;
    size_t at = 0;
    if (!buffer || !record)
        return CUPTI_INVALID_PARAMETER;
    if (*record) {
        memcpy(&kind, *record, sizeof kind);
        at = (size_t)((uint8_t *)*record - buffer) + consumer->kinds[kind].composition.layout.recordSize;
    }
    if (at + sizeof kind > valid)
        return CUPTI_MAX_LIMIT_REACHED;
    memcpy(&kind, buffer + at, sizeof kind);
    if (kind >= ACTIVITY_KINDS_MAX || !consumer->kinds[kind].is_known ||
        at + consumer->kinds[kind].composition.layout.recordSize > valid)
        return CUPTI_INVALID_KIND;
    *record = (struct cupti_activity *)(void *)(buffer + at);
    return CUPTI_OK;
}

uint32_t replay_records_dropped(unsigned place, size_t *count)
{
    if (!count)
        return CUPTI_INVALID_PARAMETER;
    bool is_due = !fault(FAULT_ASSERT) || replay_is_failure_known(); /* then they are dropped because of it */
    *count = is_due ? atomic_exchange(&consumers[place].dropped, 0) : 0;
    return CUPTI_OK;
}

/* Buffers that a flush returns, oldest first. */
struct returned {
    struct consumer *consumer;
    size_t count;
    struct buffer buffers[LATE_BUFFERS_MAX + 1];
};

static void *deliver_all(void *given)
{
    struct returned *returned = given;
    for (size_t i = 0; i < returned->count; i++)
        deliver(returned->consumer, &returned->buffers[i]);
    return NULL;
}

/* As CUPTI does (13.5): on a thread of its own, while the one that flushes waits. */
static void deliver_elsewhere(struct returned *returned)
{
    pthread_t worker;
    if (returned->count == 0)
        return;
    if (pthread_create(&worker, NULL, deliver_all, returned) == 0)
        pthread_join(worker, NULL);
    else /* there are no more threads, or the process is becoming another program */
        deliver_all(returned);
}

static void flush(struct consumer *consumer, bool is_forced)
{
    pthread_mutex_lock(&lock);
    bool is_kept = is_forced ? fault(FAULT_AFTER_SHUTDOWN) != 0
                             : fault(FAULT_LATE_BUFFERS) != 0 || consumer->current.hangs;
    bool is_delivered = consumer->current.data && !is_kept && (consumer->current.used > 0 || is_forced);
    size_t count = is_forced ? consumer->late_count : 0;
    struct returned returned = {.consumer = consumer, .count = count};
    memcpy(returned.buffers, consumer->late, sizeof consumer->late);
    consumer->late_count -= count;
    if (is_delivered)
        returned.buffers[returned.count++] = take_current_locked(consumer);
    pthread_mutex_unlock(&lock);
    if (is_delivered && fault(FAULT_FLUSH_SLOW))
        replay_sleep_ns(fault(FAULT_FLUSH_SLOW) * 1000000);
    deliver_elsewhere(&returned);
}

/* CUPTI's own work in a flush has a record, for a later one. */
static void add_overhead(unsigned place)
{
    if (!fault(FAULT_FLUSH_OVERHEAD))
        return;
    pthread_mutex_lock(&lock);
    if (next_activity > 0) { /* the replay has started */
        uint64_t time_ns = cuspan_replay_clock() - replay.shift.time_ns;
        struct activity_record record = {
            .kind = ACTIVITY_OVERHEAD, .start_ns = time_ns, .end_ns = time_ns + 1000};
        (void)fill_one_locked(place, &record);
    }
    pthread_mutex_unlock(&lock);
}

/* Affects all subscribers. */
uint32_t replay_records_flush(uint32_t flag)
{
    bool is_forced = flag & CUPTI_FLUSH_FORCED, has_any = false;
    for (unsigned i = 0; i < SUBSCRIBERS_MAX; i++) {
        bool has_buffers = consumers[i].request || consumers[i].request_v2;
        has_any |= has_buffers;
        if (has_buffers && fault(FAULT_FLUSH_ALONE) &&
            consumers[i].attrs[CUPTI_ATTR_PER_THREAD_ACTIVITY_BUFFER])
            crash("a flush takes a thread's buffer");
    }
    if (!has_any)
        return CUPTI_INVALID_OPERATION;
    static _Atomic uint64_t refused;
    if (is_forced && atomic_fetch_add(&refused, 1) < fault(FAULT_FLUSH_REFUSED))
        return CUPTI_INVALID_OPERATION;
    if (is_forced && fault(FAULT_FLUSH_BLOCKS))
        replay_sleep_ns(fault(FAULT_FLUSH_BLOCKS) * 1000000);
    if (fault(FAULT_FLUSH_ALONE)) {
        atomic_store(&flushing_thread, syscall(SYS_gettid));
        replay_sleep_ns(fault(FAULT_FLUSH_ALONE) * 1000000);
    }
    for (unsigned i = 0; i < SUBSCRIBERS_MAX; i++) {
        flush(&consumers[i], is_forced);
        add_overhead(i);
        read_clock(&consumers[i]);
    }
    atomic_store(&flushing_thread, 0);
    return CUPTI_OK;
}

static void *deliver_after_shutdown(void *unused)
{
    replay_sleep_ns(SHUTDOWN_DELAY_NS);
    pthread_mutex_lock(&lock);
    struct buffer taken = take_current_locked(&consumers[0]);
    pthread_mutex_unlock(&lock);
    if (taken.data)
        deliver(&consumers[0], &taken);
    return NULL;
}

void replay_records_after_shutdown(void)
{
    if (fault(FAULT_AFTER_SHUTDOWN) && !has_shutdown_thread)
        has_shutdown_thread = pthread_create(&shutdown_thread, NULL, deliver_after_shutdown, NULL) == 0;
}

static void hold(void)
{
    pthread_mutex_lock(&lock);
}

static void release(void)
{
    pthread_mutex_unlock(&lock);
}

/* A forked child finds no lock held. */
__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(hold, release, release);
}

void replay_records_join(void)
{
    if (has_shutdown_thread)
        pthread_join(shutdown_thread, NULL);
    has_shutdown_thread = false;
}
