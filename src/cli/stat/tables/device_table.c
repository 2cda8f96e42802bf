/* Tables of devices: utilization, idle gaps with their causes, and streams. */
#include "cli/util/xalloc.h"
#include "cli/stat/intervals.h"
#include "cli/stat/stat.h"

#include <stdlib.h>

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

/* The end of a span, to find the work before a gap. */
struct device {
    uint32_t resource;
    struct intervals all, kernels, moves;
    uint64_t count, total_ns;
};

static struct device *collect(const struct stat *stat, size_t *count)
{
    const struct trace *trace = stat->trace;
    struct device *devices = xcalloc(trace->resource_count + 1, sizeof *devices);
    *count = trace->resource_count;
    for (size_t i = 0; i < trace->span_count; i++) {
        const struct trace_span *span = &trace->spans[i];
        if (!trace_class_is_gpu(span->class))
            continue;
        struct device *device = &devices[span->resource];
        device->resource = span->resource;
        device->count++;
        device->total_ns += stat_duration(span);
        intervals_add(&device->all, span->start_ns, span->end_ns, (uint32_t)i);
        if (span->class == CLASS_KERNEL)
            intervals_add(&device->kernels, span->start_ns, span->end_ns, (uint32_t)i);
        else if (span->class == CLASS_COPY || span->class == CLASS_FILL)
            intervals_add(&device->moves, span->start_ns, span->end_ns, (uint32_t)i);
    }
    return devices;
}

static void add_device(const struct stat *stat, struct stat_table *table, struct device *device)
{
    const struct trace *trace = stat->trace;
    const struct trace_resource *resource = &trace->resources[device->resource];
    uint64_t busy = intervals_merge(&device->all), kernels = intervals_merge(&device->kernels),
             moves = intervals_merge(&device->moves);
    const struct interval *first = device->all.items, *last = first + device->all.count - 1;
    struct stat_value *row = stat_table_add(table);
    row[DEVICE_DEVICE] = stat_text(trace_string(trace, resource->device));
    row[DEVICE_NAME] = stat_text(trace_string(trace, resource->device_name));
    row[DEVICE_PROCESS] = stat_text(trace_string(trace, resource->pid));
    row[DEVICE_COUNT] = stat_int(device->count);
    row[DEVICE_WINDOW_NS] = stat_int(last->end_ns - first->start_ns);
    row[DEVICE_BUSY_NS] = stat_int(busy);
    row[DEVICE_UTILIZATION_SHARE] = stat_ratio((double)busy, (double)(last->end_ns - first->start_ns));
    row[DEVICE_KERNEL_NS] = stat_int(kernels);
    row[DEVICE_COPY_NS] = stat_int(moves);
    row[DEVICE_OVERLAP_SHARE] =
        stat_ratio((double)intervals_common(&device->kernels, &device->moves), (double)moves);
    row[DEVICE_CONCURRENCY] = stat_ratio((double)device->total_ns, (double)busy);
    row[DEVICE_GAPS] = stat_int(device->all.count - 1);
}

/* The work that ends at the start of the gap, and the call that takes most of the gap on the host. */
static void add_gap(const struct stat *stat, struct stat_table *table, const struct device *device, size_t at)
{
    const struct trace *trace = stat->trace;
    const struct interval *before = &device->all.items[at], *after = before + 1;
    uint64_t gap = after->start_ns - before->end_ns, most = 0;
    uint32_t last = before->span, during = TRACE_NONE;
    for (uint32_t i = before->span; i < after->span; i++) {
        const struct trace_span *span = &trace->spans[i];
        if (trace_class_is_gpu(span->class) && span->resource == device->resource &&
            span->end_ns == before->end_ns)
            last = i;
    }
    for (uint32_t i = 0; i < after->span; i++) { /* sorted by start */
        const struct trace_span *span = &trace->spans[i];
        uint64_t start = span->start_ns > before->end_ns ? span->start_ns : before->end_ns;
        uint64_t end = span->end_ns < after->start_ns ? span->end_ns : after->start_ns;
        if (span->class == CLASS_CALL && end > start && end - start > most) {
            most = end - start;
            during = i;
        }
    }
    struct stat_value *row = stat_table_add(table);
    row[GAP_DEVICE] = stat_text(trace_string(trace, trace->resources[device->resource].device));
    row[GAP_AT_NS] = stat_int(before->end_ns - trace->start_ns);
    row[GAP_GAP_NS] = stat_int(gap);
    row[GAP_BEFORE] = stat_text(trace_string(trace, trace->spans[last].name));
    row[GAP_AFTER] = stat_text(trace_string(trace, trace->spans[after->span].name));
    if (during != TRACE_NONE) {
        row[GAP_DURING] = stat_text(trace_string(trace, trace->spans[during].name));
        row[GAP_DURING_SHARE] = stat_ratio((double)most, (double)gap);
    }
}

