#include "base/process/loader.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define PAUSE_NS 100000

static atomic_int visits, forks;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The limit is for programs that fork while they hold the loader's lock themselves. */
static void before_fork(void)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    int saved_errno = errno;
    atomic_fetch_add(&forks, 1);
    for (int i = 0; atomic_load(&visits) && i < LOADER_FORK_WAIT_MS * 1000000 / PAUSE_NS; i++)
        nanosleep(&pause, NULL);
    errno = saved_errno;
}

static void after_fork(void)
{
    atomic_fetch_sub(&forks, 1);
}

/* Only the thread that forked exists. */
static void in_child(void)
{
    atomic_store(&forks, 0);
    atomic_store(&visits, 0);
}

static void install(void)
{
    pthread_atfork(before_fork, after_fork, in_child);
}

bool loader_visit(int (*visit)(struct dl_phdr_info *, size_t, void *), void *context)
{
    pthread_once(&once, install);
    atomic_fetch_add(&visits, 1);
    bool may_visit = atomic_load(&forks) == 0;
    if (may_visit)
        dl_iterate_phdr(visit, context);
    atomic_fetch_sub(&visits, 1);
    return may_visit;
}
