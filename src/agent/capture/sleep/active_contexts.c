#include "agent/capture/sleep/active_contexts.h"

#include <stddef.h>

atomic_bool active_contexts_is_asleep;
void (*active_contexts_on_asleep)(void);

/* Count in the lower half, number of changes in the upper half: one word because host threads share it. */
static _Atomic uint64_t demand;
static atomic_bool is_unsampled_seen;

#define ONE_CHANGE (1ull << 32)

void active_contexts_attached(void)
{
    atomic_fetch_add(&demand, ONE_CHANGE + 1);
    if (atomic_load(&active_contexts_is_asleep))
        active_contexts_on_asleep();
}

void active_contexts_detached(void)
{
    atomic_fetch_add(&demand, ONE_CHANGE - 1);
}

void active_contexts_attached_unsampled(void)
{
    if (!atomic_load_explicit(&is_unsampled_seen, memory_order_relaxed))
        atomic_store_explicit(&is_unsampled_seen, true, memory_order_relaxed);
}

void active_contexts_set(uint32_t count)
{
    atomic_store(&demand, count);
}

uint32_t active_contexts_count(void)
{
    return (uint32_t)atomic_load(&demand);
}

uint32_t active_contexts_changes(void)
{
    return (uint32_t)(atomic_load(&demand) >> 32);
}

bool active_contexts_has_unsampled(void)
{
    return atomic_load_explicit(&is_unsampled_seen, memory_order_relaxed);
}

void active_contexts_reset(void)
{
    atomic_store(&is_unsampled_seen, false);
    atomic_fetch_and(&demand, UINT32_MAX);
}
