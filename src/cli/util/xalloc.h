/* Memory for a short-lived program: an allocation that fails ends it with one line and EXIT_FAILED. The agent
 * has no part in this; nothing here may be linked into it. */
#ifndef CUSPAN_CLI_UTIL_XALLOC_H
#define CUSPAN_CLI_UTIL_XALLOC_H

#include <stddef.h>

/* Zeroed. */
void *xcalloc(size_t count, size_t size);
/* Makes room for at least `needed` elements of `size` bytes, at least doubling; *capacity follows. */
void *xgrow(void *old, size_t *capacity, size_t needed, size_t size);
char *xstrdup(const char *text);
/* A new string by printf's rules. */
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
