/* Counts the spans of a request in OTLP JSON without parsing all of it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* -1 if the line is not a complete request. */
int64_t json_spans_count(const char *line, size_t bytes);
