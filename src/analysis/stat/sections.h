/* The start and end of a stat, and all sections of its report. */
#ifndef CUSPAN_ANALYSIS_STAT_SECTIONS_H
#define CUSPAN_ANALYSIS_STAT_SECTIONS_H

#include "analysis/stat/base/stat.h"

/* Those of all segments and groups: names of attributes and calls, and processes. */
void stat_init(struct stat *stat);
/* A group of the same spans, which borrows what `whole` has learned. */
void stat_init_group(struct stat *stat, const struct stat *whole, bool is_part);
/* The next segment becomes the current one. It must stay valid until the next one is taken or the report is
 * made. */
void stat_learn(struct stat *stat, const struct trace *segment);
/* Makes the segment the current one and counts its spans; that of a group comes after stat_learn() of the
 * whole. */
void stat_take(struct stat *stat, const struct trace *segment);
void stat_deinit(struct stat *stat);
void stat_deinit_group(struct stat *stat);

/* All sections of one report. */
struct stat_tables;
struct stat_tables *stat_tables_create(void);
/* The current segment of `stat`. */
void stat_tables_take(struct stat_tables *tables, const struct stat *stat);
/* Adds the tables to the report; NULL: there is no report. Destroys `tables`. */
void stat_tables_finish(struct stat_tables *tables, const struct stat *stat, struct stat_report *report);

#endif
