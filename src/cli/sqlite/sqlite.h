/* All records of a trace in an SQLite file, in the tables and columns that Nsight Systems' export has, so
 * that queries made for those work; docs/sqlite.md says what is where. */
#ifndef CUSPAN_CLI_SQLITE_SQLITE_H
#define CUSPAN_CLI_SQLITE_SQLITE_H

#include "base/status.h"
#include "cli/trace/trace.h"

/* Writes a new file at `path`, mode 0600; one that this function has made before is replaced. INVALID:
 * something else is there. IO. UNSUPPORTED: this build has no SQLite. */
enum status sqlite_write(const char *path, const struct trace *trace, struct error *err) MUST_CHECK;

#endif
