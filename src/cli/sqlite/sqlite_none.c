/* Replaces sqlite.c if libsqlite3 was missing at build time. */
#include "cli/sqlite/sqlite.h"

enum status sqlite_write(const char *path, const struct trace *trace, struct error *err)
{
    (void)path;
    (void)trace;
    return error_set(err, STATUS_UNSUPPORTED,
                     "--sqlite: this cuspan was built without SQLite: install libsqlite3-dev and rebuild");
}
