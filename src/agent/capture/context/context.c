#include "agent/capture/context/context.h"

#include "base/clock.h"
#include "base/accounting/counters.h"
#include "base/process/host_call.h"
#include "agent/capture/sleep/active_contexts.h"
#include "agent/capture/sleep/mode.h"
#include "agent/capture/context/lasting_states.h"
#include "agent/capture/context/publish.h"
#include "agent/capture/context/sdk_context.h"
#include "agent/capture/context/open_contexts.h"
#include "agent/capture/context/steps.h"
#include "agent/capture/threads/thread_context.h"
#include "agent/capture/threads/threads.h"
#include "model/span.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

__thread struct thread_context *thread_context_self __attribute__((tls_model("initial-exec")));

_Atomic bool thread_context_has_names;

static pthread_key_t exit_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool has_key;

static void try_to_settle(void);

static void drop_innermost(struct open_contexts *contexts)
{
    struct attached *innermost = &contexts->attached[--contexts->attached_count];
    free(innermost->state);
    if (innermost->may_be_sampled)
        active_contexts_detached();
}

static void on_thread_exit(void *value)
{
    struct open_contexts *contexts = value;
    if (contexts->lost_end_count)
        try_to_settle();
    counter_add(COUNTER_range_ends_lost, contexts->lost_end_count);
    thread_context_self = NULL;
    publish_deinit(&contexts->published);
    while (contexts->attached_count > 0)
        drop_innermost(contexts);
    free(contexts->attached);
    free(contexts->ranges);
    free(contexts->lost_ends);
    free(contexts);
}

static void draw_first_id(struct open_contexts *contexts)
{
    struct host_call call = host_call_begin(); /* getrandom() is a cancellation point */
    if (getrandom(&contexts->next_id, sizeof contexts->next_id, GRND_NONBLOCK) != sizeof contexts->next_id)
        contexts->next_id = clock_ticks() ^ (uint64_t)(uintptr_t)contexts ^ (uint64_t)getpid() << 32;
    host_call_end(call);
}

static void forget_lost_ends(struct open_contexts *contexts)
{
    contexts->lost_end_count = 0;
    if (contexts->shared.has_lost_ends)
        contexts->shared.written = contexts->shared.written_before;
    contexts->shared.has_lost_ends = false;
}

/* Resets the state in a forked child, where only the forking thread exists. The child may get its own agent
 * in the same trace, so its range IDs must differ from those of its parent and siblings. */
static void in_child(void)
{
    struct open_contexts *contexts = open_contexts_there();
    uint32_t in_flight = steps_are_held();
    lasting_states_forked();
    for (uint32_t i = 0; contexts && i < contexts->attached_count; i++)
        in_flight += contexts->attached[i].may_be_sampled;
    steps_forget_requests();
    active_contexts_set(in_flight);
    if (contexts) {
        draw_first_id(contexts);
        forget_lost_ends(contexts);
    }
}

static void make_key(void)
{
    has_key = pthread_key_create(&exit_key, on_thread_exit) == 0;
    pthread_atfork(NULL, NULL, in_child);
}

static struct open_contexts *make_contexts(void)
{
    pthread_once(&once, make_key);
    struct open_contexts *contexts = has_key ? calloc(1, sizeof *contexts) : NULL;
    if (!contexts)
        return NULL;
    draw_first_id(contexts);
    contexts->next_token = (contexts->next_id & INT64_MAX) | 1; /* the highest bit is reserved for cuspan.h */
    if (pthread_setspecific(exit_key, contexts) != 0) {
        free(contexts);
        return NULL;
    }
    thread_context_self = &contexts->shared;
    return contexts;
}

struct open_contexts *open_contexts_there(void)
{
    return (struct open_contexts *)thread_context_self;
}

struct open_contexts *open_contexts_needed(void)
{
    struct open_contexts *contexts = open_contexts_there();
    return contexts ? contexts : make_contexts();
}

bool open_contexts_grow(void **entries, uint32_t count, uint32_t *max, size_t size)
{
    uint32_t larger = *max ? 2 * *max : 8;
    if (count < *max)
        return true;
    void *moved = larger <= RANGE_DEPTH_MAX ? realloc(*entries, larger * size) : NULL;
    if (!moved)
        return false;
    *entries = moved;
    *max = larger;
    return true;
}

