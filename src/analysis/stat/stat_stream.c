#include "analysis/stat/stat_stream.h"

#include "analysis/code/code_book.h"
#include "analysis/stat/base/places.h"
#include "analysis/stat/sections.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>

struct stat_stream {
    struct stat stat;
    struct stat_tables *tables; /* NULL: there are groups, or the report is made */
    struct stat_views *views;   /* NULL: there are no groups, or the report is made */
    struct trace nothing;       /* the segment of an empty input */
};

struct stat_stream *stat_stream_create(enum stat_by by, enum stat_code_by code_by)
{
    struct stat_stream *stream = xcalloc(1, sizeof *stream);
    stat_init(&stream->stat);
    stream->stat.code_by = code_by;
    trace_init(&stream->nothing);
    stat_learn(&stream->stat, &stream->nothing);
    if (by == STAT_BY_NOTHING)
        stream->tables = stat_tables_create();
    else
        stream->views = stat_views_create(by);
    return stream;
}

void stat_stream_resolve_code(struct stat_stream *stream, struct inductor *inductor)
{
    code_book_resolve(stream->stat.code, &stream->stat, inductor);
}

void stat_stream_take(struct stat_stream *stream, const struct trace *segment)
{
    struct stat *stat = &stream->stat;
    stat_learn(stat, segment);
    stat_take(stat, segment);
    for (size_t i = 0; i < segment->span_count; i++) {
        const struct trace_span *span = &segment->spans[i];
        if (span->class == CLASS_SESSION && !span->is_margin)
            places_take(stat->places, span);
    }
    if (stream->tables)
        stat_tables_take(stream->tables, stat);
    else
        stat_views_take(stream->views, stat);
}

void stat_stream_report(struct stat_stream *stream, size_t top, const char *sort, struct stat_report *report)
{
    *report = (struct stat_report){.count = 0};
    if (stream->tables) {
        stat_tables_finish(stream->tables, &stream->stat, report);
        stat_report_sort(report, sort);
    }
    if (stream->views)
        stat_views_finish(stream->views, &stream->stat, top, sort, report);
    stream->tables = NULL;
    stream->views = NULL;
}

uint64_t stat_stream_lost(const struct stat_stream *stream)
{
    return places_lost(stream->stat.places);
}

void stat_stream_destroy(struct stat_stream *stream)
{
    struct stat_report unwanted;
    stat_stream_report(stream, 0, NULL, &unwanted);
    stat_report_deinit(&unwanted);
    stat_deinit(&stream->stat);
    trace_deinit(&stream->nothing);
    free(stream);
}
