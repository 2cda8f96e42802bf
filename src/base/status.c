#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

const char *status_text(enum status status)
{
    switch (status) {
    case STATUS_OK:
        return "no error";
    case STATUS_NO_MEMORY:
        return "out of memory";
    case STATUS_INVALID:
        return "invalid input";
    case STATUS_NOT_FOUND:
        return "not found";
    case STATUS_UNAVAILABLE:
        return "not available";
    case STATUS_IO:
        return "input or output failed";
    case STATUS_FULL:
        return "full";
    case STATUS_TIMEOUT:
        return "timed out";
    case STATUS_CORRUPT:
        return "corrupt data";
    case STATUS_UNSUPPORTED:
        return "not supported";
    case STATUS_END:
        return "end";
    }
    return "unknown status";
}

enum status error_set(struct error *err, enum status status, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
    }
    return status;
}
