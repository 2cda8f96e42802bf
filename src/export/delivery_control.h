/* What an exporter's thread waits on and watches while it delivers: is there work, must it stop, and by when.
 */
#ifndef CUSPAN_EXPORT_DELIVERY_CONTROL_H
#define CUSPAN_EXPORT_DELIVERY_CONTROL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define NEVER_NS UINT64_MAX

struct delivery_control {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* by CLOCK_MONOTONIC; anything of the exporter that changes under the lock */
    _Atomic uint64_t stop_at_ns; /* NEVER_NS: run on. Else be done by then */
    atomic_bool aborted;         /* give up what is under way, at once */
};

void delivery_control_init(struct delivery_control *control);
void delivery_control_deinit(struct delivery_control *control);

static inline bool delivery_control_aborted(struct delivery_control *control)
{
    return atomic_load_explicit(&control->aborted, memory_order_acquire);
}

static inline uint64_t delivery_control_stop_at_ns(struct delivery_control *control)
{
    return atomic_load_explicit(&control->stop_at_ns, memory_order_acquire);
}

/* The thread is to stop by `stop_at_ns`; whoever waits below wakes up. */
void delivery_control_stop(struct delivery_control *control, uint64_t stop_at_ns);
void delivery_control_abort(struct delivery_control *control);

/* With the lock held: waits for a change or for the time; false when the time has come. */
bool delivery_control_wait_locked(struct delivery_control *control, uint64_t until_ns);

/* Sleeps until the time, or until the stop is newly asked for or the abort comes. */
void delivery_control_sleep(struct delivery_control *control, uint64_t until_ns);

#endif
