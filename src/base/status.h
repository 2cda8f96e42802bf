/* The result of functions that can fail, and a message for users.
 *
 * Results are returned through pointers, and callers must check the status. A function with a `struct error`
 * parameter fills it on failure with one line: what is wrong and what to do. */
#pragma once

#include <stddef.h>

#define MUST_CHECK                 __attribute__((warn_unused_result))
#define PRINTF_LIKE(string, first) __attribute__((format(printf, string, first)))

enum status {
    STATUS_OK = 0,
    STATUS_NO_MEMORY,   /* an allocation failed, or a memory limit was reached */
    STATUS_INVALID,     /* the input is wrong; the error says where */
    STATUS_NOT_FOUND,   /* a file, a library, a symbol, a key */
    STATUS_UNAVAILABLE, /* it exists but cannot be used now */
    STATUS_IO,          /* reading or writing failed */
    STATUS_FULL,        /* a fixed capacity is used up */
    STATUS_TIMEOUT,     /* a deadline passed */
    STATUS_CORRUPT,     /* data failed its check */
    STATUS_UNSUPPORTED, /* a version or a feature that this build does not support */
    STATUS_END          /* no more items; not a failure */
};

#define ERROR_TEXT_MAX 512

struct error {
    char text[ERROR_TEXT_MAX];
};

/* A static, lower-case noun phrase for the status. */
const char *status_text(enum status status);

/* Formats the error's text (truncated to ERROR_TEXT_MAX) and returns `status`, for `return error_set(err,
 * STATUS_INVALID, "...")`. `err` may be NULL. */
enum status error_set(struct error *err, enum status status, const char *format, ...) PRINTF_LIKE(3, 4);
