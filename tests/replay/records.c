#include "records.h"

#include "model/activities.h"

#include "compose.h"
#include "faults.h"
#include "state.h"
#include "watch.h"

#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ATTRS_MAX         32
#define MALFORMED_BYTES   8
#define MALFORMED_KIND    (ACTIVITY_KINDS_MAX - 1)
#define SHUTDOWN_DELAY_NS 2000000
#define LAUNCHES_KEPT     65536
#define LATE_BUFFERS_MAX  2 /* more than an agent can spare would stop the replay */

struct buffer {
    uint8_t *data;
    size_t size;
    size_t used;
    size_t records;
    size_t records_max; /* 0: as many as fit */
};

static struct {
    _Atomic bool is_on;
    bool is_known; /* the composition holds; it outlives the switching off, as buffers do */
    struct composition composition;
} kinds[ACTIVITY_KINDS_MAX];
static struct cupti_record_layout *layouts[ACTIVITY_KINDS_MAX];
static _Atomic unsigned kinds_on;

static uint64_t attrs[ATTRS_MAX] = {
    [CUPTI_ATTR_DEVICE_BUFFER_SIZE] = 3200000,
    [CUPTI_ATTR_DEVICE_BUFFER_POOL_LIMIT] = 250,
    [CUPTI_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE] = 3,
    [CUPTI_ATTR_PER_THREAD_ACTIVITY_BUFFER] = 1,
};

static cupti_request_fn *request;
static cupti_complete_fn *complete;
static cupti_request_v2_fn *request_v2;
static cupti_complete_v2_fn *complete_v2;

static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER;               /* of all below; not held while a buffer is delivered */
static struct buffer current;                /* data NULL: none */
static bool was_refused;                     /* a call's request: it stands for the next record */
static struct buffer late[LATE_BUFFERS_MAX]; /* kept back, the oldest first */
static size_t late_count;
static size_t next_activity;
static uint64_t intervals, buffers, graphs, works;
static struct records_counts counts;
static _Atomic uint64_t dropped; /* not yet asked for */
static _Atomic bool has_current;
static pthread_t shutdown_thread;
static bool has_shutdown_thread;

uint32_t records_register(cupti_request_fn *on_request, cupti_complete_fn *on_complete)
{
    if (!on_request || !on_complete || fault(FAULT_REGISTER))
        return CUPTI_INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    request = on_request;
    complete = on_complete;
    pthread_mutex_unlock(&lock);
    atomic_store(&dropped, fault(FAULT_DROPPED));
    return CUPTI_OK;
}

uint32_t records_register_v2(cupti_request_v2_fn *on_request, cupti_complete_v2_fn *on_complete)
{
    if (!on_request || !on_complete || fault(FAULT_REGISTER))
        return CUPTI_INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    request_v2 = on_request;
    complete_v2 = on_complete;
    pthread_mutex_unlock(&lock);
    atomic_store(&dropped, fault(FAULT_DROPPED));
    return CUPTI_OK;
}

/* --- what is on --- */

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

uint32_t records_set_attribute(uint32_t attr, size_t *size, const void *value)
{
    if (attr >= ATTRS_MAX || !size || !value || attr == CUPTI_ATTR_MULTIPLE_SUBSCRIBER_STATE ||
        fault(FAULT_ATTRIBUTE))
        return CUPTI_INVALID_PARAMETER;
    if (*size < attr_size(attr))
        return CUPTI_PARAMETER_SIZE_NOT_SUFFICIENT;
    if (attr == CUPTI_ATTR_USER_DEFINED_RECORDS && atomic_load(&kinds_on) > 0)
        return CUPTI_NOT_COMPATIBLE; /* which layout a buffer has must not change under it */
    attrs[attr] = 0;
    memcpy(&attrs[attr], value, attr_size(attr));
    return CUPTI_OK;
}

uint32_t records_get_attribute(uint32_t attr, size_t *size, void *value)
{
    if (attr >= ATTRS_MAX || !size || !value)
        return CUPTI_INVALID_PARAMETER;
    if (*size < attr_size(attr))
        return CUPTI_PARAMETER_SIZE_NOT_SUFFICIENT;
    *size = attr_size(attr);
    memcpy(value, &attrs[attr], *size);
    return CUPTI_OK;
}

