/* Converts a parsed document of OTLP JSON into spans of a trace. */
#ifndef CUSPAN_CLI_TRACE_OTLP_SPAN_H
#define CUSPAN_CLI_TRACE_OTLP_SPAN_H

#include "base/status.h"
#include "cli/util/int_map.h"
#include "cli/trace/trace.h"

#include <cjson/cJSON.h>

struct otlp_sink {
    struct trace *trace;
    size_t spans_max;
    uint32_t wanted; /* index in trace->list of the only trace whose spans are kept; TRACE_NONE: all */
    size_t documents;
    struct int_map traces;    /* string of the ID → index in trace->list */
    struct int_map resources; /* string of all attributes → index in trace->resources */
};

void otlp_sink_init(struct otlp_sink *sink, struct trace *trace, size_t spans_max);
void otlp_sink_restart(struct otlp_sink *sink, uint32_t wanted);
void otlp_sink_deinit(struct otlp_sink *sink);

/* INVALID, with the place inside the document. Documents of other signals are skipped. */
enum status otlp_take_document(struct otlp_sink *sink, const cJSON *document, struct error *err) MUST_CHECK;

#endif
