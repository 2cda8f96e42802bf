/* `stat --by`: computes every section for each group's spans as if the file contained no others, and joins
 * the groups' tables, with the group as the first column. The sections are unaware of groups. */
#ifndef CUSPAN_ANALYSIS_STAT_BY_H
#define CUSPAN_ANALYSIS_STAT_BY_H

#include "analysis/stat/groups.h"
#include "analysis/stat/base/stat.h"

/* With more, the half with the least GPU time is left out: a service has millions of requests. */
#define STAT_GROUPS_MAX 4096

struct stat_views;

struct stat_views *stat_views_create(enum stat_by by);
/* The current segment of `stat`, which has learned it. */
void stat_views_take(struct stat_views *views, const struct stat *stat);
/* Ranks and steps are sorted by their numbers, other groups by GPU time, then by time in calls. Keeps the
 * first `top` rows of each table of the first `top` groups (0: all) and counts the others as left out. Rows
 * are in order of the column `sort` (NULL: the table's own order) if the table has it. The same column orders
 * the groups in a table with one row for each. Destroys `views`. */
void stat_views_finish(struct stat_views *views, const struct stat *stat, size_t top, const char *sort,
                       struct stat_report *report);

#endif
