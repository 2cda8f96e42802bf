#include "base/process/cpu_time.h"

#include "base/clock.h"
#include "base/limits.h"

#include <pthread.h>
#include <stdbool.h>

/* The pipeline, the control thread, the hang watch, the sender of its reports, one that starts the agent, and
 * two for each output; twice, because
 * threads of an earlier start may still run. */
#define OWN_THREADS_MAX (2 * (5 + 2 * OUTPUTS_MAX))

static struct {
    bool is_there;
    pthread_t thread;
    clockid_t clock;
    enum own_work work;
} threads[OWN_THREADS_MAX];
static uint64_t ended_ns[OWN_WORK_COUNT];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void cpu_time_start(enum own_work work)
{
    clockid_t clock;
    if (pthread_getcpuclockid(pthread_self(), &clock) != 0)
        return;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < OWN_THREADS_MAX; i++) {
        if (threads[i].is_there)
            continue;
        threads[i].is_there = true;
        threads[i].thread = pthread_self();
        threads[i].clock = clock;
        threads[i].work = work;
        break;
    }
    pthread_mutex_unlock(&lock);
}

void cpu_time_end(void)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < OWN_THREADS_MAX; i++) {
        if (!threads[i].is_there || !pthread_equal(threads[i].thread, pthread_self()))
            continue;
        threads[i].is_there = false;
        ended_ns[threads[i].work] += clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    }
    pthread_mutex_unlock(&lock);
}

uint64_t cpu_time_ns(enum own_work work)
{
    pthread_mutex_lock(&lock);
    uint64_t sum_ns = ended_ns[work];
    for (int i = 0; i < OWN_THREADS_MAX; i++) {
        struct timespec used;
        if (threads[i].is_there && threads[i].work == work && clock_gettime(threads[i].clock, &used) == 0)
            sum_ns += (uint64_t)used.tv_sec * NS_PER_SECOND + (uint64_t)used.tv_nsec;
    }
    pthread_mutex_unlock(&lock);
    return sum_ns;
}

void cpu_time_forget(void)
{
    pthread_mutex_init(&lock, NULL); /* its holder is not in this process */
    for (int i = 0; i < OWN_THREADS_MAX; i++)
        threads[i].is_there = false;
    for (int i = 0; i < OWN_WORK_COUNT; i++)
        ended_ns[i] = 0;
}
