/* Log lines on standard error: "cuspan: TEXT" or "cuspan: warning: TEXT".
 *
 * Logging allocates nothing, preserves errno and writes each line with one write(2). A line is dropped if
 * standard error is full or closed. After LOG_LINES_MAX lines a last line says that no more follow, so that
 * cuspan cannot fill the host's log. Never log from a callback on a host's thread. */
#pragma once

#include "base/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Drops lines above this level. The default is LOG_WARN; the CLI sets its own. */
void log_set_level(enum log_level level);
bool log_enabled(enum log_level level);

void log_error(const char *format, ...) PRINTF_LIKE(1, 2);
void log_warn(const char *format, ...) PRINTF_LIKE(1, 2);
void log_info(const char *format, ...) PRINTF_LIKE(1, 2);
void log_debug(const char *format, ...) PRINTF_LIKE(1, 2);

/* log_once(log_warn, "..."): logs the first time that this statement runs in the process. Any thread. */
#define log_once(log, ...)                                                                                   \
    do {                                                                                                     \
        static atomic_bool is_logged;                                                                        \
        if (!atomic_load_explicit(&is_logged, memory_order_relaxed) && !atomic_exchange(&is_logged, true))   \
            log(__VA_ARGS__);                                                                                \
    } while (0)

/* Writes text as it is and does not count it as a line. Async-signal-safe. */
void log_write(const char *text, size_t bytes);
