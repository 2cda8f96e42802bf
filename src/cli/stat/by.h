/* `stat --by`: computes every section for each group's spans as if the file contained no others, and joins
 * the groups' tables, with the group as the first column. The sections are unaware of groups. */
#ifndef CUSPAN_CLI_STAT_BY_H
#define CUSPAN_CLI_STAT_BY_H

#include "cli/stat/groups.h"
#include "cli/stat/stat.h"

/* Fills a report, always with the same tables in the same order. */
typedef void stat_compute_fn(const struct stat *stat, struct stat_report *report);

/* Groups are sorted by GPU time, then by time in calls. Keeps the first `top` rows of each table of the first
 * `top` groups (0: all) and counts the others as left out. `stat` belongs to `trace`, to which strings are
 * added. */
void stat_by_compute(struct stat *stat, struct trace *trace, enum stat_by by, stat_compute_fn *compute,
                     size_t top, struct stat_report *report);

#endif
