/* `stat --by`: every section computed for each group's spans as if the file held no others, and the tables of
 * the groups put together, with the group as their first column. The sections know nothing of it. */
#ifndef CUSPAN_CLI_STAT_BY_H
#define CUSPAN_CLI_STAT_BY_H

#include "cli/stat/groups.h"
#include "cli/stat/stat.h"

/* What fills a report: always with the same tables in the same order. */
typedef void stat_compute_fn(const struct stat *stat, struct stat_report *report);

/* The groups with the most GPU time (then: time in calls) come first. Of each of the first `top` groups (0:
 * all) the first `top` rows of each table are kept; the others are counted as left out. `stat` is the
 * trace's; the trace gets strings added. */
void stat_by_compute(struct stat *stat, struct trace *trace, enum stat_by by, stat_compute_fn *compute,
                     size_t top, struct stat_report *report);

#endif
