/* Computes the report of `cuspan stat` from segments of spans (see stat.h). */
#pragma once

#include "analysis/stat/by.h"

struct stat_stream;

/* `code_by`: the rows of the table of code. */
struct stat_stream *stat_stream_create(enum stat_by by, enum stat_code_by code_by);
void stat_stream_take(struct stat_stream *stream, const struct trace *segment);
/* Resolves places in the code, as code_book_resolve(). Call it after the last segment. */
struct inductor;
void stat_stream_resolve_code(struct stat_stream *stream, struct inductor *inductor);
/* Fills the report. Call it once, after the last segment, which must still exist: its names become part of
 * the report. Each table that has the column of numbers `sort` is sorted by it (NULL: none). With groups,
 * keeps the first `top` rows and groups of each table (0: all). Without any segment, the report is that of an
 * empty trace. */
void stat_stream_report(struct stat_stream *stream, size_t top, const char *sort, struct stat_report *report);
/* Returns the number of spans that the traced processes lost. */
uint64_t stat_stream_lost(const struct stat_stream *stream);
/* Frees the stream. Free the report first, which borrows its texts. */
void stat_stream_destroy(struct stat_stream *stream);
