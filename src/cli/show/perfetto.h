/* A trace in Chrome's trace event format (JSON), which ui.perfetto.dev opens: a process with a track per host
 * thread, a process for each GPU with a track per stream, an arrow from each call to its GPU work, and the
 * attributes as arguments. */
#ifndef CUSPAN_CLI_SHOW_PERFETTO_H
#define CUSPAN_CLI_SHOW_PERFETTO_H

#include "cli/trace/trace.h"

#include <stdio.h>

/* Write errors show at fclose. */
void perfetto_write(FILE *out, const struct trace *trace);

#endif
