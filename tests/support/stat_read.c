/* The JSON of `cuspan stat` with forced limits of the reader, to compare with that of one segment in memory:
 *
 *     stat_read SEGMENT-SPANS MARGIN-SPANS BUFFER-BYTES FILE...
 *
 * On standard error: the number of segments and of joins missed. */
#include "analysis/stat/stat_print.h"
#include "analysis/stat/stat_stream.h"
#include "analysis/trace/trace_read.h"

#include <stdio.h>
#include <stdlib.h>

static enum status take(void *stream, struct trace *segment, struct error *err)
{
    stat_stream_take(stream, segment);
    return STATUS_OK;
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    struct trace_input input = {.paths = (const char *const *)argv + 4,
                                .path_count = (size_t)argc - 4,
                                .wanted = stat_wanted,
                                .segment_spans = strtoull(argv[1], NULL, 10),
                                .margin_spans = strtoull(argv[2], NULL, 10),
                                .buffer_bytes = strtoull(argv[3], NULL, 10)};
    struct trace_facts facts;
    struct error err = {""};
    struct trace trace;
    struct stat_report report;
    struct stat_style style = {.format = STAT_FORMAT_JSON};
    struct stat_stream *stream = stat_stream_create(STAT_BY_NOTHING, STAT_CODE_BY_LINE);
    enum status status = trace_read(&input, &trace, take, stream, &facts, &err);
    if (status != STATUS_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    stat_stream_report(stream, 0, NULL, &report);
    stat_print(stdout, &report, &style);
    fprintf(stderr, "%zu %zu\n", facts.segments, facts.joins_missed);
    stat_report_deinit(&report);
    stat_stream_destroy(stream);
    trace_deinit(&trace);
    return 0;
}
