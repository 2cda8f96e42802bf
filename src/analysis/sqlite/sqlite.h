/* Writes all spans, segment by segment, to an SQLite file, with the tables and columns of Nsight Systems'
 * export, so that queries written for those work. docs/sqlite.md describes them. */
#pragma once

#include "base/status.h"
#include "analysis/trace/trace.h"

struct sqlite_writer;

/* Creates a file at `path`, mode 0600, or replaces one that this function wrote. INVALID: something else
 * exists there. IO. UNSUPPORTED: this build has no SQLite. */
enum status sqlite_begin(const char *path, struct sqlite_writer **writer, struct error *err) MUST_CHECK;
/* Adds a segment's spans. An error is reported at the end, too. */
enum status sqlite_take(struct sqlite_writer *writer, struct trace *segment, struct error *err) MUST_CHECK;
/* Ends the file and frees the writer. `trace`: the segments' one, or NULL if reading failed. */
enum status sqlite_end(struct sqlite_writer *writer, struct trace *trace, struct error *err) MUST_CHECK;
