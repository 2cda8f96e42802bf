/* The JSON of `cuspan stat` for a file, from segments of a few spans each, to compare with that of one
 * segment:
 *
 *     stat_segments FILE SPANS [range|stream|thread|device|request|process]
 *     stat_segments FILE SPANS BASELINE      writes the file that `stat --save` writes
 *
 * A segment's margin contains what a reader of streams has to supply: all spans around its own, and all
 * children of its own. Resources, lanes and threads become known with the first span that uses them. */
#include "analysis/diff/runs.h"
#include "analysis/stat/stat_print.h"
#include "analysis/stat/stat_stream.h"
#include "analysis/trace/trace_read.h"
#include "cli/util/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cutter {
    size_t size; /* spans of a segment; 0: all */
    struct stat_stream *stream;
    struct run_reader *run; /* instead of the stream */
    const char *baseline;   /* the file to write then */
    struct trace segment;   /* the latest one */
    struct trace_span *spans;
    uint32_t *places; /* of each span of the file in the segment; TRACE_NONE: it is not there */
};

static void mark(const struct trace *whole, uint32_t *places, size_t from, size_t until)
{
    for (size_t i = from; i < until; i++) {
        for (uint32_t at = (uint32_t)i; at != TRACE_NONE; at = whole->spans[at].parent)
            places[at] = 0;
        for (uint32_t at = whole->spans[i].first_child; at != TRACE_NONE; at = whole->spans[at].next_sibling)
            places[at] = 0;
    }
}

static void see(size_t *count, uint32_t number)
{
    if (number != TRACE_NONE && number >= *count)
        *count = (size_t)number + 1;
}

static uint32_t place_of(const struct cutter *cutter, uint32_t span)
{
    return span == TRACE_NONE ? TRACE_NONE : cutter->places[span];
}

/* Copies the marked spans, and links them: backwards, so that lists of children are in order. */
static void copy_spans(struct cutter *cutter, const struct trace *whole, size_t from, size_t until)
{
    struct trace *segment = &cutter->segment;
    segment->span_count = 0;
    for (size_t i = 0; i < whole->span_count; i++) {
        if (cutter->places[i] == TRACE_NONE)
            continue;
        struct trace_span *span = &cutter->spans[segment->span_count];
        *span = whole->spans[i];
        span->is_margin = i < from || i >= until;
        span->first_child = span->next_sibling = TRACE_NONE;
        see(&segment->resource_count, span->resource);
        see(&segment->lane_count, span->lane);
        see(&segment->thread_count, span->thread);
        cutter->places[i] = (uint32_t)segment->span_count++;
    }
    for (size_t i = segment->span_count; i-- > 0;) {
        struct trace_span *span = &cutter->spans[i];
        span->parent = place_of(cutter, span->parent);
        if (span->parent == TRACE_NONE)
            continue;
        span->next_sibling = cutter->spans[span->parent].first_child;
        cutter->spans[span->parent].first_child = (uint32_t)i;
    }
}

static void pass_on(struct cutter *cutter, const struct trace *segment)
{
    if (cutter->stream)
        stat_stream_take(cutter->stream, segment);
    else
        run_set_take(cutter->run, segment);
}

static void print(struct cutter *cutter)
{
    struct stat_report report;
    struct stat_style style = {.format = STAT_FORMAT_JSON};
    stat_stream_report(cutter->stream, 0, NULL, &report);
    stat_print(stdout, &report, &style);
    stat_report_deinit(&report);
    stat_stream_destroy(cutter->stream);
}

static enum status save(struct cutter *cutter, struct error *err)
{
    struct run_set set = {0};
    run_set_end(cutter->run, &set);
    run_set_sort(&set);
    enum status status = run_set_save(&set, cutter->baseline, err);
    run_set_deinit(&set);
    return status;
}

static void cut(struct cutter *cutter, const struct trace *whole)
{
    size_t count = whole->span_count, size = cutter->size;
    cutter->segment.resource_count = cutter->segment.lane_count = cutter->segment.thread_count = 0;
    cutter->segment.spans = cutter->spans;
    cutter->segment.span_count = 0;
    for (size_t from = 0; from < count; from += size) {
        size_t until = from + size < count ? from + size : count;
        memset(cutter->places, 0xff, count * sizeof *cutter->places);
        /* Nothing may refer to earlier segments. */
        memset(cutter->spans, 0x5a, cutter->segment.span_count * sizeof *cutter->spans);
        mark(whole, cutter->places, from, until);
        copy_spans(cutter, whole, from, until);
        pass_on(cutter, &cutter->segment);
    }
}

/* The whole file is one segment. */
static enum status take(void *context, struct trace *whole, struct error *err)
{
    struct cutter *cutter = context;
    cutter->segment = *whole;
    cutter->spans = xcalloc(whole->span_count + 1, sizeof *cutter->spans);
    cutter->places = xcalloc(whole->span_count + 1, sizeof *cutter->places);
    if (cutter->size)
        cut(cutter, whole);
    else
        pass_on(cutter, whole);
    enum status status = STATUS_OK;
    if (cutter->stream)
        print(cutter);
    else
        status = save(cutter, err);
    free(cutter->spans);
    free(cutter->places);
    return status;
}

static enum stat_by by_of(const char *word)
{
    enum stat_by by = STAT_BY_RANGE;
    while (by < STAT_BY_COUNT && strcmp(stat_by_name(by), word) != 0)
        by++;
    return by;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    const char *path = argv[1], *word = argc > 3 ? argv[3] : "";
    struct cutter cutter = {.size = strtoul(argv[2], NULL, 10), .baseline = word};
    struct trace_input input = {.paths = &path, .path_count = 1, .segment_spans = SIZE_MAX};
    struct trace_facts facts = {0};
    struct trace trace;
    struct error err = {""};
    if (*word && by_of(word) == STAT_BY_COUNT)
        cutter.run = run_set_begin();
    else
        cutter.stream = stat_stream_create(by_of(word), STAT_CODE_BY_LINE);
    enum status status = trace_read(&input, &trace, take, &cutter, &facts, &err);
    trace_deinit(&trace);
    if (status != STATUS_OK)
        fprintf(stderr, "%s\n", err.text);
    return status == STATUS_OK ? 0 : 1;
}
