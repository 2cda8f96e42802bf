#include "base/status.h"

#include "base/text/sanitize.h"

#include <stdarg.h>
#include <stdio.h>

const char *status_text(enum status status)
{
    static const char *const texts[] = {
        [STATUS_OK] = "no error",
        [STATUS_NO_MEMORY] = "out of memory",
        [STATUS_INVALID] = "invalid input",
        [STATUS_NOT_FOUND] = "not found",
        [STATUS_UNAVAILABLE] = "not available",
        [STATUS_IO] = "input or output failed",
        [STATUS_FULL] = "full",
        [STATUS_TIMEOUT] = "timed out",
        [STATUS_CORRUPT] = "corrupt data",
        [STATUS_UNSUPPORTED] = "not supported",
        [STATUS_END] = "end",
    };
    return (size_t)status < sizeof texts / sizeof *texts ? texts[status] : "unknown status";
}

enum status error_set(struct error *err, enum status status, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
        sanitize_in_place(err->text);
    }
    return status;
}
