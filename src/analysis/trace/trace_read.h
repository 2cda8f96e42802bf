/* Reads spans from files as a stream of segments, in order of start.
 *
 * The input may be larger than memory: spans are sorted on disk and passed on in segments of bounded size. A
 * segment is a `struct trace`. All segments share strings' numbers, resources, threads, lanes and the list of
 * traces. Spans, attributes, events and the texts that trace_attr_text() returns are valid only until `take`
 * returns. While it runs, a second thread builds the next segment.
 *
 * A segment also has margin spans (is_margin) of its neighbors, so that parents and children find each other:
 * earlier spans of the host that are still open or recent, and the next spans after it. Input that fits into
 * one segment has none. */
#pragma once

#include "base/status.h"
#include "analysis/trace/span_store.h"
#include "analysis/trace/trace.h"
#include "analysis/trace/trace_facts.h"

/* The default margin: so many spans of the host, and more for each process that runs at the same time, so
 * that the work of each one finds its call. A segment has at least as many spans. With segments of three
 * times the margin, tables take the same time and half as much memory again. */
#define TRACE_SEGMENT_SPANS            30000
#define TRACE_MARGIN_SPANS             20000
#define TRACE_MARGIN_SPANS_PER_PROCESS 1000
#define TRACE_MARGIN_SPANS_MAX         200000
#define TRACE_BUFFER_BYTES             (32u << 20)

struct trace_input {
    const char *const *paths; /* files, folders, patterns; "-": standard input */
    size_t path_count;
    FILE *file; /* the content of the only path, if it is open already; else NULL. trace_read() closes it */
    /* The attributes of spans to keep, NULL-terminated; one that ends with "*" stands for all that start like
     * it. NULL: all, and events. Those that the trace's own fields come from are always kept. */
    const char *const *wanted;
    /* Takes each document of OTLP logs; NULL: they are skipped. */
    store_logs_fn *take_logs;
    void *logs_context;
    /* Limits, for tests; 0: the defaults. */
    size_t segment_spans; /* without its margins; at least as many as a margin */
    size_t margin_spans;  /* on each side of a segment */
    size_t buffer_bytes;  /* of spans in memory; more are sorted on disk (TMPDIR) */
    size_t traces_max;    /* if `wanted`: see STORE_TRACES_MAX */
    size_t name_bytes_max;
    size_t resources_max; /* if `wanted`: see STORE_RESOURCES_MAX */
};

/* Calls `take` at least once on success. `trace` is the object that `take` receives: its strings, resources,
 * threads and lanes stay until the caller deinitializes it, which it must do in any case. Errors: INVALID
 * with file and line if no line is right, NOT_FOUND if there are no spans, IO. */
enum status trace_read(const struct trace_input *input, struct trace *trace, trace_segment_fn *take,
                       void *context, struct trace_facts *facts, struct error *err) MUST_CHECK;

/* For an export: takes a record, valid until it returns, with all attributes, events and RECORD_DETAIL. */
typedef enum status trace_record_fn(void *context, const struct span_record *record, struct error *err);

/* Calls `take` for each span, by resource, and by start within a resource. `input->wanted` is NULL. `trace`
 * has the strings and resources. Names beyond TRACE_RECORD_NAME_BYTES of memory are in the records. Otherwise
 * as trace_read(). */
#define TRACE_RECORD_NAME_BYTES (64u << 20)
enum status trace_read_records(const struct trace_input *input, struct trace *trace, trace_record_fn *take,
                               void *context, struct trace_facts *facts, struct store_omissions *omissions,
                               struct error *err) MUST_CHECK;

/* One whole trace, with all attributes and events, for `show`. `trace_id` is its ID or the first digits of
 * it, in lower case; NULL: the last of the traces with the most spans. Reads the input twice. NOT_FOUND:
 * there is no such trace. Ends the program if the trace is larger than memory. The caller deinitializes
 * `trace` in any case. */
enum status trace_read_one(const struct trace_input *input, const char *trace_id, struct trace *trace,
                           struct trace_facts *facts, struct error *err) MUST_CHECK;
