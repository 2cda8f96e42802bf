/* What an output suffers from now, for whoever asks while the process runs: the words of its last failure,
 * until a delivery succeeds. Nothing of a server's or user's secrets is in it: the caller passes what it
 * would log. */
#ifndef CUSPAN_EXPORT_LAST_ERROR_H
#define CUSPAN_EXPORT_LAST_ERROR_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* On the output's own thread. */
void last_error_note(unsigned output, const char *format, ...) PRINTF_LIKE(2, 3);
void last_error_clear(unsigned output);

/* False: none. Any thread of ours. */
bool last_error_get(unsigned output, char *text, size_t size);

#endif
