/* In the module, sigaction() and signal() only tell what is: libcurl ignores SIGPIPE for the whole process
 * while it closes connections, which the host's threads would notice, and a handler that the host sets
 * meanwhile would be lost. We need none of it: our threads block all signals, and libcurl's sockets raise
 * none.
 *
 * The linker puts these in place of libc's for what is linked into the module (--wrap); a libcurl that is
 * shared goes its own way. */
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
