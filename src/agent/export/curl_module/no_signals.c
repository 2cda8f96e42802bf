/* sigaction() and signal() that change nothing, for the libraries linked into the module (--wrap). libcurl
 * ignores SIGPIPE in the whole process while it closes connections; that would affect the host's threads, and
 * restoring it could overwrite a handler that the host sets meanwhile. We do not need it: agent threads block
 * all signals. A shared libcurl is not affected. */
#include <signal.h>
#include <stddef.h>

/* The linker's names. NOLINTBEGIN(bugprone-reserved-identifier) */
int __real_sigaction(int number, const struct sigaction *action, struct sigaction *before);
int __wrap_sigaction(int number, const struct sigaction *action, struct sigaction *before);
__sighandler_t __wrap_signal(int number, __sighandler_t handler);

int __wrap_sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
    (void)action;
    return __real_sigaction(number, NULL, before);
}

__sighandler_t __wrap_signal(int number, __sighandler_t handler)
{
    struct sigaction now;
    (void)handler;
    return __real_sigaction(number, NULL, &now) == 0 ? now.sa_handler : SIG_ERR;
}
/* NOLINTEND(bugprone-reserved-identifier) */
