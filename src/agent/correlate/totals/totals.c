#include "agent/correlate/totals/totals.h"

#include "base/hash.h"
#include "agent/correlate/totals/busy.h"
#include "model/semconv.h"

#include <stdlib.h>
#include <string.h>

#define INTERVALS_MAX 16384
#define BUSY_MAX      8192
#define LABELS_MAX    4096 /* a power of two; three quarters are used */
#define LABEL_BYTES   (192 * 1024)

/* One device's part of one struct totals. References are index + 1; 0: none. */
struct busy {
    uint32_t device_id;
    uint32_t next; /* next device of the same totals, or free list */
    struct busy_time time;
};

struct label {
    uint32_t hash, at, bytes;
};

struct totals_pool {
    struct busy_pool *times;
    uint32_t free_busy;
    uint32_t labels_used, label_bytes_used;
    struct label labels[LABELS_MAX]; /* open addressing; 0 bytes: free */
    char text[LABEL_BYTES];
    struct busy busy[BUSY_MAX];
    struct span_attr names[TOTALS_SLOWEST], durations[TOTALS_SLOWEST]; /* of the span that is written */
};

#define LABEL_OTHER   (LABELS_MAX + 1)
#define OTHER_KERNELS "(other kernels)"

enum status totals_pool_create(struct totals_pool **pool)
{
    struct totals_pool *made = calloc(1, sizeof *made);
    if (!made || busy_pool_create(INTERVALS_MAX, BUSY_INTERVALS_MAX, &made->times) != STATUS_OK) {
        free(made);
        return STATUS_NO_MEMORY;
    }
    for (uint32_t i = BUSY_MAX; i > 0; i--) {
        made->busy[i - 1].next = made->free_busy;
        made->free_busy = i;
    }
    *pool = made;
    return STATUS_OK;
}

void totals_pool_destroy(struct totals_pool *pool)
{
    if (pool)
        free(pool->times);
    free(pool);
}

static struct busy *busy_of(struct totals_pool *pool, struct totals *totals, uint32_t device_id)
{
    uint32_t *link = &totals->devices;
    while (*link && pool->busy[*link - 1].device_id != device_id)
        link = &pool->busy[*link - 1].next;
    if (!*link) {
        if (!pool->free_busy)
            return NULL;
        uint32_t at = pool->free_busy;
        pool->free_busy = pool->busy[at - 1].next;
        pool->busy[at - 1] = (struct busy){.device_id = device_id};
        *link = at;
    }
    return &pool->busy[*link - 1];
}

uint64_t totals_gpu_ns(const struct totals_pool *pool, const struct totals *totals)
{
    uint64_t sum = 0;
    for (uint32_t at = totals->devices; at; at = pool->busy[at - 1].next)
        sum += busy_ns(pool->times, &pool->busy[at - 1].time);
    return sum;
}

static void add_busy(struct totals_pool *pool, struct totals *totals, const struct activity_record *record)
{
    struct busy *busy = busy_of(pool, totals, record->device_id);
    if (!busy || !busy_add(pool->times, &busy->time, record->start_ns, record->end_ns))
        totals->is_estimated = true;
}

static void cover(struct totals *totals, uint64_t start_ns, uint64_t end_ns)
{
    if (!totals->first_ns || start_ns < totals->first_ns)
        totals->first_ns = start_ns;
    if (end_ns > totals->last_ns)
        totals->last_ns = end_ns;
}

void totals_add_call(struct totals *totals, const struct call_info *info, const struct call_record *call)
{
    uint64_t duration_ns = call->end_ns > call->start_ns ? call->end_ns - call->start_ns : 0;
    cover(totals, call->start_ns, call->end_ns);
    totals->calls++;
    totals->call_ns += duration_ns;
    totals->launch_ns += info->group == CALL_GROUP_LAUNCH ? duration_ns : 0;
    totals->sync_ns += info->group == CALL_GROUP_SYNC ? duration_ns : 0;
    if (call->result != 0 && totals->errors++ == 0) {
        totals->first_error = call->result;
        totals->first_error_domain = call->head.domain;
    }
}

