/* Tables of devices: utilization, idle gaps with their causes, and streams. */
#include "cli/util/paged.h"
#include "cli/util/xalloc.h"
#include "analysis/stat/base/places.h"

#include <stdlib.h>
#include <string.h>

#define DEVICE_COLUMNS(X)                                                                                    \
    X(DEVICE_DEVICE, "device", "GPU", STAT_TEXT)                                                             \
    X(DEVICE_NAME, "name", "name", STAT_TEXT)                                                                \
    X(DEVICE_PROCESS, "process", "process", STAT_TEXT)                                                       \
    X(DEVICE_COUNT, "count", "pieces of work", STAT_COUNT)                                                   \
    X(DEVICE_WINDOW_NS, "window_ns", "from first to last", STAT_NS)                                          \
    X(DEVICE_BUSY_NS, "busy_ns", "busy", STAT_NS)                                                            \
    X(DEVICE_UTILIZATION_SHARE, "utilization_share", "utilization", STAT_SHARE)                              \
    X(DEVICE_KERNEL_NS, "kernel_ns", "kernels", STAT_NS)                                                     \
    X(DEVICE_COPY_NS, "copy_ns", "copies, fills", STAT_NS)                                                   \
    X(DEVICE_OVERLAP_SHARE, "overlap_share", "copies during kernels", STAT_SHARE)                            \
    X(DEVICE_CONCURRENCY, "concurrency", "concurrency", STAT_REAL)                                           \
    X(DEVICE_GAPS, "gaps", "idle gaps", STAT_COUNT)
STAT_COLUMNS_OF(device_columns, DEVICE_COLUMNS);

#define GAP_COLUMNS(X)                                                                                       \
    X(GAP_DEVICE, "device", "GPU", STAT_TEXT)                                                                \
    X(GAP_AT_NS, "at_ns", "at", STAT_NS)                                                                     \
    X(GAP_GAP_NS, "gap_ns", "duration", STAT_NS)                                                             \
    X(GAP_BEFORE, "before", "after", STAT_TEXT)                                                              \
    X(GAP_AFTER, "after", "before", STAT_TEXT)                                                               \
    X(GAP_DURING, "during", "host call", STAT_TEXT)                                                          \
    X(GAP_DURING_SHARE, "during_share", "for", STAT_SHARE)
STAT_COLUMNS_OF(gap_columns, GAP_COLUMNS);

#define STREAM_COLUMNS(X)                                                                                    \
    X(STREAM_DEVICE, "device", "GPU", STAT_TEXT)                                                             \
    X(STREAM_CONTEXT, "context", "context", STAT_TEXT)                                                       \
    X(STREAM_STREAM, "stream", "stream", STAT_TEXT)                                                          \
    X(STREAM_COUNT, "count", "pieces of work", STAT_COUNT)                                                   \
    X(STREAM_BUSY_NS, "busy_ns", "busy", STAT_NS)                                                            \
    X(STREAM_MEDIAN_WAIT_NS, "median_wait_ns", "median wait", STAT_NS)                                       \
    X(STREAM_P99_WAIT_NS, "p99_wait_ns", "p99 wait", STAT_NS)                                                \
    X(STREAM_MAX_WAIT_NS, "max_wait_ns", "maximum wait", STAT_NS)
STAT_COLUMNS_OF(stream_columns, STREAM_COLUMNS);

#define GAPS_OF_A_DEVICE 5

/* A union of intervals. Spans arrive sorted by start, so it needs only the end of the last one. */
struct cover {
    uint64_t end_ns, total_ns;
};

/* Adds an interval that starts at or after all previous ones. */
static void cover_add(struct cover *cover, uint64_t start_ns, uint64_t end_ns)
{
    uint64_t from = start_ns > cover->end_ns ? start_ns : cover->end_ns;
    if (end_ns <= from)
        return;
    cover->total_ns += end_ns - from;
    cover->end_ns = end_ns;
}

/* Returns the time that an interval adds to `a` and that `b` covers, too. All intervals of `b` that start
 * earlier must be known. Summed over the intervals of both, this is the time that they have in common. */
