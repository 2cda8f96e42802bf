/* `stat --by`: computes every section for each group's spans as if the file contained no others, and joins
 * the groups' tables, with the group as the first column. The sections are unaware of groups. Every span is
 * in exactly one group, so the groups add up to the whole. */
#pragma once

#include "analysis/stat/base/stat.h"

/* In the order of the words of `--by` (src/command/table/command_table.c). */
enum stat_by {
    STAT_BY_RANGE,   /* name of the innermost range, or span of another program, around the span */
    STAT_BY_STREAM,  /* stream of GPU work, and of the call that submitted it */
    STAT_BY_THREAD,  /* the calling thread; for GPU work that of its call */
    STAT_BY_DEVICE,  /* device of GPU work; of a call, that of its work, or else of its context, if known */
    STAT_BY_REQUEST, /* trace of the span, unless it belongs to a session */
    STAT_BY_PROCESS,
    STAT_BY_RANK, /* rank of the span's process in the job */
    STAT_BY_STEP, /* step of the span's trace; an evaluation or a checkpoint is a group of its own */
    STAT_BY_COUNT,
    STAT_BY_NOTHING = STAT_BY_COUNT
};

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

/* Returns the word for `by`, such as "range" or "stream". */
const char *stat_by_name(enum stat_by by);
