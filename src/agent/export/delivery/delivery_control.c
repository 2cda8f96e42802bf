#include "agent/export/delivery/delivery_control.h"

#include "base/process/agent_thread.h"

#include <errno.h>

void delivery_control_init(struct delivery_control *control)
{
    agent_thread_init_cond(&control->changed);
    pthread_mutex_init(&control->lock, NULL);
    atomic_init(&control->stop_at_ns, NEVER_NS);
    atomic_init(&control->aborted, false);
}

void delivery_control_deinit(struct delivery_control *control)
{
    pthread_cond_destroy(&control->changed);
    pthread_mutex_destroy(&control->lock);
}

void delivery_control_wake(struct delivery_control *control)
{
    pthread_mutex_lock(&control->lock);
    pthread_cond_broadcast(&control->changed);
    pthread_mutex_unlock(&control->lock);
}

void delivery_control_stop(struct delivery_control *control, uint64_t stop_at_ns)
{
    atomic_store_explicit(&control->stop_at_ns, stop_at_ns, memory_order_release);
    delivery_control_wake(control);
}

void delivery_control_abort(struct delivery_control *control)
{
    atomic_store_explicit(&control->aborted, true, memory_order_release);
    delivery_control_wake(control);
}

bool delivery_control_wait_locked(struct delivery_control *control, uint64_t until_ns)
{
    if (until_ns == NEVER_NS) {
        pthread_cond_wait(&control->changed, &control->lock);
        return true;
    }
    struct timespec until = clock_timespec(until_ns);
    return pthread_cond_timedwait(&control->changed, &control->lock, &until) != ETIMEDOUT;
}

void delivery_control_sleep(struct delivery_control *control, uint64_t until_ns, uint64_t stop_at_ns)
{
    pthread_mutex_lock(&control->lock);
    /* New batches signal the same condition but do not shorten the pause. */
    while (!delivery_control_aborted(control) && delivery_control_stop_at_ns(control) == stop_at_ns)
        if (!delivery_control_wait_locked(control, until_ns))
            break;
    pthread_mutex_unlock(&control->lock);
}