static void count_kind(struct totals *totals, const struct gpu_work *work)
{
    switch (work->record->kind) {
    case ACTIVITY_KERNEL:
        totals->kernels++;
        break;
    case ACTIVITY_MEMCPY:
    case ACTIVITY_MEMCPY_PEER:
        totals->copies++;
        totals->copied_bytes += work->bytes;
        break;
    case ACTIVITY_MEMSET:
        totals->fills++;
        totals->filled_bytes += work->bytes;
        break;
    case ACTIVITY_GRAPH_TRACE:
        totals->graphs++;
        break;
    default: /* rare, optional kinds: only their time counts */
        break;
    }
}

void totals_add_work(struct totals_pool *pool, struct totals *totals, const struct gpu_work *work)
{
    const struct activity_record *record = work->record;
    cover(totals, record->start_ns, record->end_ns);
    if (work->call_start_ns && record->start_ns > work->call_start_ns)
        totals->delay_ns += record->start_ns - work->call_start_ns;
    count_kind(totals, work);
    add_busy(pool, totals, record);
}

bool totals_wants_kernel(const struct totals *totals, uint64_t duration_ns)
{
    return duration_ns > totals->slowest[TOTALS_SLOWEST - 1].duration_ns;
}

/* A name that is not listed has no execution longer than those listed, so none is missed. */
void totals_add_kernel(struct totals *totals, uint32_t label, uint64_t duration_ns)
{
    unsigned at = 0;
    while (at < TOTALS_SLOWEST - 1 && totals->slowest[at].label != label)
        at++; /* its own place, or the last */
    if (duration_ns <= totals->slowest[at].duration_ns)
        return;
    for (; at > 0 && totals->slowest[at - 1].duration_ns < duration_ns; at--)
        totals->slowest[at] = totals->slowest[at - 1];
    totals->slowest[at].label = label;
    totals->slowest[at].duration_ns = duration_ns;
}

uint32_t totals_label(struct totals_pool *pool, const char *name, uint32_t bytes)
{
    uint32_t hash = (uint32_t)hash_bytes(HASH_START, name, bytes), at = hash % LABELS_MAX;
    while (pool->labels[at].bytes) {
        const struct label *label = &pool->labels[at];
        if (label->hash == hash && label->bytes == bytes && memcmp(pool->text + label->at, name, bytes) == 0)
            return at + 1;
        at = (at + 1) % LABELS_MAX;
    }
    if (bytes == 0 || pool->labels_used >= LABELS_MAX / 4 * 3 || bytes > LABEL_BYTES - pool->label_bytes_used)
        return LABEL_OTHER;
    pool->labels[at] = (struct label){hash, pool->label_bytes_used, bytes};
    memcpy(pool->text + pool->label_bytes_used, name, bytes);
    pool->label_bytes_used += bytes;
    pool->labels_used++;
    return at + 1;
}

static void put_int(struct span *span, const struct attr_key *key, uint64_t value)
{
    if (value)
        span_attr_int(span, key, (int64_t)value);
}

static void put_slowest(struct totals_pool *pool, const struct totals *totals, struct span *span)
{
    uint32_t count = 0;
    for (; count < TOTALS_SLOWEST && totals->slowest[count].label; count++) {
        uint32_t label = totals->slowest[count].label;
        const struct label *known = label == LABEL_OTHER ? NULL : &pool->labels[label - 1];
        pool->names[count] = (struct span_attr){.type = ATTR_STRING,
                                                .s = known ? pool->text + known->at : OTHER_KERNELS,
                                                .len = known ? known->bytes : sizeof OTHER_KERNELS - 1};
        pool->durations[count] =
            (struct span_attr){.type = ATTR_INT, .i = (int64_t)totals->slowest[count].duration_ns};
    }
    if (count) {
        span_attr_array(span, ATTR(SEMCONV_CUDA_TOTAL_SLOWEST_KERNELS), pool->names, count);
        span_attr_array(span, ATTR(SEMCONV_CUDA_TOTAL_SLOWEST_DURATIONS), pool->durations, count);
    }
}

