/* Making foreign text fit for a log line. */
#ifndef CUSPAN_EXPORT_TEXT_H
#define CUSPAN_EXPORT_TEXT_H

#include <stddef.h>

/* Copies text that a server sent: one line, white space collapsed, everything that could move a terminal's
 * cursor or isn't UTF-8 replaced by '?', cut to fit. Returns `to`. */
char *text_one_line(char *to, size_t size, const char *from, size_t bytes);

/* Copies a URL without what may be secret in it: user and password, query, fragment. Returns `to`. */
char *text_safe_url(char *to, size_t size, const char *url);

#endif
