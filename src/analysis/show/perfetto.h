/* A trace in Chrome's trace event format (JSON), which ui.perfetto.dev opens: a process with a track per host
 * thread, a process for each GPU with a track per stream, an arrow from each call to its GPU work, and the
 * attributes as arguments. */
#pragma once

#include "base/status.h"
#include "analysis/trace/trace.h"

#include <stdio.h>

/* Write errors show at fclose. */
void perfetto_write(FILE *out, const struct trace *trace);

/* Writes to a file that it replaces, compressed if its name ends with .gz, or to standard output ("-").
 * Unless `is_quiet`, standard error has what was written, and the number of traces that were not. */
enum status perfetto_write_file(const char *path, const struct trace *trace, const char *command,
                                bool is_quiet, struct error *err) MUST_CHECK;
