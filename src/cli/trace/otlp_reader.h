/* Reads a trace from OTLP JSON: one TracesData per line, as the file exporters of cuspan and of the Collector
 * write it, one document on many lines, or an answer of Jaeger's API ("result").
 *
 * The input is read line by line, and only the chosen trace is kept. If the file has more spans than the
 * limit, a second pass reads only the chosen trace. */
#ifndef CUSPAN_CLI_TRACE_OTLP_READER_H
#define CUSPAN_CLI_TRACE_OTLP_READER_H

#include "base/status.h"
#include "cli/trace/trace.h"

#include <stdio.h>

struct otlp_choice {
    /* Or its first digits, lower case; NULL: the last of the traces with the most spans. */
    const char *trace_id;
    size_t spans_max;
};

/* `file` must be seekable; `name` is its name in errors. On success the trace is finished (trace_finish), and
 * the caller deinitializes it. Errors: INVALID with the line, NOT_FOUND if there is no (such) trace, IO. */
enum status otlp_read(FILE *file, const char *name, const struct otlp_choice *choice, struct trace *trace,
                      struct error *err) MUST_CHECK;

/* The same for the spans of all traces, up to `spans_max`; trace->left_out counts the others. */
enum status otlp_read_all(FILE *file, const char *name, size_t spans_max, struct trace *trace,
                          struct error *err) MUST_CHECK;

#endif
