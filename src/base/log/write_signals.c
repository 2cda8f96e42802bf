#include "base/log/write_signals.h"

#include <errno.h>
#include <time.h>

static const int numbers[] = {SIGPIPE, SIGXFSZ};

void write_signals_hold(struct write_signals *signals)
{
    sigset_t ours;
    sigemptyset(&ours);
    for (int i = 0; i < 2; i++)
        sigaddset(&ours, numbers[i]);
    sigpending(&signals->pending);
    pthread_sigmask(SIG_BLOCK, &ours, &signals->before);
}

void write_signals_release(const struct write_signals *signals)
{
    int saved_errno = errno;
    sigset_t now, ours;
    sigemptyset(&ours);
    sigpending(&now);
    for (int i = 0; i < 2; i++)
        if (sigismember(&now, numbers[i]) && !sigismember(&signals->pending, numbers[i]))
            sigaddset(&ours, numbers[i]);
    while (sigtimedwait(&ours, NULL, &(struct timespec){0}) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
    errno = saved_errno;
}
