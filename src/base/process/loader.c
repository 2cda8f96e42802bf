#include "base/process/loader.h"

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define PAUSE_NS 100000

/* A visit that has the lock is inside, too. */
static atomic_int visits, inside, forks;
static pthread_once_t once = PTHREAD_ONCE_INIT;

struct visit {
    int (*visit)(struct dl_phdr_info *info, size_t size, void *context);
    void *context;
    bool is_inside;
};

/* The short limit is for programs that fork while they hold the loader's lock themselves. A thread of ours
 * that has the lock may have to wait for a processor, so the other one is long. */
static void before_fork(void)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    int saved_errno = errno;
    atomic_fetch_add(&forks, 1);
    for (uint64_t ns = 0, waits_ns = 0; atomic_load(&visits) && ns < LOADER_VISIT_WAIT_MS * NS_PER_MS &&
                                        waits_ns < LOADER_LOCK_WAIT_MS * NS_PER_MS;
         ns += PAUSE_NS) {
        if (!atomic_load(&inside))
            waits_ns += PAUSE_NS;
        nanosleep(&pause, NULL);
    }
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
    atomic_store(&inside, 0);
}

static void install(void)
{
    pthread_atfork(before_fork, after_fork, in_child);
}

static int enter(struct dl_phdr_info *info, size_t size, void *context)
{
    struct visit *visit = context;
    if (!visit->is_inside)
        atomic_fetch_add(&inside, 1);
    visit->is_inside = true;
    return visit->visit(info, size, visit->context);
}

bool loader_visit(int (*visit)(struct dl_phdr_info *, size_t, void *), void *context)
{
    pthread_once(&once, install);
    atomic_fetch_add(&visits, 1);
    bool may_visit = atomic_load(&forks) == 0;
    struct visit entered = {.visit = visit, .context = context};
    if (may_visit)
        dl_iterate_phdr(enter, &entered);
    atomic_fetch_sub(&inside, entered.is_inside);
    atomic_fetch_sub(&visits, 1);
    return may_visit;
}

struct walk_step {
    struct loader_walk *walk;
    unsigned index;
    bool is_found;
};

static int take_next(struct dl_phdr_info *info, size_t size, void *context)
{
    struct walk_step *step = context;
    if (step->index++ < step->walk->next)
        return 0;
    step->is_found = true;
    step->walk->has_variables = info->dlpi_tls_modid != 0;
    step->walk->path[0] = '\0';
    if (info->dlpi_name && strlen(info->dlpi_name) < sizeof step->walk->path)
        strcpy(step->walk->path, info->dlpi_name);
    return 1;
}

bool loader_next(struct loader_walk *walk)
{
    struct walk_step step = {.walk = walk};
    walk->is_refused = !loader_visit(take_next, &step);
    walk->next += step.is_found;
    return step.is_found;
}

static int read_loads(struct dl_phdr_info *info, size_t size, void *loads)
{
    *(unsigned long long *)loads = info->dlpi_adds;
    return 1;
}

unsigned long long loader_loads(void)
{
    unsigned long long loads = 0;
    (void)loader_visit(read_loads, &loads);
    return loads;
}
