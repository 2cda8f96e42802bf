#include "agent/capture/context/collective_steps.h"

#include "agent/capture/context/steps.h"
#include "agent/capture/nccl/collective_period.h"
#include "agent/capture/nccl/nccl_calls.h"

#include <stdatomic.h>

/* A communicator is given up after this many steps of others without its own, or a multiple of the most so
 * far. */
#define SILENT_MIN   1024
#define SILENT_TIMES 16
#define NUMBERS_GAP  1000 /* so that a new communicator's numbers differ from those that were used */

struct observed {
    _Atomic uint64_t id;   /* communicator's ID; 0: free */
    atomic_bool is_in_use; /* a thread uses it and owns first_number and period */
    atomic_bool has_no_order;
    int64_t first_number;
    struct collective_period period;
    /* For the choice among communicators. */
    _Atomic uint32_t ranks, length, hash; /* length 0: no period */
    _Atomic uint32_t silent, silent_max;  /* steps of others since its last one; the most so far */
};

static struct observed all[COLLECTIVE_STEPS_COMMUNICATORS];
static _Atomic(const struct observed *) reporting; /* the communicator that reported the last step */
static _Atomic int64_t last_number = -1;
static atomic_bool is_started;

/* Returns the entry of a communicator, new if needed; NULL: there are too many. */
static struct observed *observed_of(uint64_t id)
{
    for (unsigned i = 0; i < COLLECTIVE_STEPS_COMMUNICATORS; i++) {
        uint64_t found = atomic_load_explicit(&all[i].id, memory_order_acquire);
        if (found == id ||
            (!found && (atomic_compare_exchange_strong(&all[i].id, &found, id) || found == id)))
            return &all[i];
    }
    return NULL;
}

#define GET(observed, what) atomic_load_explicit(&(observed)->what, memory_order_relaxed)

/* Whether communicator `a` is preferred to `b`. All ranks decide alike. The ID decides only between
 * communicators that do the same. */
static bool is_better(const struct observed *a, const struct observed *b)
{
    if (GET(a, ranks) != GET(b, ranks))
        return GET(a, ranks) > GET(b, ranks);
    if (GET(a, length) != GET(b, length))
        return GET(a, length) > GET(b, length);
    if (GET(a, hash) != GET(b, hash))
        return GET(a, hash) > GET(b, hash);
    return GET(a, id) > GET(b, id);
}

/* Whether the communicator is given up: it has been silent for so long that it was probably destroyed. */
static bool is_given_up(const struct observed *observed)
{
    uint32_t usual = SILENT_TIMES * GET(observed, silent_max);
    return GET(observed, silent) >= (usual > SILENT_MIN ? usual : SILENT_MIN);
}

static void end_silence(struct observed *observed)
{
    uint32_t silent = atomic_exchange_explicit(&observed->silent, 0, memory_order_relaxed);
    if (silent > GET(observed, silent_max) && silent < SILENT_MIN)
        atomic_store_explicit(&observed->silent_max, silent, memory_order_relaxed);
}

/* Whether `other` may be the one that reports steps, instead of `observed`. A larger communicator counts
 * before its period is known, so that its steps do not repeat the numbers of this one's. */
static bool may_have_steps(const struct observed *other, const struct observed *observed)
{
    bool is_larger = GET(other, ranks) > GET(observed, ranks) && !GET(other, has_no_order);
    return (GET(other, length) || is_larger) && is_better(other, observed) && !is_given_up(other);
}

/* Whether a better communicator has steps, too. Counts one more silent step for the best of them. */
static bool is_second(const struct observed *observed)
{
    struct observed *best = NULL;
    for (unsigned i = 0; i < COLLECTIVE_STEPS_COMMUNICATORS; i++) {
        struct observed *other = &all[i];
        if (other != observed && may_have_steps(other, observed) && (!best || is_better(other, best)))
            best = other;
    }
    if (best)
        atomic_fetch_add_explicit(&best->silent, 1, memory_order_relaxed);
    return best != NULL;
}

/* Reports a step. Before capture starts, which may be at another time on each rank, it only counts the
 * number. */
static void report(const struct observed *observed, int64_t number, enum step_kind kind)
{
    if (kind == STEP_NONE && atomic_load_explicit(&reporting, memory_order_relaxed) != observed)
        return;
    atomic_store_explicit(&reporting, observed, memory_order_relaxed);
    if (kind != STEP_NONE)
        atomic_store_explicit(&last_number, number, memory_order_relaxed);
    if (!atomic_load_explicit(&is_started, memory_order_acquire))
        return;
    if (!steps_begin(number, kind, STEP_BY_COLLECTIVES))
        nccl_set_collective_hook(NULL);
}

static void note(struct observed *observed, const struct nccl_collective *collective)
{
    struct collective_period *period = &observed->period;
    int64_t number = 0, last = atomic_load_explicit(&last_number, memory_order_relaxed);
    if (period->count == 0) {
        observed->first_number = last < 0 ? 0 : (last / NUMBERS_GAP + 1) * NUMBERS_GAP;
        atomic_store_explicit(&observed->ranks, collective->ranks, memory_order_relaxed);
    }
    enum period_event event =
        collective_period_note(period, collective->operation, collective->bytes, &number);
    if (event == PERIOD_NOTHING)
        return;
    atomic_store_explicit(&observed->hash, period->hash, memory_order_relaxed);
    atomic_store_explicit(&observed->length, period->length, memory_order_relaxed);
    if (event == PERIOD_LOST) {
        report(observed, 0, STEP_NONE);
        return;
    }
    end_silence(observed);
    if (!is_second(observed))
        report(observed, observed->first_number + number, STEP_TRAIN);
}

/* Gives up a communicator: its last step ends, and none follows. */
static void give_up(struct observed *observed)
{
    atomic_store_explicit(&observed->length, 0, memory_order_relaxed);
    report(observed, -1, STEP_NONE);
}

/* Observes a collective. If several threads use a communicator at once, its order is not that of other ranks,
 * and it is given up. */
static void on_collective(const struct nccl_collective *collective)
{
    if (collective->bytes < COLLECTIVE_STEPS_BYTES_MIN || collective->is_shared)
        return;
    struct observed *observed = observed_of(collective->communicator);
    if (!observed || GET(observed, has_no_order))
        return;
    if (atomic_exchange_explicit(&observed->is_in_use, true, memory_order_acquire)) {
        atomic_store(&observed->has_no_order, true);
        give_up(observed);
        return;
    }
    note(observed, collective);
    if (atomic_load(&observed->has_no_order)) /* since then */
        give_up(observed);
    atomic_store_explicit(&observed->is_in_use, false, memory_order_release);
}

void collective_steps_observe(void)
{
    if (steps_source() >= STEP_BY_COLLECTIVES)
        nccl_set_collective_hook(on_collective);
}

void collective_steps_start(bool is_rank)
{
    if (!is_rank)
        nccl_set_collective_hook(NULL);
    atomic_store_explicit(&is_started, is_rank, memory_order_release);
}
