#include "base/log/log.h"

#include "base/limits.h"
#include "base/process/host_call.h"
#include "base/log/standard_fd.h"
#include "base/log/write_signals.h"
#include "base/text/sanitize.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static _Atomic int level_max = LOG_WARN;
static atomic_uint lines_written;

void log_set_level(enum log_level level)
{
    atomic_store_explicit(&level_max, (int)level, memory_order_relaxed);
}

bool log_enabled(enum log_level level)
{
    return (int)level <= atomic_load_explicit(&level_max, memory_order_relaxed);
}

/* Standard error may be a full pipe, which would block the host. A pipe that poll() calls writable has room
 * for a line. */
void log_write(const char *line, size_t bytes)
{
    struct pollfd ready = {.fd = STDERR_FILENO, .events = POLLOUT};
    struct write_signals signals;
    if (!standard_fd_is_usable(STDERR_FILENO) || poll(&ready, 1, 0) != 1 || !(ready.revents & POLLOUT) ||
        ready.revents & (POLLERR | POLLNVAL))
        return;
    write_signals_hold(&signals);
    (void)!write(STDERR_FILENO, line, bytes);
    write_signals_release(&signals);
}

static void write_line(const char *prefix, const char *format, va_list args)
{
    struct host_call call = host_call_begin();
    char line[LOG_LINE_BYTES_MAX];
    unsigned number = atomic_fetch_add_explicit(&lines_written, 1, memory_order_relaxed) + 1;
    if (number <= LOG_LINES_MAX) {
        int used = snprintf(line, sizeof line, "cuspan: %s", prefix);
        int more = vsnprintf(line + used, sizeof line - (size_t)used - 1, format, args);
        size_t room = sizeof line - (size_t)used - 2;
        size_t bytes = (size_t)used + (more < 0 ? 0 : (size_t)more > room ? room : (size_t)more);
        line[bytes] = '\0';
        bytes = strlen(sanitize_in_place(line));
        line[bytes++] = '\n';
        log_write(line, bytes);
        if (number == LOG_LINES_MAX) {
            static const char last[] = "cuspan: no more lines will be written by this process\n";
            log_write(last, sizeof last - 1);
        }
    }
    host_call_end(call);
}

#define DEFINE_LOG(name, level, prefix)                                                                      \
    void name(const char *format, ...)                                                                       \
    {                                                                                                        \
        if (!log_enabled(level))                                                                             \
            return;                                                                                          \
        va_list args;                                                                                        \
        va_start(args, format);                                                                              \
        write_line(prefix, format, args);                                                                    \
        va_end(args);                                                                                        \
    }

DEFINE_LOG(log_error, LOG_ERROR, "")
DEFINE_LOG(log_warn, LOG_WARN, "warning: ")
DEFINE_LOG(log_info, LOG_INFO, "")
DEFINE_LOG(log_debug, LOG_DEBUG, "debug: ")