static uint64_t cover_common(const struct cover *a, const struct cover *b, uint64_t start_ns, uint64_t end_ns)
{
    uint64_t from = start_ns > a->end_ns ? start_ns : a->end_ns;
    uint64_t until = end_ns < b->end_ns ? end_ns : b->end_ns;
    return until > from ? until - from : 0;
}

/* The call that a host spent most of a gap in. */
struct longest_call {
    uint64_t ns;
    uint32_t name;
};

struct gap {
    uint64_t start_ns, ns;
    uint32_t before, after;
    struct longest_call call;
};

struct device {
    struct cover all, kernels, moves;
    uint64_t count, total_ns, start_ns, common_ns, gap_count;
    uint32_t last;                     /* name of the work that ended last so far */
    struct longest_call candidate;     /* in the current gap, among the calls that earlier segments contain */
    struct gap gaps[GAPS_OF_A_DEVICE]; /* the longest ones */
    size_t kept;
};

/* Calls of a process that may overlap with gaps: all of this segment, and those of earlier ones that had not
 * ended when the segment did. */
struct call_list {
    struct interval_of_call {
        uint64_t start_ns, end_ns;
        uint32_t name;
    } * items;
    size_t count, capacity;
};

struct stream {
    struct cover busy;
    uint64_t count;
    uint32_t number; /* number in `waits` */
};

struct devices {
    struct paged devices; /* by resource */
    struct paged calls;   /* lists, by process */
    struct paged streams; /* by lane */
    uint32_t stream_count;
    struct samples waits; /* by the streams' numbers */
    uint64_t now_ns;      /* start of the last span */
};

static struct device *device_at(struct devices *devices, uint32_t resource)
{
    return paged_at(&devices->devices, resource, sizeof(struct device));
}

static struct call_list *calls_at(struct devices *devices, uint32_t process)
{
    return paged_at(&devices->calls, process, sizeof(struct call_list));
}

static struct stream *stream_at(struct devices *devices, uint32_t lane)
{
    struct stream *stream = paged_at(&devices->streams, lane, sizeof *stream);
    if (!stream->count)
        stream->number = devices->stream_count++;
    return stream;
}

/* --- gaps --- */

/* Finds the call that takes most of a gap, among those that end by `ended_ns`. */
static void find_longest(struct longest_call *longest, const struct call_list *calls, uint64_t from_ns,
                         uint64_t until_ns, uint64_t ended_ns)
{
    for (size_t i = 0; i < calls->count; i++) {
        const struct interval_of_call *call = &calls->items[i];
        uint64_t start = call->start_ns > from_ns ? call->start_ns : from_ns;
        uint64_t end = call->end_ns < until_ns ? call->end_ns : until_ns;
        if (call->end_ns <= ended_ns && end > start && end - start > longest->ns)
            *longest = (struct longest_call){end - start, call->name};
    }
}

/* Keeps the longest gaps of a device, with the call that takes most of the gap on the host. */
static void take_gap(struct devices *devices, struct device *device, const struct trace_span *after,
                     uint32_t process)
{
    uint64_t ns = after->start_ns - device->all.end_ns;
    size_t place = device->kept;
    while (place > 0 && device->gaps[place - 1].ns < ns)
        place--;
    if (place == GAPS_OF_A_DEVICE)
        return;
    device->kept += device->kept < GAPS_OF_A_DEVICE;
    memmove(&device->gaps[place + 1], &device->gaps[place],
            (device->kept - 1 - place) * sizeof *device->gaps);
    struct gap *gap = &device->gaps[place];
    *gap = (struct gap){device->all.end_ns, ns, device->last, after->name, device->candidate};
    find_longest(&gap->call, calls_at(devices, process), gap->start_ns, after->start_ns, UINT64_MAX);
}

/* --- taking spans --- */

