/* Functions of libc for the libraries linked into the module (--wrap in cmake/export.cmake).
 *
 * Descriptors that they open are close-on-exec, so that programs executed by the host do not inherit them.
 * They are above descriptor 2, which may be free because the host has closed it. */
#include "base/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define MODE_BYTES 16

/* The linker's names. NOLINTBEGIN(bugprone-reserved-identifier) */
int __real_socketpair(int domain, int type, int protocol, int ends[2]);
int __wrap_socketpair(int domain, int type, int protocol, int ends[2]);
int __real_pipe2(int ends[2], int flags);
int __wrap_pipe2(int ends[2], int flags);
int __wrap_pipe(int ends[2]);
int __real_eventfd(unsigned count, int flags);
int __wrap_eventfd(unsigned count, int flags);
int __real_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol);
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...) __attribute__((alias("__wrap_open")));
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen64(const char *path, const char *mode) __attribute__((alias("__wrap_fopen")));
FILE *__real_fopen(const char *path, const char *mode);
DIR *__wrap_opendir(const char *path);
int __real_sigaction(int number, const struct sigaction *action, struct sigaction *before);
int __wrap_sigaction(int number, const struct sigaction *action, struct sigaction *before);
__sighandler_t __wrap_signal(int number, __sighandler_t handler);

int __wrap_socketpair(int domain, int type, int protocol, int ends[2])
{
    return high_fd_pair(__real_socketpair(domain, type | SOCK_CLOEXEC, protocol, ends), ends);
}

int __wrap_pipe2(int ends[2], int flags)
{
    return high_fd_pair(__real_pipe2(ends, flags | O_CLOEXEC), ends);
}

int __wrap_pipe(int ends[2])
{
    return __wrap_pipe2(ends, 0);
}

int __wrap_eventfd(unsigned count, int flags)
{
    return high_fd(__real_eventfd(count, flags | EFD_CLOEXEC));
}

int __wrap_socket(int domain, int type, int protocol)
{
    return high_fd(__real_socket(domain, type | SOCK_CLOEXEC, protocol));
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    bool has_mode = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE; /* O_TMPFILE has O_DIRECTORY's bit */
    unsigned mode = has_mode ? va_arg(rest, unsigned) : 0;
    va_end(rest);
    return high_fd(__real_open(path, flags | O_CLOEXEC, mode));
}

static void close_failed(int number)
{
    int saved_errno = errno;
    if (number >= 0)
        close(number);
    errno = saved_errno;
}

/* The libraries only read files: certificates, keys, /etc/hosts. Others are opened as they are. */
FILE *__wrap_fopen(const char *path, const char *mode)
{
    char with_e[MODE_BYTES];
    if (*mode != 'r' || strchr(mode, '+'))
        return __real_fopen(path, snprintf(with_e, MODE_BYTES, "%se", mode) < MODE_BYTES ? with_e : mode);
    int number = __wrap_open(path, O_RDONLY);
    FILE *file = number >= 0 ? fdopen(number, mode) : NULL;
    if (!file)
        close_failed(number);
    return file;
}

DIR *__wrap_opendir(const char *path)
{
    int number = __wrap_open(path, O_RDONLY | O_DIRECTORY);
    DIR *folder = number >= 0 ? fdopendir(number) : NULL;
    if (!folder)
        close_failed(number);
    return folder;
}

/* sigaction() and signal() change nothing. libcurl ignores SIGPIPE in the whole process while it closes
 * connections; that would affect the host's threads, and restoring it could overwrite a handler that the host
 * sets meanwhile. We do not need it: agent threads block all signals. A shared libcurl is not affected. */
int __wrap_sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
    return __real_sigaction(number, NULL, before);
}

__sighandler_t __wrap_signal(int number, __sighandler_t handler)
{
    struct sigaction now;
    return __real_sigaction(number, NULL, &now) == 0 ? now.sa_handler : SIG_ERR;
}
/* NOLINTEND(bugprone-reserved-identifier) */