static bool choose_layout(uint32_t kind, const struct cupti_activity_config *config)
{
    struct composition *composition = &kinds[kind].composition;
    if (!attrs[CUPTI_ATTR_USER_DEFINED_RECORDS])
        return compose_classic(composition, replay.version, kind);
    if (!config || config->structSize == 0 || !compose_selected(composition, kind, &config->fieldSelection))
        return false;
    layouts[kind] = &composition->layout;
    return true;
}

/* As CUPTI's do: if they go off, or on again, while copies are on, no kernel's records come from then on. */
static _Atomic bool kernels_have_ended;

static bool copies_are_on(void)
{
    return atomic_load(&kinds[ACTIVITY_MEMCPY].is_on) || atomic_load(&kinds[ACTIVITY_MEMSET].is_on);
}

uint32_t records_enable(uint32_t kind, const struct cupti_activity_config *config)
{
    struct composition unused;
    if (kind >= ACTIVITY_KINDS_MAX || !compose_classic(&unused, replay.version, kind))
        return CUPTI_INVALID_KIND;
    if (fault(FAULT_ENABLE_KIND) == kind)
        return CUPTI_NOT_COMPATIBLE;
    pthread_mutex_lock(&lock);
    bool was_on = atomic_load(&kinds[kind].is_on);
    if (kind == ACTIVITY_KERNEL && !was_on && kinds[kind].is_known && copies_are_on())
        atomic_store(&kernels_have_ended, true);
    /* On again, after a sleep: with the same fields, while buffers of before may be read. */
    bool is_right = was_on || kinds[kind].is_known || choose_layout(kind, config);
    if (is_right && !was_on) {
        kinds[kind].is_known = true;
        atomic_store(&kinds[kind].is_on, true);
        atomic_fetch_add(&kinds_on, 1);
    }
    pthread_mutex_unlock(&lock);
    return is_right ? CUPTI_OK : CUPTI_INVALID_PARAMETER;
}

/* As CUPTI does: whether work is recorded is settled when it is launched. */
static struct {
    _Atomic uint32_t correlation_id;
    _Atomic uint64_t kinds; /* that were on, a bit each */
} launches[LAUNCHES_KEPT];

void records_note_launch(uint32_t correlation_id)
{
    uint64_t on = 0;
    for (uint32_t kind = 0; kind < ACTIVITY_KINDS_MAX; kind++)
        on |= (uint64_t)atomic_load_explicit(&kinds[kind].is_on, memory_order_relaxed) << kind;
    atomic_store(&launches[correlation_id % LAUNCHES_KEPT].kinds, on);
    atomic_store(&launches[correlation_id % LAUNCHES_KEPT].correlation_id, correlation_id);
}

static bool was_on_at_launch(const struct activity_record *record)
{
    uint32_t at = record->correlation_id % LAUNCHES_KEPT;
    if (record->correlation_id && atomic_load(&launches[at].correlation_id) == record->correlation_id)
        return atomic_load(&launches[at].kinds) >> record->kind & 1;
    return atomic_load(&kinds[record->kind].is_on);
}

uint32_t records_disable(uint32_t kind)
{
    if (kind >= ACTIVITY_KINDS_MAX)
        return CUPTI_INVALID_KIND;
    if (atomic_exchange(&kinds[kind].is_on, false)) {
        atomic_fetch_sub(&kinds_on, 1);
        if (kind == ACTIVITY_KERNEL && copies_are_on())
            atomic_store(&kernels_have_ended, true);
    }
    return CUPTI_OK;
}

/* --- buffers --- */

static void deliver(struct buffer *buffer)
{
    struct cupti_buffer_complete_info info = {
        .structSize = sizeof info,
        .threadId = (uint64_t)syscall(SYS_gettid),
    };
    if (attrs[CUPTI_ATTR_USER_DEFINED_RECORDS] && !fault(FAULT_NULL_INFO)) {
        info.ppRecordLayouts = layouts;
        info.numRecordLayouts = ACTIVITY_KINDS_MAX;
    }
    watch_begin("a completed buffer");
    if (complete_v2)
        complete_v2(buffer->data, buffer->size, buffer->used, &info);
    else if (complete)
        complete(NULL, 0, buffer->data, buffer->size, buffer->used);
    watch_end();
}

