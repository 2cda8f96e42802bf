/* Makes untrusted text, and URLs that may contain secrets, safe to print in logs, in reports and on
 * terminals. */
#pragma once

#include <stddef.h>

/* Masks users, passwords and queries of URLs in a text, also of malformed ones. In place; returns the text.
 * All log lines, errors, messages about settings and results of `cuspan doctor` pass through it, or through
 * sanitize_in_place(). */
char *sanitize_secrets(char *text);

/* Masks secrets as above, and replaces control characters and malformed UTF-8 by '?', so that the name of a
 * file can neither move the cursor nor start a line. In place; returns the text. */
char *sanitize_in_place(char *text);

/* The user and the password in a URL of `bytes`, which needs no scheme; NULL if it has none. A password may
 * have characters that should have been percent-encoded. */
const char *sanitize_find_user(const char *url, size_t bytes, size_t *length);

/* Copies untrusted text as one line that fits: collapses white space, replaces control characters and
 * malformed UTF-8 by
 * '?', and masks secrets as above. Returns `to`. */
char *sanitize_line(char *to, size_t size, const char *from, size_t bytes);

/* Copies a URL without its user, password, query and fragment, which may be secret. Returns `to`. */
char *sanitize_url(char *to, size_t size, const char *url);
