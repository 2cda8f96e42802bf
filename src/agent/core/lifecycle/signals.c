#include "agent/core/lifecycle/signals.h"

#include "base/clock.h"
#include "base/log/log.h"
#include "base/process/signal_names.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STEP_MS  2
#define GRACE_NS (100 * NS_PER_MS) /* for the pipeline thread to report losses */
/* A signal that ends a program often arrives twice: at each process of its group, and forwarded by the
 * parent. */
#define ECHO_NS (300 * NS_PER_MS)

static struct {
    struct signals_finish finish;
    uint64_t deadline_ns; /* maximum time to finish */
    pid_t process;        /* a forked child inherits the handlers and has nothing to finish */
    char late[160];       /* logged when the deadline has passed; formatted in advance */
    size_t late_bytes;
    sigset_t installed;
} signals;

static _Atomic uint64_t begun_ns; /* time of the first signal; 0: none yet */
static atomic_bool is_over;       /* finished, or the deadline has passed */

static void handle(int number, siginfo_t *info, void *context);

/* With `by_force`, even if the host has replaced our handler. */
static void restore_default(int number, bool by_force)
{
    struct sigaction now, by_default;
    memset(&by_default, 0, sizeof by_default);
    by_default.sa_handler = SIG_DFL;
    if (by_force ||
        (sigaction(number, NULL, &now) == 0 && now.sa_flags & SA_SIGINFO && now.sa_sigaction == handle))
        sigaction(number, &by_default, NULL);
}

static bool is_fault(int number, const siginfo_t *info)
{
    bool can_be = number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE;
    return can_be && info->si_code > 0;
}

/* Sends the same signal with the same origin to this thread again, so that it ends the process and a core
 * dump shows its origin. A fault is blocked until it recurs at its instruction, after this handler has
 * returned. Other signals are unblocked now, because the thread may block them again on return, as in
 * sigsuspend(). */
static void raise_again(int number, siginfo_t *info)
{
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    pthread_sigmask(is_fault(number, info) ? SIG_BLOCK : SIG_UNBLOCK, &one, NULL);
    if (syscall(SYS_rt_tgsigqueueinfo, getpid(), (pid_t)syscall(SYS_gettid), number, info) != 0)
        raise(number);
}

/* The interrupted thread may hold a lock that our threads need, so the wait has a limit. Another of these
 * signals on this thread ends the process from within. */
static void wait_for_finish(void)
{
    uint64_t until_ns = clock_monotonic_ns() + signals.deadline_ns + GRACE_NS;
    while (!signals.finish.is_done()) {
        if (clock_monotonic_ns() >= until_ns) {
            log_write(signals.late, signals.late_bytes);
            return;
        }
        poll(NULL, 0, STEP_MS);
    }
}

static void handle(int number, siginfo_t *info, void *context)
{
    int saved_errno = errno;
    uint64_t never = 0;
    bool is_host = getpid() == signals.process;
    bool is_first = is_host && atomic_compare_exchange_strong(&begun_ns, &never, clock_monotonic_ns());
    if (is_first) {
        if (signals.finish.begin(number))
            wait_for_finish();
        atomic_store(&is_over, true);
    }
    bool is_echo = !atomic_load(&is_over) && !is_fault(number, info) &&
                   clock_monotonic_ns() - atomic_load(&begun_ns) < ECHO_NS;
    if (is_first || !is_host || !is_echo) {
        /* A second signal means that the sender wants the process to end now. Or a handler of the host calls
         * ours, which it replaced, and would do so again. */
        restore_default(number, is_host && !is_first);
        raise_again(number, info);
    }
    errno = saved_errno;
}

/* No signal is blocked while the handler waits: a second one ends the process at once. */
static void install(int number)
{
    struct sigaction ours, now;
    if (sigaction(number, NULL, &now) != 0 || now.sa_flags & SA_SIGINFO || now.sa_handler != SIG_DFL)
        return;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = handle;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART;
    if (sigaction(number, &ours, NULL) == 0)
        sigaddset(&signals.installed, number);
}

void signals_begin(const struct settings *settings, struct signals_finish finish, int spared)
{
    signals.finish = finish;
    signals.deadline_ns = settings->exit_deadline_ms * NS_PER_MS;
    signals.process = getpid();
    int bytes =
        snprintf(signals.late, sizeof signals.late,
                 "cuspan: warning: the deadline of %u ms has passed, and spans not delivered are lost; "
                 "raise distribution.cuspan.exit_deadline_ms\n",
                 settings->exit_deadline_ms);
    signals.late_bytes = bytes > 0 ? (size_t)bytes : 0;
    sigemptyset(&signals.installed);
    for (size_t i = 0; i < settings->on_signal.count; i++) {
        int number = signal_by_name(settings->on_signal.patterns[i]);
        if (number != spared)
            install(number);
    }
}

bool signals_are_named(const struct settings *settings, int signal_number)
{
    for (size_t i = 0; i < settings->on_signal.count; i++)
        if (signal_by_name(settings->on_signal.patterns[i]) == signal_number)
            return true;
    return false;
}

void signals_end(void)
{
    for (int number = 1; number < NSIG; number++)
        if (sigismember(&signals.installed, number) == 1)
            restore_default(number, false);
}
