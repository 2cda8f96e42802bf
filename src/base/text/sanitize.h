/* Making foreign text, and addresses that may hold secrets, fit to be shown: in log lines, in reports, on a
 * terminal. */
#ifndef CUSPAN_BASE_TEXT_SANITIZE_H
#define CUSPAN_BASE_TEXT_SANITIZE_H

#include <stddef.h>

/* Copies text that a server sent: one line, white space collapsed, everything that could move a terminal's
 * cursor or isn't UTF-8 replaced by '?', cut to fit. Returns `to`. */
char *sanitize_line(char *to, size_t size, const char *from, size_t bytes);

/* Copies a URL without what may be secret in it: user and password, query, fragment. Returns `to`. */
char *sanitize_url(char *to, size_t size, const char *url);

#endif
