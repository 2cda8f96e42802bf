/* Replaces sqlite.c if libsqlite3 was missing at build time. */
#include "analysis/sqlite/sqlite.h"

enum status sqlite_write(const char *path, const struct trace_input *input, sqlite_adjust_fn *adjust,
                         void *context, struct trace_facts *facts, struct error *err)
{
    return error_set(err, STATUS_UNSUPPORTED,
                     "--sqlite: this cuspan was built without SQLite: install libsqlite3-dev and rebuild");
}
