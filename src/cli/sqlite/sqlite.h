/* Writes all records of a trace to an SQLite file, with the tables and columns of Nsight Systems' export, so
 * that queries written for those work. docs/sqlite.md describes them. */
#ifndef CUSPAN_CLI_SQLITE_SQLITE_H
#define CUSPAN_CLI_SQLITE_SQLITE_H

#include "base/status.h"
#include "cli/trace/trace.h"

/* Writes a new file at `path`, mode 0600, or replaces one that this function wrote. INVALID: something else
 * exists there. IO. UNSUPPORTED: this build has no SQLite. */
enum status sqlite_write(const char *path, const struct trace *trace, struct error *err) MUST_CHECK;

#endif