static void add_gaps(const struct stat *stat, struct stat_table *table, const struct device *device)
{
    size_t longest[GAPS_OF_A_DEVICE], count = 0;
    for (size_t i = 0; i + 1 < device->all.count; i++) {
        const struct interval *items = device->all.items;
        uint64_t gap = items[i + 1].start_ns - items[i].end_ns;
        size_t place = count < GAPS_OF_A_DEVICE ? count++ : count;
        for (; place > 0; place--) {
            size_t other = longest[place - 1];
            if (items[other + 1].start_ns - items[other].end_ns >= gap)
                break;
            if (place < GAPS_OF_A_DEVICE)
                longest[place] = other;
        }
        if (place < GAPS_OF_A_DEVICE)
            longest[place] = i;
    }
    for (size_t i = 0; i < count; i++)
        add_gap(stat, table, device, longest[i]);
}

static void add_streams(const struct stat *stat, struct stat_table *table)
{
    const struct trace *trace = stat->trace;
    struct samples waits = {0};
    struct intervals *busy = xcalloc(trace->lane_count + 1, sizeof *busy);
    uint64_t *counts = xcalloc(trace->lane_count + 1, sizeof *counts);
    for (size_t i = 0; i < trace->span_count; i++) {
        const struct trace_span *span = &trace->spans[i];
        if (!trace_class_is_gpu(span->class) || span->lane == TRACE_NONE)
            continue;
        const char *delay = stat_attr(stat, span, KEY_START_DELAY);
        counts[span->lane]++;
        intervals_add(&busy[span->lane], span->start_ns, span->end_ns, (uint32_t)i);
        if (delay && *delay != '-')
            samples_add(&waits, span->lane, strtoull(delay, NULL, 10));
    }
    samples_sort(&waits);
    for (uint32_t lane = 0; lane < trace->lane_count; lane++) {
        if (!counts[lane])
            continue;
        struct spread wait = samples_spread(&waits, lane);
        struct stat_value *row = stat_table_add(table);
        row[STREAM_DEVICE] =
            stat_text(trace_string(trace, trace->resources[trace->lanes[lane].resource].device));
        row[STREAM_CONTEXT] = stat_text(trace_string(trace, trace->lanes[lane].context));
        row[STREAM_STREAM] = stat_text(trace_string(trace, trace->lanes[lane].stream));
        row[STREAM_COUNT] = stat_int(counts[lane]);
        row[STREAM_BUSY_NS] = stat_int(intervals_merge(&busy[lane]));
        if (wait.count) {
            row[STREAM_MEDIAN_WAIT_NS] = stat_int(wait.median);
            row[STREAM_P99_WAIT_NS] = stat_int(wait.p99);
            row[STREAM_MAX_WAIT_NS] = stat_int(wait.max);
        }
        intervals_deinit(&busy[lane]);
    }
    stat_table_sort(table, STREAM_BUSY_NS);
    samples_deinit(&waits);
    free(busy);
    free(counts);
}

void stat_devices(const struct stat *stat, struct stat_report *report)
{
    size_t count;
    struct device *devices = collect(stat, &count);
    struct stat_table *table =
        STAT_ADD_TABLE(report, "devices", "GPUs",
                       "Busy: time with any work on the GPU. Utilization: busy time divided by the "
                       "time from the start of the first work to the end of the last. Concurrency: "
                       "total time of all work divided by busy time.",
                       device_columns);
    for (size_t i = 0; i < count; i++) {
        if (devices[i].count)
            add_device(stat, table, &devices[i]);
    }
    table = STAT_ADD_TABLE(report, "gaps", "Longest idle gaps",
                           "Host call: the call that the host spent most of the gap in.", gap_columns);
    for (size_t i = 0; i < count; i++)
        add_gaps(stat, table, &devices[i]);
    stat_table_sort(table, GAP_GAP_NS);
    add_streams(stat, STAT_ADD_TABLE(report, "streams", "Streams",
                                     "Wait: time from the start of a call to the start of its work.",
                                     stream_columns));
    for (size_t i = 0; i < count; i++) {
        intervals_deinit(&devices[i].all);
        intervals_deinit(&devices[i].kernels);
        intervals_deinit(&devices[i].moves);
    }
    free(devices);
}
