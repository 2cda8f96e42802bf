/* What a function that can fail returns, and the one sentence that tells a person why.
 *
 * Results come through out-pointers; the status may not be dropped. `struct error` is filled only on failure
 * and only by functions that take one; its text is one line: what is wrong and what to do. */
#ifndef CUSPAN_BASE_STATUS_H
#define CUSPAN_BASE_STATUS_H

#include <stddef.h>

#define MUST_CHECK                 __attribute__((warn_unused_result))
#define PRINTF_LIKE(string, first) __attribute__((format(printf, string, first)))

enum status {
    STATUS_OK = 0,
    STATUS_NO_MEMORY,   /* an allocation failed, or a bound on memory was reached */
    STATUS_INVALID,     /* the input is wrong; the error says where */
    STATUS_NOT_FOUND,   /* a file, a library, a symbol, a key */
    STATUS_UNAVAILABLE, /* it exists but can't be used here and now */
    STATUS_IO,          /* reading or writing failed */
    STATUS_FULL,        /* a fixed capacity is used up */
    STATUS_TIMEOUT,     /* a deadline passed */
    STATUS_CORRUPT,     /* data failed its check */
    STATUS_UNSUPPORTED, /* a version or a feature that this build doesn't know */
    STATUS_END          /* no more items; not a failure */
};

#define ERROR_TEXT_MAX 512

struct error {
    char text[ERROR_TEXT_MAX];
};

/* A static, lower-case noun phrase for the status. */
const char *status_text(enum status status);

/* Formats the error's text (cut at ERROR_TEXT_MAX) and returns `status`, so that a failing function can end
 * with `return error_set(err, STATUS_INVALID, "...")`. `err` may be NULL. */
enum status error_set(struct error *err, enum status status, const char *format, ...) PRINTF_LIKE(3, 4);

#endif
