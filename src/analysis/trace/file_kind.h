/* Names files that are no spans, so that an error says what was given. */
#pragma once

#include <stddef.h>

/* Says which kind of file starts with these bytes and has no messages, with a fix; NULL: it may be JSON. */
const char *file_kind(const char *bytes, size_t len);
