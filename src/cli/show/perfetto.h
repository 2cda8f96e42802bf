/* A trace in the JSON format of Chrome's tracing, which ui.perfetto.dev opens: a process with a track for
 * each host thread, a process for each GPU with a track for each stream, an arrow from each call to the GPU
 * work that it caused, and the attributes as arguments. */
#ifndef CUSPAN_CLI_SHOW_PERFETTO_H
#define CUSPAN_CLI_SHOW_PERFETTO_H

#include "cli/trace/trace.h"

#include <stdio.h>

/* Whether all could be written shows at fclose. */
void perfetto_write(FILE *out, const struct trace *trace);

#endif
