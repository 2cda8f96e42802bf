/* Reads a trace out of OTLP JSON: a TracesData a line, as the file exporters of cuspan and of the Collector
 * write it, one document over several lines, or an answer of Jaeger's API ("result").
 *
 * The input is read line by line; memory holds the chosen trace. Where the file holds more spans than the
 * bound, a second pass takes those of the chosen trace alone. */
#ifndef CUSPAN_CLI_TRACE_OTLP_READER_H
#define CUSPAN_CLI_TRACE_OTLP_READER_H

#include "base/status.h"
#include "cli/trace/trace.h"

#include <stdio.h>

struct otlp_choice {
    const char *trace_id; /* or its first digits, lower case; NULL: the last of those with the most spans */
    size_t spans_max;
};

/* `file` must be seekable; `name` is what errors call it. On success the trace is finished (trace_finish) and
 * the caller's to deinit. Errors: INVALID with the line, NOT_FOUND when there is no (such) trace, IO. */
enum status otlp_read(FILE *file, const char *name, const struct otlp_choice *choice, struct trace *trace,
                      struct error *err) MUST_CHECK;

/* The same, but all traces' spans, up to `spans_max`; what is beyond is in trace->left_out. */
enum status otlp_read_all(FILE *file, const char *name, size_t spans_max, struct trace *trace,
                          struct error *err) MUST_CHECK;

#endif
