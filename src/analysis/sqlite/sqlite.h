/* Writes all spans, segment by segment, to an SQLite file, with the tables and columns of Nsight Systems'
 * export, so that queries written for those work. docs/sqlite.md describes them. */
#pragma once

#include "base/status.h"
#include "analysis/trace/trace_read.h"

typedef void sqlite_adjust_fn(void *context, struct trace *segment);

/* Creates a file at `path`, mode 0600, or replaces one that this function wrote. `adjust`: changes each
 * segment before it is written; or NULL. INVALID: something else exists there. IO. UNSUPPORTED: this build
 * has no SQLite. */
enum status sqlite_write(const char *path, const struct trace_input *input, sqlite_adjust_fn *adjust,
                         void *context, struct trace_facts *facts, struct error *err) MUST_CHECK;
