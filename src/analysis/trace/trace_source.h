/* The input of `show`: a file, standard input, or a recording that the agent first converts to spans. */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stdio.h>

/* Opens `path` ("-": standard input) as a seekable file of OTLP JSON; the caller closes it. A pipe is copied
 * into a temporary file, a recording is replayed into one. */
enum status trace_source_open(const char *path, FILE **file, struct error *err) MUST_CHECK;

/* The same without replaying a recording. */
enum status trace_source_spool(const char *path, FILE **file, struct error *err) MUST_CHECK;

/* The path as messages show it. */
const char *trace_source_name(const char *path);

/* Whether it can only be read once: "-", a pipe, a terminal. */
bool trace_source_is_stream(const char *path);

/* Whether the file at `path` starts like a recording. False for what can only be read once. */
bool trace_source_is_recording(const char *path);
