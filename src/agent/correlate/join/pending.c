#include "agent/correlate/join/pending.h"

#include "base/accounting/invariant.h"
#include "base/clock.h"
#include "base/accounting/counters.h"

#include <stdlib.h>

#define WAYS       4
#define AGE_MAX_NS (3600 * NS_PER_SECOND) /* 2^32 calls take longer even at a million calls a second */

struct pending_table {
    uint32_t set_mask;
    uint32_t waiting;
    struct pending_call *calls; /* sets of WAYS calls, a cache line each */
    void *memory;
};

enum status pending_create(uint32_t calls_max, struct pending_table **table)
{
    uint32_t sets = 1;
    while ((uint64_t)sets * 2 * WAYS <= calls_max)
        sets *= 2;
    struct pending_table *made = calloc(1, sizeof *made);
    /* mmap: zeroed pages, resident only once used */
    if (made)
        made->memory = calloc((size_t)sets * WAYS + 1, sizeof *made->calls);
    if (!made || !made->memory) {
        free(made);
        return STATUS_NO_MEMORY;
    }
    made->calls = (void *)(((uintptr_t)made->memory + CACHE_LINE_BYTES - 1) & ~(CACHE_LINE_BYTES - 1ul));
    made->set_mask = sets - 1;
    *table = made;
    return STATUS_OK;
}

void pending_destroy(struct pending_table *table)
{
    if (!table)
        return;
    free(table->memory);
    free(table);
}

static struct pending_call *set_of(const struct pending_table *table, uint32_t correlation_id)
{
    return &table->calls[(size_t)(correlation_id / WAYS & table->set_mask) * WAYS];
}

void pending_prefetch(const struct pending_table *table, uint32_t correlation_id)
{
    __builtin_prefetch(set_of(table, correlation_id) + correlation_id % WAYS, 1);
}

static bool is_waiting(const struct pending_call *call)
{
    return (call->flags & (PENDING_EXPECTED | PENDING_ANSWERED)) == PENDING_EXPECTED;
}

/* Whether `a` should be evicted before `b`. */
static bool goes_before(const struct pending_call *a, const struct pending_call *b)
{
    if (is_waiting(a) != is_waiting(b))
        return !is_waiting(a);
    return a->start_ns < b->start_ns;
}

/* Counts the missing record of a graph launch. Other calls are not counted, because they may have no GPU
 * work, such as a copy of 0 bytes. */
static void give_up(const struct pending_call *call)
{
    if (call->flags & PENDING_GRAPH && !(call->flags & PENDING_UNSAMPLED))
        counter_add(COUNTER_lost_graph_record, 1);
}

static struct pending_call *choose_victim(struct pending_call *set, uint32_t correlation_id)
{
    struct pending_call *victim = &set[0];
    for (unsigned i = 0; i < WAYS; i++) {
        if (set[i].correlation_id == 0 || set[i].correlation_id == correlation_id)
            return &set[i];
        if (goes_before(&set[i], victim))
            victim = &set[i];
    }
    return victim;
}

struct pending_call *pending_insert(struct pending_table *table, uint32_t correlation_id, uint32_t flags)
{
    struct pending_call *set = set_of(table, correlation_id), *victim = &set[correlation_id % WAYS];
    if (is_waiting(victim) && victim->correlation_id != correlation_id)
        victim = choose_victim(set, correlation_id);
    if (victim->correlation_id && is_waiting(victim)) {
        if (!(flags & PENDING_EXPECTED) && victim->correlation_id != correlation_id)
            return NULL;
        counter_add(COUNTER_pending_evicted, 1);
        give_up(victim);
        table->waiting--;
    }
    victim->correlation_id = correlation_id;
    victim->flags = flags;
    table->waiting += is_waiting(victim);
    return victim;
}

bool pending_answer(struct pending_table *table, struct pending_call *call)
{
    bool was_waiting = is_waiting(call);
    if (INVARIANT(table->waiting >= was_waiting))
        table->waiting -= was_waiting;
    call->flags |= PENDING_ANSWERED;
    return was_waiting;
}

uint32_t pending_waiting(const struct pending_table *table)
{
    return table->waiting;
}

struct pending_call *pending_find(struct pending_table *table, uint32_t correlation_id, uint64_t start_ns)
{
    struct pending_call *set = set_of(table, correlation_id), *usual = &set[correlation_id % WAYS];
    if (usual->correlation_id == correlation_id)
        return start_ns < usual->start_ns + AGE_MAX_NS ? usual : NULL;
    for (unsigned i = 0; i < WAYS; i++)
        if (set[i].correlation_id == correlation_id)
            return start_ns < set[i].start_ns + AGE_MAX_NS ? &set[i] : NULL;
    return NULL;
}

const struct pending_call *pending_oldest(const struct pending_table *table)
{
    const struct pending_call *oldest = NULL;
    size_t count = ((size_t)table->set_mask + 1) * WAYS;
    for (size_t i = 0; table->waiting && i < count; i++) {
        const struct pending_call *call = &table->calls[i];
        if (call->flags & PENDING_KERNEL && is_waiting(call) &&
            (!oldest || call->start_ns < oldest->start_ns))
            oldest = call;
    }
    return oldest;
}

void pending_finish(struct pending_table *table)
{
    size_t count = ((size_t)table->set_mask + 1) * WAYS;
    for (size_t i = 0; i < count; i++)
        if (table->calls[i].correlation_id && is_waiting(&table->calls[i]))
            give_up(&table->calls[i]);
}
