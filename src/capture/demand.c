#include "capture/demand.h"

#include <stddef.h>

atomic_bool demand_is_asleep;
void (*demand_on_asleep)(void);

static _Atomic uint32_t in_flight, changes;
static atomic_bool is_unsampled_seen;

void demand_attached(void)
{
    atomic_fetch_add(&in_flight, 1);
    atomic_fetch_add_explicit(&changes, 1, memory_order_relaxed);
    if (atomic_load(&demand_is_asleep))
        demand_on_asleep();
}

void demand_detached(void)
{
    atomic_fetch_sub(&in_flight, 1);
    atomic_fetch_add_explicit(&changes, 1, memory_order_relaxed);
}

void demand_attached_unsampled(void)
{
    if (!atomic_load_explicit(&is_unsampled_seen, memory_order_relaxed))
        atomic_store_explicit(&is_unsampled_seen, true, memory_order_relaxed);
}

void demand_set(uint32_t count)
{
    atomic_store(&in_flight, count);
}

uint32_t demand_count(void)
{
    return atomic_load(&in_flight);
}

uint32_t demand_changes(void)
{
    return atomic_load_explicit(&changes, memory_order_relaxed);
}

bool demand_has_unsampled(void)
{
    return atomic_load_explicit(&is_unsampled_seen, memory_order_relaxed);
}

void demand_reset(void)
{
    atomic_store(&is_unsampled_seen, false);
    atomic_store(&changes, 0);
}
