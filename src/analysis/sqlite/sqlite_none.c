/* Replaces sqlite.c if libsqlite3 was missing at build time. */
#include "analysis/sqlite/sqlite.h"

static enum status refuse(struct error *err)
{
    return error_set(err, STATUS_UNSUPPORTED,
                     "--sqlite: this cuspan was built without SQLite: install libsqlite3-dev and rebuild");
}

enum status sqlite_begin(const char *path, struct sqlite_writer **writer, struct error *err)
{
    (void)path;
    *writer = NULL;
    return refuse(err);
}

enum status sqlite_take(struct sqlite_writer *writer, struct trace *segment, struct error *err)
{
    (void)writer;
    (void)segment;
    return refuse(err);
}

enum status sqlite_end(struct sqlite_writer *writer, struct trace *trace, struct error *err)
{
    (void)writer;
    (void)trace;
    return refuse(err);
}
