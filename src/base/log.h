/* The agent's voice: whole lines on standard error, "cuspan: TEXT" or "cuspan: warning: TEXT".
 *
 * Allocates nothing, writes a line with one write(2), preserves errno, leaves a line out rather than wait for
 * a reader (or die of one who has gone), and stops after LOG_LINES_MAX lines with a last line that says so: a
 * guest doesn't fill its host's log. Never called from a callback on a host's thread. */
#ifndef CUSPAN_BASE_LOG_H
#define CUSPAN_BASE_LOG_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Lines above this level are dropped. The default is LOG_WARN for an agent; the CLI sets its own. */
void log_set_level(enum log_level level);
bool log_enabled(enum log_level level);

void log_error(const char *format, ...) PRINTF_LIKE(1, 2);
void log_warn(const char *format, ...) PRINTF_LIKE(1, 2);
void log_info(const char *format, ...) PRINTF_LIKE(1, 2);
void log_debug(const char *format, ...) PRINTF_LIKE(1, 2);

/* Writes text as it is, without counting it. Async-signal-safe. */
void log_write(const char *text, size_t bytes);

/* "error", "warn", "info", "debug" and the names of OTEL_LOG_LEVEL. False if the name is unknown. */
bool log_level_parse(const char *name, enum log_level *level);

#endif