static struct buffer take_current_locked(void)
{
    struct buffer taken = current;
    if (fault(FAULT_MALFORMED) && taken.data && ++buffers % fault(FAULT_MALFORMED) == 0 &&
        taken.used + MALFORMED_BYTES <= taken.size) {
        uint32_t kind = MALFORMED_KIND;
        memcpy(taken.data + taken.used, &kind, sizeof kind);
        taken.used += MALFORMED_BYTES;
    }
    current = (struct buffer){0};
    atomic_store(&has_current, false);
    return taken;
}

/* Keeps the buffer back, and gives the one that has been kept longest, if they are too many. */
static struct buffer keep_late_locked(const struct buffer *buffer)
{
    struct buffer oldest = late[0];
    if (late_count == LATE_BUFFERS_MAX)
        memmove(&late[0], &late[1], (--late_count) * sizeof late[0]);
    else
        oldest.data = NULL;
    late[late_count++] = *buffer;
    return oldest;
}

/* A buffer that is full. Called with the lock, which is open meanwhile. */
static void deliver_full_locked(void)
{
    struct buffer full = take_current_locked();
    if (fault(FAULT_LATE_BUFFERS))
        full = keep_late_locked(&full);
    pthread_mutex_unlock(&lock);
    if (full.data)
        deliver(&full);
    pthread_mutex_lock(&lock);
}

/* False: the agent wants to be asked later. */
static bool request_locked(void)
{
    struct cupti_buffer_request_info info = {.structSize = sizeof info};
    if (!replay_has_room())
        return false;
    current = (struct buffer){0};
    watch_begin("a buffer's request");
    if (request_v2)
        request_v2(&current.data, &current.size, &current.records_max, &info);
    else if (request)
        request(&current.data, &current.size, &current.records_max);
    watch_end();
    if (current.data && !attrs[CUPTI_ATTR_ZEROED_OUT_ACTIVITY_BUFFER])
        memset(current.data, 0, current.size);
    was_refused = !current.data;
    atomic_store(&has_current, current.data != NULL);
    return true;
}

void records_expect(void)
{
    if (atomic_load_explicit(&has_current, memory_order_relaxed) || atomic_load(&kinds_on) == 0)
        return;
    pthread_mutex_lock(&lock);
    if (!current.data && !was_refused && (request || request_v2))
        (void)request_locked();
    pthread_mutex_unlock(&lock);
}

static bool fits_current(size_t bytes)
{
    size_t reserved = fault(FAULT_MALFORMED) ? MALFORMED_BYTES : 0;
    bool has_place = current.records_max == 0 || current.records < current.records_max;
    return has_place && current.used + bytes + reserved <= current.size;
}

static bool has_times(uint16_t kind)
{
    return !fault(FAULT_ZERO_TIMESTAMPS) || !activity_table[kind].is_interval ||
           ++intervals % fault(FAULT_ZERO_TIMESTAMPS) != 0;
}

static bool is_off(const struct activity_record *record)
{
    if (record->kind == ACTIVITY_GRAPH_TRACE && graphs < fault(FAULT_NO_GRAPH_RECORDS)) {
        graphs++;
        return true;
    }
    if (record->kind == ACTIVITY_KERNEL && atomic_load(&kernels_have_ended))
        return true;
    if (fault(FAULT_NO_RECORD) && record->correlation_id && ++works % fault(FAULT_NO_RECORD) == 0)
        return true;
    return !was_on_at_launch(record) || atomic_load(&replay.is_finished) || !(request || request_v2);
}

/* Puts one record into the buffer, or counts why not. False: it has to wait for a buffer. */
static bool fill_one_locked(const struct activity_record *record)
{
    const struct composition *composition = &kinds[record->kind].composition;
    size_t bytes = composition->layout.recordSize;
    if (is_off(record)) {
        counts.off++;
        return true;
    }
    if (current.data && !fits_current(bytes))
        deliver_full_locked();
    if (!current.data && !was_refused && !request_locked())
        return false;
    if (!current.data || !fits_current(bytes)) {
        was_refused = false;
        counts.dropped++;
        atomic_fetch_add(&dropped, 1);
        return true;
    }
    compose_record(composition, record, has_times(record->kind), current.data + current.used);
    current.used += bytes;
    current.records++;
    counts.filled++;
    return true;
}

