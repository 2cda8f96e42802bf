/* Below the picture of a trace: what an iteration of a serving engine computed and for which requests, and
 * the times, tokens and cost of a request; with the traces that they link to. */
#pragma once

#include "analysis/trace/trace.h"

#include <stdio.h>

/* Writes nothing for other traces. */
void engine_notes_write(FILE *out, const struct trace *trace, size_t columns, bool utf8);
