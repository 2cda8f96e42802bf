/* Tells an exporter's threads when to stop, and wakes them for new work. */
#pragma once

#include "base/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define NEVER_NS UINT64_MAX

struct delivery_control {
    pthread_mutex_t lock;
    pthread_cond_t changed;      /* CLOCK_MONOTONIC; any change of the exporter's state under the lock */
    _Atomic uint64_t stop_at_ns; /* deadline of all deliveries; NEVER_NS: no stop requested */
    atomic_bool aborted;         /* cancel the current delivery at once */
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

/* Whether the delivery must end: the deadline has passed, or an abort was requested. */
static inline bool delivery_control_is_over(struct delivery_control *control)
{
    return delivery_control_aborted(control) || clock_monotonic_ns() >= delivery_control_stop_at_ns(control);
}

/* Requests a stop by `stop_at_ns`. Both wake all waiters. */
void delivery_control_stop(struct delivery_control *control, uint64_t stop_at_ns);
void delivery_control_abort(struct delivery_control *control);
void delivery_control_wake(struct delivery_control *control);

/* With the lock held: waits for a change. False on timeout. */
bool delivery_control_wait_locked(struct delivery_control *control, uint64_t until_ns);

/* Sleeps until the time, or until an abort is requested or the deadline is no longer `stop_at_ns`, the one
 * that the caller has seen. */
void delivery_control_sleep(struct delivery_control *control, uint64_t until_ns, uint64_t stop_at_ns);
