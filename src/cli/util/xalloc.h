/* Memory for a short-lived program: a failed allocation prints one line and exits with EXIT_FAILED. Never
 * linked into the agent. */
#pragma once

#include <stdarg.h>
#include <stddef.h>

/* Zeroed. */
void *xcalloc(size_t count, size_t size);
/* Makes room for at least `needed` elements of `size` bytes, at least doubling; updates *capacity. */
void *xgrow(void *old, size_t *capacity, size_t needed, size_t size);
/* Makes room for one more element of an array, counts it, and returns its address; its bytes are not set. */
#define XADD(array, count, capacity)                                                                         \
    ((array) = xgrow((array), &(capacity), (count) + 1, sizeof *(array)), &(array)[(count)++])
/* Frees memory if less than half of it is needed; updates *capacity. */
void *xshrink(void *old, size_t *capacity, size_t needed, size_t size);
char *xstrdup(const char *text);
/* A new string, formatted as by printf. */
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *xvasprintf(const char *format, va_list args) __attribute__((format(printf, 1, 0)));
