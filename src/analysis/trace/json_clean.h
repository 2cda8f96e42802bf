/* Makes the text of JSON valid Unicode before it is parsed. */
#pragma once

#include <stddef.h>

/* Ill-formed UTF-8 and escapes of lone surrogates become U+FFFD. Escapes are replaced in place. Returns the
 * number of replacements; *grown is the length that json_clean_copy() needs, or 0 if it need not be called.
 */
size_t json_clean(char *bytes, size_t len, size_t *grown);
void json_clean_copy(char *to, const char *bytes, size_t len);