static bool same_context(const struct trace_id_pair *a, const struct trace_id_pair *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static bool is_attached(const struct thread_context *context)
{
    static const struct trace_id_pair none;
    return context && !same_context(&context->ids, &none);
}

/* Returns the innermost open range that was opened in the thread's current context; NULL: none. Correlate
 * applies the same rule. */
static const struct open_range *innermost_range(const struct open_contexts *contexts,
                                                const struct trace_id_pair *context)
{
    for (uint32_t i = contexts->range_count; i > 0; i--)
        if (contexts->ranges[i - 1].id && same_context(&contexts->ranges[i - 1].context, context))
            return &contexts->ranges[i - 1];
    return NULL;
}

void open_contexts_publish(struct open_contexts *contexts)
{
    bool is_on = atomic_load_explicit(&publish_is_on, memory_order_acquire);
    if (!is_on && !contexts->published.variable)
        return;
    if (!is_on || !is_attached(&contexts->shared)) {
        publish_clear(&contexts->published);
        return;
    }
    struct trace_id_pair ids = contexts->shared.ids;
    const struct open_range *range = innermost_range(contexts, &ids);
    if (range)
        memcpy(ids.span_id, &range->id, sizeof ids.span_id);
    publish_write(&contexts->published, &ids, contexts->shared.flags);
}

void context_publish(void)
{
    struct open_contexts *contexts = open_contexts_there();
    if (contexts)
        open_contexts_publish(contexts);
}

static void show_innermost(struct open_contexts *contexts)
{
    static const struct attached none;
    const struct attached *top =
        contexts->attached_count ? &contexts->attached[contexts->attached_count - 1] : &none;
    contexts->shared.ids = top->ids;
    contexts->shared.flags = top->flags;
    contexts->shared.state = top->state;
    /* Ticks are not calibrated before capture starts. */
    bool is_captured = atomic_load_explicit(&mode_now, memory_order_acquire) != MODE_OFF;
    contexts->shared.since_ticks = is_captured ? clock_ticks() : 0;
    contexts->shared.version += contexts->shared.version == UINT32_MAX ? 2 : 1;
    open_contexts_publish(contexts);
}

uint64_t context_attach(const struct trace_context *context, bool may_be_sampled)
{
    struct open_contexts *contexts = open_contexts_needed();
    if (!contexts || !open_contexts_grow((void **)&contexts->attached, contexts->attached_count,
                                         &contexts->attached_max, sizeof *contexts->attached))
        return 0;
    struct attached *made = &contexts->attached[contexts->attached_count++];
    *made = (struct attached){
        .token = contexts->next_token, .flags = context->flags, .may_be_sampled = may_be_sampled};
    memcpy(made->ids.trace_id, context->trace_id, 16);
    memcpy(made->ids.span_id, context->span_id, 8);
    if (*context->trace_state)
        made->state = strdup(context->trace_state);
    contexts->next_token = ((contexts->next_token + 2) & INT64_MAX) | 1;
    show_innermost(contexts);
    if (may_be_sampled)
        active_contexts_attached();
    else
        active_contexts_attached_unsampled();
    return made->token;
}

static void write_context_end(const struct thread_context *context);

bool context_detach(uint64_t token)
{
    struct open_contexts *contexts = open_contexts_there();
    uint32_t at = contexts ? contexts->attached_count : 0;
    while (at > 0 && contexts->attached[at - 1].token != token)
        at--;
    if (at == 0)
        return false;
    while (contexts->attached_count >= at)
        drop_innermost(contexts);
    show_innermost(contexts);
    write_context_end(&contexts->shared);
    return true;
}

/* The context of threads that have none, written by the pipeline thread. A reader that overlaps with a write
 * finds none, which is acceptable because both are rare. */
static struct {
    _Atomic uint32_t changes; /* odd: a write is in progress */
    _Atomic uint64_t trace_id[2], span_id;
    _Atomic uint32_t flags;
} session;

void context_set_session(const uint8_t trace_id[16], const uint8_t span_id[8], uint8_t flags)
{
    uint64_t words[3];
    memcpy(words, trace_id, 16);
    memcpy(words + 2, span_id, 8);
    atomic_fetch_add(&session.changes, 1);
    atomic_store(&session.trace_id[0], words[0]);
    atomic_store(&session.trace_id[1], words[1]);
    atomic_store(&session.span_id, words[2]);
    atomic_store(&session.flags, flags);
    atomic_fetch_add(&session.changes, 1);
}

static bool get_session(struct trace_context *context)
{
    uint32_t before = atomic_load(&session.changes);
    uint64_t words[3] = {atomic_load(&session.trace_id[0]), atomic_load(&session.trace_id[1]),
                         atomic_load(&session.span_id)};
    context->flags = (uint8_t)atomic_load(&session.flags);
    if (before == 0 || before % 2 || atomic_load(&session.changes) != before)
        return false;
    memcpy(context->trace_id, words, 16);
    memcpy(context->span_id, words + 2, 8);
    return true;
}

struct trace_id_pair open_contexts_current(const struct thread_context *context, uint8_t *flags)
{
    struct trace_id_pair ids = {{0}, {0}};
    *flags = 0;
    if (is_attached(context)) {
        *flags = context->flags;
        return context->ids;
    }
    if (atomic_load_explicit(&sdk_context_is_there, memory_order_acquire))
        sdk_context_read(&ids, flags);
    return ids;
}

bool context_current(struct trace_context *context)
{
    static const struct trace_id_pair none;
    const struct open_contexts *contexts = open_contexts_there();
    uint8_t flags;
    struct trace_id_pair ids = open_contexts_current(thread_context_self, &flags);
    const struct open_range *range = contexts ? innermost_range(contexts, &ids) : NULL;
    memset(context, 0, sizeof *context);
    if (!same_context(&ids, &none)) {
        memcpy(context->trace_id, ids.trace_id, 16);
        memcpy(context->span_id, ids.span_id, 8);
        context->flags = flags;
        if (contexts && contexts->shared.state)
            strncpy(context->trace_state, contexts->shared.state, sizeof context->trace_state - 1);
    } else if (!get_session(context)) {
        return false;
    }
    if (range)
        memcpy(context->span_id, &range->id, 8);
    return true;
}

const char *context_trace_state(void)
{
    const struct open_contexts *contexts = open_contexts_there();
    if (!contexts || !contexts->shared.state)
        return NULL;
    struct attached *innermost = &contexts->attached[contexts->attached_count - 1];
    if (!innermost->lasting || strcmp(innermost->lasting, innermost->state) != 0)
        innermost->lasting = lasting_states_keep(innermost->state);
    return innermost->lasting;
}

/* Writes a context's record. False: the ring is full; the caller retries before the next record. */
static bool write_context(struct host_thread *thread, uint64_t ticks, const struct trace_id_pair *ids,
                          uint8_t flags, const char *state)
{
    size_t state_bytes = state ? strnlen(state, TRACE_STATE_MAX - 1) : 0;
    uint32_t bytes = (uint32_t)((sizeof(struct context_record) + state_bytes + 7) & ~(size_t)7);
    struct context_record *record = ring_reserve(&thread->ring, bytes);
    if (!record)
        return false;
    *record = (struct context_record){.head = {bytes, RECORD_CONTEXT, 0, 0},
                                      .time_ns = ticks,
                                      .flags = flags,
                                      .state_bytes = (uint16_t)state_bytes};
    memcpy(record->trace_id, ids->trace_id, 16);
    memcpy(record->span_id, ids->span_id, 8);
    memcpy(record->state, state ? state : "", state_bytes);
    ring_commit(&thread->ring, bytes);
    return true;
}

static bool write_end(struct host_thread *thread, const struct lost_end *end)
{
    struct range_record *record = ring_reserve(&thread->ring, sizeof *record);
    if (!record)
        return false;
    *record = (struct range_record){.head = {sizeof *record, RECORD_RANGE_END, 0, 0},
                                    .time_ns = end->ticks,
                                    .id = end->id,
                                    .status = end->status,
                                    .attrs_dropped = end->attrs_dropped};
    ring_commit(&thread->ring, sizeof *record);
    return true;
}

static bool write_lost_ends(struct host_thread *thread, struct open_contexts *contexts)
{
    uint32_t written = 0;
    while (written < contexts->lost_end_count && write_end(thread, &contexts->lost_ends[written]))
        written++;
    contexts->lost_end_count -= written;
    memmove(contexts->lost_ends, contexts->lost_ends + written,
            contexts->lost_end_count * sizeof *contexts->lost_ends);
    if (contexts->lost_end_count)
        return false;
    forget_lost_ends(contexts);
    return true;
}

void open_contexts_keep_end(struct open_contexts *contexts, const struct lost_end *end)
{
    if (!contexts || !open_contexts_grow((void **)&contexts->lost_ends, contexts->lost_end_count,
                                         &contexts->lost_end_max, sizeof *contexts->lost_ends)) {
        counter_add(COUNTER_range_ends_lost, 1);
        return;
    }
    contexts->lost_ends[contexts->lost_end_count++] = *end;
    struct thread_context *shared = &contexts->shared;
    if (shared->has_lost_ends)
        return;
    shared->has_lost_ends = true;
    if (!shared->version) { /* nothing was ever attached, and nothing else has to be written */
        shared->version = shared->written = 1;
        shared->written_to = thread_known() ? thread_known()->serial : 0;
    }
    shared->written_before = shared->written;
    shared->written = 0; /* 0 is never a version */
}

bool thread_context_write(struct host_thread *thread, struct thread_context *context)
{
    if (context->has_lost_ends && !write_lost_ends(thread, (struct open_contexts *)context))
        return false;
    if (!thread_context_is_new(thread, context))
        return true;
    uint64_t since_ticks = context->since_ticks ? context->since_ticks : clock_ticks();
    if (!write_context(thread, since_ticks, &context->ids, context->flags, context->state))
        return false;
    context->written = context->version;
    context->written_to = thread->serial;
    context->written_ids = context->ids;
    return true;
}

bool thread_context_follow_sdk(struct host_thread *thread, uint64_t ticks)
{
    struct trace_id_pair ids;
    uint8_t flags;
    if (is_attached(thread_context_self)) {
        memset(&thread->sdk_ids, 0, sizeof thread->sdk_ids); /* so that the IDs are written again later */
        return true;
    }
    sdk_context_read(&ids, &flags);
    if (same_context(&ids, &thread->sdk_ids) && flags == thread->sdk_flags)
        return true;
    if (!write_context(thread, ticks, &ids, flags, NULL))
        return false;
    thread->sdk_ids = ids;
    thread->sdk_flags = flags;
    return true;
}

struct host_thread *open_contexts_capturing_thread(bool even_asleep)
{
    uint8_t mode = atomic_load_explicit(&mode_now, memory_order_relaxed);
    if (mode == MODE_OFF || (mode != MODE_ON && !even_asleep) || thread_is_ours)
        return NULL;
    struct host_thread *thread = thread_current();
    if (!thread)
        counter_add(even_asleep ? COUNTER_notes_lost : COUNTER_lost_no_ring, 1);
    return thread;
}

bool open_contexts_settle(struct host_thread *thread)
{
    if (thread_context_is_new(thread, thread_context_self) &&
        !thread_context_write(thread, thread_context_self))
        return false;
    return !atomic_load_explicit(&sdk_context_is_there, memory_order_acquire) ||
           thread_context_follow_sdk(thread, clock_ticks());
}

/* Writes pending records, if the ring has room. Those that do not fit are written later. */
static void try_to_settle(void)
{
    struct host_thread *thread = open_contexts_capturing_thread(true);
    if (thread)
        (void)open_contexts_settle(thread);
}

/* Writes the end of a context at once if the ring has the context, because correlate would otherwise learn of
 * the end only at the thread's next call. Contexts without calls or ranges cost one comparison. */
static void write_context_end(const struct thread_context *context)
{
    static const struct trace_id_pair none;
    if (!same_context(&context->written_ids, &none) && !same_context(&context->written_ids, &context->ids))
        try_to_settle();
}

/* Writes a name. `shape` is the record without its text. False: the ring is full. */
static bool write_name(struct host_thread *thread, struct name_record shape, const char *text)
{
    uint32_t bytes = ((uint32_t)sizeof shape + shape.name_bytes + 7) & ~7u;
    struct name_record *record = ring_reserve(&thread->ring, bytes);
    if (!record)
        return false;
    shape.head.bytes = bytes;
    shape.head.type = RECORD_NAME;
    *record = shape;
    memcpy(record->name, text, shape.name_bytes);
    ring_commit(&thread->ring, bytes);
    return true;
}

void context_name_object(enum named_object object, uint64_t handle, const char *name, uint32_t name_bytes)
{
    struct host_thread *thread = open_contexts_capturing_thread(true);
    struct name_record shape = {.head.cbid = (uint16_t)object,
                                .time_ns = clock_ticks(),
                                .handle = handle,
                                .name_bytes = name_bytes < RANGE_TEXT_BYTES ? name_bytes : RANGE_TEXT_BYTES};
    if (thread && !write_name(thread, shape, name))
        thread_count_note_lost(thread);
    else if (thread && object == NAMED_CONTEXT)
        atomic_store_explicit(&thread_context_has_names, true, memory_order_relaxed);
}

void thread_context_write_handle(struct host_thread *thread, uint32_t context_id, const void *handle,
                                 uint64_t ticks)
{
    uint64_t bit = 1ull << ((context_id - 1) & 63);
    struct name_record shape = {.head.cbid = NAMED_CONTEXT_ID,
                                .time_ns = ticks,
                                .handle = (uint64_t)(uintptr_t)handle,
                                .id = context_id};
    if (context_id - 1 >= 64 || thread->handles_written & bit)
        return;
    if (write_name(thread, shape, ""))
        thread->handles_written |= bit;
}