static void take_work(struct devices *devices, const struct stat *stat, const struct trace_span *span)
{
    struct device *device = device_at(devices, span->resource);
    uint64_t start = span->start_ns, end = span->end_ns;
    if (device->count++ == 0) {
        device->start_ns = start;
    } else if (start > device->all.end_ns) {
        device->gap_count++;
        take_gap(devices, device, span, places_process(stat->places, span));
    }
    if (end >= device->all.end_ns) {
        device->last = span->name;
        device->candidate = (struct longest_call){0};
    }
    device->total_ns += end - start;
    cover_add(&device->all, start, end);
    device->all.end_ns = end > device->all.end_ns ? end : device->all.end_ns;
    if (span->class == CLASS_KERNEL) {
        device->common_ns += cover_common(&device->kernels, &device->moves, start, end);
        cover_add(&device->kernels, start, end);
    } else if (span->class == CLASS_COPY || span->class == CLASS_FILL) {
        device->common_ns += cover_common(&device->moves, &device->kernels, start, end);
        cover_add(&device->moves, start, end);
    }
}

static void take_stream(struct devices *devices, const struct stat *stat, const struct trace_span *span)
{
    struct stream *stream = stream_at(devices, span->lane);
    const struct trace_attr *delay = stat_find(stat, span, KEY_START_DELAY);
    int64_t delay_ns = delay ? (int64_t)trace_attr_int(stat->trace, delay) : -1;
    stream->count++;
    cover_add(&stream->busy, span->start_ns, span->end_ns);
    if (delay_ns >= 0)
        samples_add(&devices->waits, stream->number, (uint64_t)delay_ns);
}

static void take(void *state, const struct stat *stat, const struct trace_span *span)
{
    struct devices *devices = state;
    devices->now_ns = span->start_ns;
    if (span->class == CLASS_CALL) {
        struct call_list *calls = calls_at(devices, places_process(stat->places, span));
        *XADD(calls->items, calls->count, calls->capacity) =
            (struct interval_of_call){span->start_ns, span->end_ns, span->name};
    } else if (trace_class_is_gpu(span->class)) {
        take_work(devices, stat, span);
        if (span->lane != TRACE_NONE)
            take_stream(devices, stat, span);
    }
}

/* Drops calls that have ended. They matter only to the gap that each device is in, whose longest call is
 * kept. */
static void end_segment(void *state, const struct stat *stat)
{
    struct devices *devices = state;
    struct device *device;
    struct call_list *calls;
    for (size_t i = 0; (device = paged_next(&devices->devices, &i, sizeof *device)); i++) {
        if (device->count && device->all.end_ns < devices->now_ns)
            find_longest(&device->candidate, calls_at(devices, stat->places->process_of[i]),
                         device->all.end_ns, UINT64_MAX, devices->now_ns);
    }
    for (size_t p = 0; (calls = paged_next(&devices->calls, &p, sizeof *calls)); p++) {
        size_t kept = 0;
        for (size_t i = 0; i < calls->count; i++) {
            if (calls->items[i].end_ns > devices->now_ns)
                calls->items[kept++] = calls->items[i];
        }
        calls->count = kept;
        if (kept == 0) { /* `--by` has thousands of these lists */
            free(calls->items);
            *calls = (struct call_list){0};
        }
    }
}

/* --- tables --- */

static void add_device(const struct stat *stat, struct stat_table *table, const struct device *device,
                       uint32_t number)
{
    const struct trace *trace = stat->trace;
    const struct trace_resource *resource = &trace->resources[number];
    uint64_t window = device->all.end_ns - device->start_ns, busy = device->all.total_ns;
    struct stat_value *row = stat_table_add(table);
    row[DEVICE_DEVICE] = stat_text(trace_string(trace, resource->device));
    row[DEVICE_NAME] = stat_text(trace_string(trace, resource->device_name));
    row[DEVICE_PROCESS] = stat_text(places_name(stat->places, stat->places->process_of[number]));
    row[DEVICE_COUNT] = stat_int(device->count);
    row[DEVICE_WINDOW_NS] = stat_int(window);
    row[DEVICE_BUSY_NS] = stat_int(busy);
    row[DEVICE_UTILIZATION_SHARE] = stat_ratio((double)busy, (double)window);
    row[DEVICE_KERNEL_NS] = stat_int(device->kernels.total_ns);
    row[DEVICE_COPY_NS] = stat_int(device->moves.total_ns);
    row[DEVICE_OVERLAP_SHARE] = stat_ratio((double)device->common_ns, (double)device->moves.total_ns);
    row[DEVICE_CONCURRENCY] = stat_ratio((double)device->total_ns, (double)busy);
    row[DEVICE_GAPS] = stat_int(device->gap_count);
}

