#include "base/process/agent_thread.h"

#include "base/clock.h"
#include "base/process/cpu_time.h"

#include <errno.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct beginning {
    void *(*run)(void *);
    void *argument;
};

/* Failures are ignored: a seccomp filter may forbid these calls, and a thread on the wrong processors is
 * better than none. The kernel limits the mask to the process's cpuset. */
static void leave_inheritance(void)
{
    static const struct sched_param none = {0};
    cpu_set_t all;
    memset(&all, 0xff, sizeof all);
    sched_setaffinity(0, sizeof all, &all);
    int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
    if (policy != SCHED_OTHER && policy != SCHED_BATCH && policy != SCHED_IDLE) /* but of real time */
        sched_setscheduler(0, SCHED_OTHER, &none);
}

static void *begin(void *argument)
{
    struct beginning beginning = *(struct beginning *)argument;
    free(argument);
    leave_inheritance();
    /* libc's messages in the host's language would depend on variables that the host may change meanwhile,
     * and numbers in its locale could have commas. */
    uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
    void *result = beginning.run(beginning.argument);
    cpu_time_end();
    return result;
}

int agent_thread_start(pthread_t *thread, size_t stack_bytes, void *(*run)(void *), void *argument)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    struct beginning *beginning = malloc(sizeof *beginning);
    if (!beginning)
        return ENOMEM;
    *beginning = (struct beginning){run, argument};
    pthread_attr_init(&attributes);
    if (stack_bytes)
        pthread_attr_setstacksize(&attributes, stack_bytes);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(thread, &attributes, begin, beginning);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (failed)
        free(beginning);
    return failed;
}

bool agent_thread_end(pthread_t thread, uint64_t wait_ns)
{
    struct timespec deadline = clock_timespec(clock_read_ns(CLOCK_REALTIME) + wait_ns);
    if (pthread_timedjoin_np(thread, NULL, &deadline) == 0)
        return true;
    pthread_detach(thread);
    return false;
}

void agent_thread_init_cond(pthread_cond_t *cond)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &monotonic);
    pthread_condattr_destroy(&monotonic);
}