static struct span_event make_device_event(const struct totals_pool *pool, const struct busy *busy,
                                           const struct devices *devices)
{
    struct span_event event = {.time_ns = busy->time.last_ns, .name = SEMCONV_EVENT_CUDA_DEVICE_WORKED};
    event.attrs[event.attr_count++] =
        (struct span_attr){.key = ATTR(SEMCONV_CUDA_DEVICE_ID), .type = ATTR_INT, .i = busy->device_id};
    event.attrs[event.attr_count++] = (struct span_attr){.key = ATTR(SEMCONV_CUDA_TOTAL_GPU_TIME),
                                                         .type = ATTR_INT,
                                                         .i = (int64_t)busy_ns(pool->times, &busy->time)};
    const char *id = busy->device_id < DEVICES_MAX ? devices->ids[busy->device_id] : "";
    if (*id)
        event.attrs[event.attr_count++] = (struct span_attr){
            .key = ATTR(SEMCONV_HW_ID), .type = ATTR_STRING, .len = (uint32_t)strlen(id), .s = id};
    return event;
}

/* One device's totals go on the span; of several devices, each becomes an event. */
static void put_devices(const struct totals_pool *pool, const struct totals *totals,
                        const struct devices *devices, struct span *span, struct span_event *events,
                        uint32_t events_max)
{
    const struct busy *first = totals->devices ? &pool->busy[totals->devices - 1] : NULL;
    if (first && !first->next) {
        span_attr_int(span, ATTR(SEMCONV_CUDA_DEVICE_ID), first->device_id);
        if (first->device_id < DEVICES_MAX && *devices->ids[first->device_id])
            span_attr_string(span, ATTR(SEMCONV_HW_ID), devices->ids[first->device_id]);
        return;
    }
    for (const struct busy *busy = first; busy; busy = busy->next ? &pool->busy[busy->next - 1] : NULL) {
        if (span->event_count < events_max)
            events[span->event_count++] = make_device_event(pool, busy, devices);
        else
            span->events_dropped++;
    }
    if (first)
        span->events = events;
}

void totals_write_sums(struct totals_pool *pool, const struct totals *totals, uint64_t gpu_ns,
                       struct span *span)
{
    if (totals->is_incomplete)
        span_attr_bool(span, ATTR(SEMCONV_CUDA_TOTAL_INCOMPLETE), true);
    if (!totals->first_ns)
        return;
    span_attr_int(span, ATTR(SEMCONV_CUDA_TOTAL_CALLS), totals->calls);
    span_attr_int(span, ATTR(SEMCONV_CUDA_TOTAL_CALL_TIME), (int64_t)totals->call_ns);
    span_attr_int(span, ATTR(SEMCONV_CUDA_TOTAL_GPU_TIME), (int64_t)gpu_ns);
    span_attr_int(span, ATTR(SEMCONV_CUDA_TOTAL_KERNELS), totals->kernels);
    put_int(span, ATTR(SEMCONV_CUDA_TOTAL_ERRORS), totals->errors);
    put_int(span, ATTR(SEMCONV_CUDA_TOTAL_LAUNCH_TIME), totals->launch_ns);
    put_int(span, ATTR(SEMCONV_CUDA_TOTAL_SYNC_TIME), totals->sync_ns);
    put_int(span, ATTR(SEMCONV_CUDA_TOTAL_START_DELAY), totals->delay_ns);
    put_int(span, ATTR(SEMCONV_CUDA_TOTAL_COPIES), totals->copies);
    put_int(span, ATTR(SEMCONV_CUDA_TOTAL_COPY_BYTES), totals->copied_bytes);
    put_int(span, ATTR(SEMCONV_CUDA_TOTAL_FILLS), totals->fills);
    put_int(span, ATTR(SEMCONV_CUDA_TOTAL_FILL_BYTES), totals->filled_bytes);
    put_int(span, ATTR(SEMCONV_CUDA_TOTAL_GRAPHS), totals->graphs);
    put_slowest(pool, totals, span);
    if (totals->is_estimated)
        span_attr_bool(span, ATTR(SEMCONV_CUDA_TOTAL_ESTIMATED), true);
}

void totals_write(struct totals_pool *pool, const struct totals *totals, const struct devices *devices,
                  struct span *span, struct span_event *events, uint32_t events_max)
{
    totals_write_sums(pool, totals, totals_gpu_ns(pool, totals), span);
    if (totals->first_ns)
        put_devices(pool, totals, devices, span, events, events_max);
}

void totals_clear(struct totals_pool *pool, struct totals *totals)
{
    for (uint32_t at = totals->devices, next; at; at = next) {
        struct busy *busy = &pool->busy[at - 1];
        next = busy->next;
        busy_clear(pool->times, &busy->time);
        busy->next = pool->free_busy;
        pool->free_busy = at;
    }
    memset(totals, 0, sizeof *totals);
}