static void add_gap(const struct stat *stat, struct stat_table *table, uint32_t resource,
                    const struct gap *gap)
{
    const struct trace *trace = stat->trace;
    struct stat_value *row = stat_table_add(table);
    row[GAP_DEVICE] = stat_text(trace_string(trace, trace->resources[resource].device));
    row[GAP_AT_NS] = stat_int(gap->start_ns - stat->start_ns);
    row[GAP_GAP_NS] = stat_int(gap->ns);
    row[GAP_BEFORE] = stat_text(trace_string(trace, gap->before));
    row[GAP_AFTER] = stat_text(trace_string(trace, gap->after));
    if (gap->call.ns) {
        row[GAP_DURING] = stat_text(trace_string(trace, gap->call.name));
        row[GAP_DURING_SHARE] = stat_ratio((double)gap->call.ns, (double)gap->ns);
    }
}

static void add_streams(const struct stat *stat, struct stat_table *table, struct devices *devices)
{
    const struct trace *trace = stat->trace;
    samples_sort(&devices->waits);
    stat_table_rounds(table, samples_error(&devices->waits));
    const struct stream *stream;
    for (size_t lane = 0; (stream = paged_next(&devices->streams, &lane, sizeof *stream)); lane++) {
        if (!stream->count)
            continue;
        struct spread wait = samples_spread(&devices->waits, stream->number);
        struct stat_value *row = stat_table_add(table);
        row[STREAM_DEVICE] =
            stat_text(trace_string(trace, trace->resources[trace->lanes[lane].resource].device));
        row[STREAM_CONTEXT] = stat_text(trace_string(trace, trace->lanes[lane].context));
        row[STREAM_STREAM] = stat_text(trace_string(trace, trace->lanes[lane].stream));
        row[STREAM_COUNT] = stat_int(stream->count);
        row[STREAM_BUSY_NS] = stat_int(stream->busy.total_ns);
        if (wait.count) {
            row[STREAM_MEDIAN_WAIT_NS] = stat_int(wait.median);
            row[STREAM_P99_WAIT_NS] = stat_int(wait.p99);
            row[STREAM_MAX_WAIT_NS] = stat_int(wait.max);
        }
    }
    stat_table_sort(table, STREAM_BUSY_NS);
}

static void add_tables(const struct stat *stat, struct stat_report *report, struct devices *devices)
{
    struct stat_table *table =
        STAT_ADD_TABLE(report, "devices", "GPUs",
                       "Busy: time with any work on the GPU. Utilization: busy time divided by the "
                       "time from the start of the first work to the end of the last. Concurrency: "
                       "total time of all work divided by busy time.",
                       device_columns);
    const struct device *device;
    for (size_t i = 0; (device = paged_next(&devices->devices, &i, sizeof *device)); i++) {
        if (device->count)
            add_device(stat, table, device, (uint32_t)i);
    }
    table = STAT_ADD_TABLE(report, "gaps", "Longest idle gaps",
                           "Host call: the call that the host spent most of the gap in.", gap_columns);
    for (size_t i = 0; (device = paged_next(&devices->devices, &i, sizeof *device)); i++) {
        for (size_t gap = 0; gap < device->kept; gap++)
            add_gap(stat, table, (uint32_t)i, &device->gaps[gap]);
    }
    stat_table_sort(table, GAP_GAP_NS);
    add_streams(stat,
                STAT_ADD_TABLE(report, "streams", "Streams",
                               "Wait: time from the start of a call to the start of its work.",
                               stream_columns),
                devices);
}

static void finish(void *state, const struct stat *stat, struct stat_report *report)
{
    struct devices *devices = state;
    if (report)
        add_tables(stat, report, devices);
    struct call_list *calls;
    for (size_t i = 0; (calls = paged_next(&devices->calls, &i, sizeof *calls)); i++)
        free(calls->items);
    paged_deinit(&devices->calls);
    paged_deinit(&devices->devices);
    paged_deinit(&devices->streams);
    samples_deinit(&devices->waits);
}

const struct stat_section stat_devices = {sizeof(struct devices), take, end_segment, finish};
