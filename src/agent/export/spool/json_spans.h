/* Counts the spans of a request in OTLP JSON without parsing all of it. */
#ifndef CUSPAN_AGENT_EXPORT_SPOOL_JSON_SPANS_H
#define CUSPAN_AGENT_EXPORT_SPOOL_JSON_SPANS_H

#include <stddef.h>
#include <stdint.h>

/* -1 if the line is not a complete request. */
int64_t json_spans_count(const char *line, size_t bytes);

#endif
