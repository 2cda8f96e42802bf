/* Makes untrusted text, and URLs that may contain secrets, safe to print in logs, in reports and on
 * terminals. */
#ifndef CUSPAN_BASE_TEXT_SANITIZE_H
#define CUSPAN_BASE_TEXT_SANITIZE_H

#include <stddef.h>

/* Copies untrusted text as one line that fits: collapses white space and replaces control characters and
 * malformed UTF-8 by '?'. Returns `to`. */
char *sanitize_line(char *to, size_t size, const char *from, size_t bytes);

/* Copies a URL without its user, password, query and fragment, which may be secret. Returns `to`. */
char *sanitize_url(char *to, size_t size, const char *url);

#endif
