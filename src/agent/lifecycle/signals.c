#include "agent/lifecycle/signals.h"

#include "base/clock.h"
#include "base/log.h"
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
#define GRACE_NS (100 * NS_PER_MS) /* for the pipeline's thread to say what is lost */
/* What ends a program often comes to it twice at once: to each process of a group, and passed on by the one
 * that has begun it. */
#define ECHO_NS (300 * NS_PER_MS)

static struct {
    struct signals_finish finish;
    uint64_t deadline_ns; /* how long a finish may take */
    pid_t process;        /* a forked child has our handlers, too, and nothing to finish */
    char late[160];       /* what is said when the deadline has passed; made beforehand */
    size_t late_bytes;
    sigset_t installed;
} signals;

static _Atomic uint64_t begun_ns; /* when the first signal came; 0: none has */
static atomic_bool is_over;       /* the finish, or the time for it */

static void handle(int number, siginfo_t *info, void *context);

static bool is_ours(const struct sigaction *action)
{
    return action->sa_flags & SA_SIGINFO && action->sa_sigaction == handle;
}

/* With `by_force`, also where the host has put a handler of its own in the place of ours. */
static void restore_default(int number, bool by_force)
{
    struct sigaction now, by_default;
    memset(&by_default, 0, sizeof by_default);
    by_default.sa_handler = SIG_DFL;
    if (by_force || (sigaction(number, NULL, &now) == 0 && is_ours(&now)))
        sigaction(number, &by_default, NULL);
}

static bool is_fault(int number, const siginfo_t *info)
{
    bool can_be = number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE;
    return can_be && info->si_code > 0;
}

/* The same signal with the same origin comes to this thread again, so that the process ends by it, and its
 * core says where it came from. One that the kernel raised for an instruction is to come at that instruction,
 * when this handler has returned; others come at once, since on the return the thread might have them
 * blocked, as in a sigsuspend(). */
static void raise_again(int number, siginfo_t *info)
{
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    pthread_sigmask(is_fault(number, info) ? SIG_BLOCK : SIG_UNBLOCK, &one, NULL);
    if (syscall(SYS_rt_tgsigqueueinfo, getpid(), (pid_t)syscall(SYS_gettid), number, info) != 0)
        raise(number);
}

/* The thread may have been interrupted anywhere, also with a lock in its hands that our threads need: so the
 * wait has its end, whatever they do. Another signal of ours on this thread ends the process from within. */
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

static bool is_echo(int number, const siginfo_t *info)
{
    return !atomic_load(&is_over) && !is_fault(number, info) &&
           clock_monotonic_ns() - atomic_load(&begun_ns) < ECHO_NS;
}

static void handle(int number, siginfo_t *info, void *context)
{
    (void)context;
    int saved_errno = errno;
    uint64_t never = 0;
    bool is_host = getpid() == signals.process;
    bool is_first = is_host && atomic_compare_exchange_strong(&begun_ns, &never, clock_monotonic_ns());
    if (is_first) {
        if (signals.finish.begin(number))
            wait_for_finish();
        atomic_store(&is_over, true);
    }
    if (is_first || !is_host || !is_echo(number, info)) {
        /* Who comes second is in a hurry; or it is a handler of the host's that has called ours, which stood
         * before it, and would do so again. */
        restore_default(number, is_host && !is_first);
        raise_again(number, info);
    }
    errno = saved_errno;
}

/* None of them is blocked while the handler waits: who sends one once more wants it to end now. */
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

void signals_begin(const struct settings *settings, struct signals_finish finish)
{
    signals.finish = finish;
    signals.deadline_ns = settings->exit_deadline_ms * NS_PER_MS;
    signals.process = getpid();
    int bytes =
        snprintf(signals.late, sizeof signals.late,
                 "cuspan: warning: the deadline of %u ms has passed, and what was not delivered is lost; "
                 "raise distribution.cuspan.exit_deadline_ms\n",
                 settings->exit_deadline_ms);
    signals.late_bytes = bytes > 0 ? (size_t)bytes : 0;
    sigemptyset(&signals.installed);
    for (size_t i = 0; i < settings->on_signal.count; i++)
        install(signal_by_name(settings->on_signal.patterns[i]));
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
