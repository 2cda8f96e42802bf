/* A trace as text, one line per span in order of time, for grep, awk and sort. */
#pragma once

#include "analysis/trace/trace.h"

#include <stdbool.h>
#include <stdio.h>

/* Columns: start in µs from the trace's start, duration in µs, class, "ok" or "error", thread or stream, span
 * ID, parent's ID, name; then, after a tab, the attributes as key=value (quoted if they contain spaces). The
 * first line names the columns after a '#'. */
void span_lines_write(FILE *out, const struct trace *trace, bool utf8);
