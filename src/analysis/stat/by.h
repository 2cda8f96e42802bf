/* `stat --by`: computes every section for each group's spans as if the file contained no others, and joins
 * the groups' tables, with the group as the first column. The sections are unaware of groups. */
#pragma once

#include "analysis/stat/groups.h"
#include "analysis/stat/base/stat.h"

/* Groups kept at most. If there are more, the half with the least GPU time is left out: a service has
 * millions of requests. */
#define STAT_GROUPS_MAX 4096

struct stat_views;

struct stat_views *stat_views_create(enum stat_by by);
/* Takes the spans of the current segment of `stat`, which must have learned the segment. */
void stat_views_take(struct stat_views *views, const struct stat *stat);
/* Adds the tables of all groups to the report. Ranks and steps are sorted by their numbers, other groups by
 * GPU time, then by time in calls. Keeps the first `top` rows of each table of the first `top` groups (0:
 * all) and counts the others as left out. A table that has the column `sort` (NULL: none) is sorted by it. In
 * a table with one row for each group, that column orders the groups. Destroys `views`. */
void stat_views_finish(struct stat_views *views, const struct stat *stat, size_t top, const char *sort,
                       struct stat_report *report);
