/* The last error of each output, for status queries while the process runs, and the first error during exit,
 * for the final report. Callers pass text without secrets, as for the log. */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* On the output's own thread; a successful delivery clears the error. */
void last_error_note(unsigned output, const char *format, ...) PRINTF_LIKE(2, 3);
void last_error_clear(unsigned output);

/* False if the output has no error. Any agent thread. */
bool last_error_get(unsigned output, char *text, size_t size);

/* Keeps the first error of any output during exit. The report of losses prints it in its own line. */
void last_error_note_at_exit(const char *format, ...) PRINTF_LIKE(1, 2);

/* NULL: no error. Static storage. */
const char *last_error_at_exit(void);