bool records_fill(uint64_t reached)
{
    bool is_filled = true;
    pthread_mutex_lock(&lock);
    while (is_filled && next_activity < replay.timeline.activity_count &&
           replay.timeline.activities[next_activity].index < reached) {
        /* Taken before, since the lock may be open for a moment. */
        const struct activity_record *record = replay.timeline.activities[next_activity++].record;
        is_filled = fill_one_locked(record);
        if (!is_filled)
            next_activity--;
    }
    pthread_mutex_unlock(&lock);
    return is_filled;
}

uint64_t records_position(uint64_t *order_ns)
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

void records_rewind(void)
{
    pthread_mutex_lock(&lock);
    next_activity = 0;
    pthread_mutex_unlock(&lock);
}

struct records_counts records_counts(void)
{
    pthread_mutex_lock(&lock);
    struct records_counts now = counts;
    pthread_mutex_unlock(&lock);
    return now;
}

/* --- what the agent asks --- */

uint32_t records_next(uint8_t *buffer, size_t valid, struct cupti_activity **record)
{
    uint32_t kind;
    size_t at = 0;
    if (!buffer || !record)
        return CUPTI_INVALID_PARAMETER;
    if (*record) {
        memcpy(&kind, *record, sizeof kind);
        at = (size_t)((uint8_t *)*record - buffer) + kinds[kind].composition.layout.recordSize;
    }
    if (at + sizeof kind > valid)
        return CUPTI_MAX_LIMIT_REACHED;
    memcpy(&kind, buffer + at, sizeof kind);
    if (kind >= ACTIVITY_KINDS_MAX || !kinds[kind].is_known ||
        at + kinds[kind].composition.layout.recordSize > valid)
        return CUPTI_INVALID_KIND;
    *record = (struct cupti_activity *)(void *)(buffer + at);
    return CUPTI_OK;
}

uint32_t records_dropped(size_t *count)
{
    if (!count)
        return CUPTI_INVALID_PARAMETER;
    *count = atomic_exchange(&dropped, 0);
    return CUPTI_OK;
}

static void sleep_ns(uint64_t ns)
{
    struct timespec time = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
    nanosleep(&time, NULL);
}

uint32_t records_flush(uint32_t flag)
{
    bool is_forced = flag & CUPTI_FLUSH_FORCED;
    if (!request && !request_v2)
        return CUPTI_INVALID_OPERATION;
    if (is_forced && fault(FAULT_FLUSH_BLOCKS))
        sleep_ns(fault(FAULT_FLUSH_BLOCKS) * 1000000);
    pthread_mutex_lock(&lock);
    bool is_kept = is_forced ? fault(FAULT_AFTER_SHUTDOWN) != 0 : fault(FAULT_LATE_BUFFERS) != 0;
    bool is_delivered = current.data && !is_kept && (current.used > 0 || is_forced);
    struct buffer taken = is_delivered ? take_current_locked() : (struct buffer){0};
    struct buffer kept[LATE_BUFFERS_MAX];
    size_t kept_count = is_forced ? late_count : 0;
    memcpy(kept, late, sizeof kept);
    late_count -= kept_count;
    pthread_mutex_unlock(&lock);
    for (size_t i = 0; i < kept_count; i++)
        deliver(&kept[i]);
    if (is_delivered)
        deliver(&taken);
    return CUPTI_OK;
}

static void *deliver_after_shutdown(void *unused)
{
    sleep_ns(SHUTDOWN_DELAY_NS);
    pthread_mutex_lock(&lock);
    struct buffer taken = take_current_locked();
    pthread_mutex_unlock(&lock);
    if (taken.data)
        deliver(&taken);
    return NULL;
}

void records_after_shutdown(void)
{
    if (fault(FAULT_AFTER_SHUTDOWN) && !has_shutdown_thread)
        has_shutdown_thread = pthread_create(&shutdown_thread, NULL, deliver_after_shutdown, NULL) == 0;
}

void records_hold(void)
{
    pthread_mutex_lock(&lock);
}

void records_release(void)
{
    pthread_mutex_unlock(&lock);
}

void records_join(void)
{
    if (has_shutdown_thread)
        pthread_join(shutdown_thread, NULL);
    has_shutdown_thread = false;
}
