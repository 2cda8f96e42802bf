/* The report of `cuspan stat`, from segments of spans (see stat.h). */
#ifndef CUSPAN_ANALYSIS_STAT_STAT_STREAM_H
#define CUSPAN_ANALYSIS_STAT_STAT_STREAM_H

#include "analysis/stat/groups.h"

struct stat_stream;

struct stat_stream *stat_stream_create(enum stat_by by);
/* Before the first segment. */
void stat_stream_set_code_by(struct stat_stream *stream, enum stat_code_by code_by);
/* Orders the rows of each table that has this column of numbers; NULL: by the table's own rule. */
void stat_stream_set_sort(struct stat_stream *stream, const char *column);
void stat_stream_take(struct stat_stream *stream, const struct trace *segment);
/* After the last segment: see code_book_resolve(). */
struct inductor;
void stat_stream_resolve_code(struct stat_stream *stream, struct inductor *inductor);
/* Call it once, after the last segment, which must still exist: its names become part of the report. With
 * groups, keeps the first `top` rows and groups of each table (0: all). Without any segment, the report is
 * that of an empty trace. */
void stat_stream_report(struct stat_stream *stream, size_t top, struct stat_report *report);
/* Spans that the traced processes lost. */
uint64_t stat_stream_lost(const struct stat_stream *stream);
/* Delete the report first. */
void stat_stream_destroy(struct stat_stream *stream);

#endif
