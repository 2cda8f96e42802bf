/* Initializes and frees a stat, and computes all sections of its report. */
#pragma once

#include "analysis/stat/base/stat.h"

/* Initializes the stat of all spans, with names of attributes and calls, and processes, for all segments and
 * groups. */
void stat_init(struct stat *stat);
/* Initializes the stat of a group of the spans, which borrows from `whole`. `is_part`: the group has only a
 * part of a process's spans. */
void stat_init_group(struct stat *stat, const struct stat *whole, bool is_part);
/* Makes the segment the current one and learns its names and processes. It must stay valid until the next one
 * is taken or the report is made. */
void stat_learn(struct stat *stat, const struct trace *segment);
/* Makes the segment the current one and counts its spans. For a group, call stat_learn() of the whole first.
 */
void stat_take(struct stat *stat, const struct trace *segment);
void stat_deinit(struct stat *stat);
void stat_deinit_group(struct stat *stat);

/* All sections of one report. */
struct stat_tables;
struct stat_tables *stat_tables_create(void);
/* Takes the spans of the current segment of `stat`. */
void stat_tables_take(struct stat_tables *tables, const struct stat *stat);
/* Adds the tables to the report; NULL: there is no report. Destroys `tables`. */
void stat_tables_finish(struct stat_tables *tables, const struct stat *stat, struct stat_report *report);
