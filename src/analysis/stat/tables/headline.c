/* The headline: key figures of a program, with their definitions. */
#include "analysis/stat/base/stat.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS(X)                                                                                           \
    X(COL_WALL_NS, "wall_ns", "wall time", STAT_NS)                                                          \
    X(COL_CALLS, "calls", "calls", STAT_COUNT)                                                               \
    X(COL_CALL_NS, "call_ns", "time in calls", STAT_NS)                                                      \
    X(COL_ERRORS, "errors", "failed calls", STAT_COUNT)                                                      \
    X(COL_KERNELS, "kernels", "kernels", STAT_COUNT)                                                         \
    X(COL_KERNEL_NS, "kernel_ns", "time in kernels", STAT_NS)                                                \
    X(COL_MOVE_NS, "move_ns", "time in copies, fills", STAT_NS)                                              \
    X(COL_MOVED_BYTES, "moved_bytes", "copied, filled", STAT_BYTES)                                          \
    X(COL_COMPUTE_TO_MEMORY, "compute_to_memory", "kernels / copies", STAT_REAL)                             \
    X(COL_ASYNCHRONOUS_SHARE, "asynchronous_share", "asynchronous", STAT_SHARE)                              \
    X(COL_MEAN_OCCUPANCY_SHARE, "mean_occupancy_share", "mean occupancy", STAT_SHARE)                        \
    X(COL_PAGEABLE_SHARE, "pageable_share", "pageable", STAT_SHARE)                                          \
    X(COL_WAIT_SHARE, "wait_share", "waiting calls", STAT_SHARE)
STAT_COLUMNS_OF(columns, COLUMNS);

struct sums {
    uint64_t calls, call_ns, errors, sync_ns, asynchronous, submitting;
    uint64_t kernels, kernel_ns, move_ns, moved_bytes, occupied_known_ns;
    uint64_t host_bytes, pageable_bytes; /* bytes copied from or to the host, and those of pageable memory */
    double occupied_ns;
};

static void take_call(const struct stat *stat, struct sums *sums, const struct trace_span *span)
{
    struct stat_call call = stat_call_of(stat, span);
    sums->calls++;
    sums->call_ns += stat_duration(span);
    sums->errors += span->error != 0;
    if (call.group == CALL_GROUP_SYNC)
        sums->sync_ns += stat_duration(span);
    sums->submitting += call.submits;
    sums->asynchronous += call.submits && (call.group == CALL_GROUP_LAUNCH || call.is_async);
}

static void take_copy(const struct stat *stat, struct sums *sums, const struct trace_span *span)
{
    const char *from = stat_attr(stat, span, KEY_COPY_FROM), *to = stat_attr(stat, span, KEY_COPY_TO);
    uint64_t bytes = stat_attr_int(stat, span, KEY_COPY_BYTES, 0);
    bool is_pageable = stat_is(from, "pageable") || stat_is(to, "pageable");
    sums->move_ns += stat_duration(span);
    sums->moved_bytes += bytes;
    if (is_pageable || stat_is(from, "pinned") || stat_is(to, "pinned"))
        sums->host_bytes += bytes;
    if (is_pageable)
        sums->pageable_bytes += bytes;
}

static void take(void *state, const struct stat *stat, const struct trace_span *span)
{
    struct sums *sums = state;
    if (span->class == CLASS_CALL) {
        take_call(stat, sums, span);
    } else if (span->class == CLASS_KERNEL) {
        struct stat_launch launch = stat_launch_of(stat, span);
        sums->kernels++;
        sums->kernel_ns += stat_duration(span);
        if (launch.occupancy >= 0) {
            sums->occupied_ns += launch.occupancy * (double)stat_duration(span);
            sums->occupied_known_ns += stat_duration(span);
        }
    } else if (span->class == CLASS_COPY) {
        take_copy(stat, sums, span);
    } else if (span->class == CLASS_FILL) {
        sums->move_ns += stat_duration(span);
        sums->moved_bytes += stat_attr_int(stat, span, KEY_FILL_BYTES, 0);
    }
}

static void finish(void *state, const struct stat *stat, struct stat_report *report)
{
    const struct sums sums = *(const struct sums *)state;
    if (!report)
        return;
    struct stat_value *row = stat_table_add(STAT_ADD_TABLE(
        report, "headline", "Summary",
        "Wall time: from the first span to the last. Kernels / copies: kernel time divided by the time "
        "of copies and fills. Asynchronous: share of launches, copies and fills that do not block, by "
        "their name. Occupancy: weighted by kernel time. Pageable: share of the bytes between host and "
        "GPU that use unpinned memory. Waiting calls: their share of the time in calls.",
        columns));
    row[COL_WALL_NS] = stat_int(stat->end_ns - stat->start_ns);
    row[COL_CALLS] = stat_int(sums.calls);
    row[COL_CALL_NS] = stat_int(sums.call_ns);
    row[COL_ERRORS] = stat_int(sums.errors);
    row[COL_KERNELS] = stat_int(sums.kernels);
    row[COL_KERNEL_NS] = stat_int(sums.kernel_ns);
    row[COL_MOVE_NS] = stat_int(sums.move_ns);
    row[COL_MOVED_BYTES] = stat_int(sums.moved_bytes);
    row[COL_COMPUTE_TO_MEMORY] = stat_ratio((double)sums.kernel_ns, (double)sums.move_ns);
    row[COL_ASYNCHRONOUS_SHARE] = stat_ratio((double)sums.asynchronous, (double)sums.submitting);
    row[COL_MEAN_OCCUPANCY_SHARE] = stat_ratio(sums.occupied_ns, (double)sums.occupied_known_ns);
    row[COL_PAGEABLE_SHARE] = stat_ratio((double)sums.pageable_bytes, (double)sums.host_bytes);
    row[COL_WAIT_SHARE] = stat_ratio((double)sums.sync_ns, (double)sums.call_ns);
}

const struct stat_section stat_headline = {sizeof(struct sums), take, NULL, finish};
