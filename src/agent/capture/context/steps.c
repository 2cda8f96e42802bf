#include "agent/capture/context/steps.h"

#include "base/accounting/counters.h"
#include "base/clock.h"
#include "base/process/host_call.h"
#include "agent/capture/nccl/nccl_calls.h"
#include "agent/capture/sleep/active_contexts.h"
#include "agent/capture/sleep/mode.h"
#include "model/hang/live_state.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES      256          /* size of an NVTX range's name; a range with a longer one is no step */
#define EVENT_BYTES_MAX (256 * 1024) /* of all events that wait for the pipeline thread */
#define KEPT            1024 /* boundaries between two rounds of the pipeline thread, which are at most 0.1 s apart */

/* A slot's sequence is 2 x index + 1 while it is written and 2 x index + 2 afterwards. A thread that was
 * interrupted while it wrote keeps its slot, and a boundary that would need the slot meanwhile is dropped. */
struct slot {
    _Atomic uint64_t sequence;
    _Atomic uint64_t dropped; /* index + 1 of the latest boundary dropped for lack of this slot */
    _Atomic uint64_t time, number, nonce, lost;
    _Atomic uint32_t what; /* kind | source << 8 */
    _Atomic(struct engine_event *) event;
};

static struct slot slots[KEPT];
static _Atomic uint64_t next_index;
static uint64_t read_index, last_time; /* pipeline thread */

static _Atomic(const struct step_rules *) rules_now;
static _Atomic uint64_t nonce_now;
static _Atomic int64_t number_now;
static _Atomic uint32_t kind_now = STEP_NONE, source_now = STEP_BY_NONE;
static atomic_bool is_held;
static _Atomic size_t event_bytes;
static _Atomic(uint64_t) iteration_seed; /* of the latest iteration */
static _Atomic int64_t iteration_number;
static _Atomic uint32_t requests_held; /* in progress, for which capture is awake */

_Atomic(const char *) steps_nvtx_pattern;

bool steps_are_held(void)
{
    return atomic_load(&is_held);
}

/* Holds capture awake for a step, or releases it. The exchange makes each change of `is_held` happen once. */
static void hold(bool is_watched)
{
    bool was_held = atomic_exchange(&is_held, is_watched);
    if (is_watched && !was_held)
        active_contexts_attached();
    else if (!is_watched && was_held)
        active_contexts_detached();
    if (!is_watched)
        active_contexts_attached_unsampled();
}

/* Claims the slot for a boundary. False: the slot belongs to an older boundary that another thread is still
 * writing, or to a newer one. */
static bool claim(struct slot *slot, uint64_t index)
{
    uint64_t now = atomic_load_explicit(&slot->sequence, memory_order_relaxed);
    while (!(now & 1) && now <= 2 * index)
        if (atomic_compare_exchange_weak_explicit(&slot->sequence, &now, 2 * index + 1, memory_order_acquire,
                                                  memory_order_relaxed))
            return true;
    uint64_t latest = atomic_load_explicit(&slot->dropped, memory_order_relaxed);
    while (latest < index + 1 &&
           !atomic_compare_exchange_weak_explicit(&slot->dropped, &latest, index + 1, memory_order_release,
                                                  memory_order_relaxed)) {
    }
    return false;
}

static void release(struct engine_event *event)
{
    if (event)
        atomic_fetch_sub_explicit(&event_bytes, event->bytes, memory_order_relaxed);
    free(event);
}

/* Makes room for the event. False: too much waits, and it is freed. */
static bool admit(struct engine_event *event)
{
    size_t before = atomic_fetch_add_explicit(&event_bytes, event->bytes, memory_order_relaxed);
    if (before + event->bytes <= EVENT_BYTES_MAX)
        return true;
    release(event);
    return false;
}

/* Owns `event`. Without room for it, the boundary begins nothing. */
static void publish(int64_t number, enum step_kind kind, enum step_source source, struct engine_event *event)
{
    if (event && !admit(event)) {
        counter_add(COUNTER_engine_events_lost, 1);
        event = NULL;
    }
    uint64_t index = atomic_fetch_add(&next_index, 1);
    struct slot *slot = &slots[index % KEPT];
    /* Ticks are not calibrated before capture starts. */
    bool is_captured = atomic_load_explicit(&mode_now, memory_order_acquire) != MODE_OFF;
    if (!claim(slot, index)) {
        release(event);
        return;
    }
    atomic_thread_fence(memory_order_release);
    release(
        atomic_exchange_explicit(&slot->event, event, memory_order_acq_rel)); /* one that was never taken */
    atomic_store_explicit(&slot->time, is_captured ? clock_ticks() : 0, memory_order_relaxed);
    atomic_store_explicit(&slot->number, (uint64_t)number, memory_order_relaxed);
    atomic_store_explicit(&slot->nonce, atomic_load_explicit(&nonce_now, memory_order_relaxed),
                          memory_order_relaxed);
    atomic_store_explicit(&slot->lost, counters_lost_work(), memory_order_relaxed);
    atomic_store_explicit(&slot->what, (uint32_t)kind | (uint32_t)source << 8, memory_order_relaxed);
    atomic_store_explicit(&slot->sequence, 2 * index + 2, memory_order_release);
}

/* Capture wakes up before the boundary and falls asleep after it, so every call of a sampled step and of the
 * one before is captured. */
bool steps_begin(int64_t number, enum step_kind kind, enum step_source source)
{
    uint32_t best = atomic_load_explicit(&source_now, memory_order_relaxed);
    if (source > best)
        return false;
    if (source < best) {
        atomic_store_explicit(&source_now, source, memory_order_relaxed);
        if (source < STEP_BY_COLLECTIVES)
            nccl_set_collective_hook(NULL);
    }
    /* The end of a step does not change the number, from which the next step's is counted. */
    if (kind != STEP_NONE)
        atomic_store_explicit(&number_now, number, memory_order_relaxed);
    atomic_store_explicit(&kind_now, kind, memory_order_relaxed);
    live_note_step(number, kind);
    const struct step_rules *rules = atomic_load_explicit(&rules_now, memory_order_acquire);
    int64_t latest = atomic_load_explicit(&number_now, memory_order_relaxed);
    bool none_follows = kind == STEP_NONE && number < 0;
    bool is_watched = rules && !none_follows && step_is_watched(rules, latest, (uint8_t)kind);
    if (is_watched)
        hold(true);
    publish(number, kind, source, NULL);
    if (rules && !is_watched && (rules->is_limited || steps_are_held()))
        hold(false);
    return true;
}

bool steps_samples_iteration(const struct iteration *iteration)
{
    const struct step_rules *rules = atomic_load_explicit(&rules_now, memory_order_acquire);
    return !rules || iteration_is_sampled(rules, iteration);
}

void steps_begin_iteration(struct engine_event *event)
{
    const struct step_rules *rules = atomic_load_explicit(&rules_now, memory_order_acquire);
    bool is_watched = rules && iteration_is_watched(rules, &event->iteration);
    atomic_store_explicit(&iteration_seed, event->iteration.seed, memory_order_relaxed);
    atomic_store_explicit(&iteration_number, event->iteration.number, memory_order_relaxed);
    if (is_watched)
        hold(true);
    publish(event->iteration.number, STEP_NONE, STEP_BY_API, event);
    if (rules && !is_watched && rules->iteration_threshold)
        hold(false);
}

/* Capture stays awake if the step around the iteration needs it, or the next iteration does. */
void steps_end_iteration(void)
{
    const struct step_rules *rules = atomic_load_explicit(&rules_now, memory_order_acquire);
    uint32_t kind = atomic_load_explicit(&kind_now, memory_order_relaxed);
    uint32_t source = atomic_load_explicit(&source_now, memory_order_relaxed);
    int64_t number = atomic_load_explicit(&number_now, memory_order_relaxed);
    struct iteration next = {.seed = atomic_load_explicit(&iteration_seed, memory_order_relaxed),
                             .number = atomic_load_explicit(&iteration_number, memory_order_relaxed) + 1};
    publish(number, (enum step_kind)kind,
            source == STEP_BY_NONE ? STEP_BY_COLLECTIVES : (enum step_source)source, NULL);
    if (rules && steps_are_held() && !iteration_is_sampled(rules, &next) &&
        !(kind != STEP_NONE && step_is_watched(rules, number, (uint8_t)kind)))
        hold(false);
}

void steps_release_request(void)
{
    uint32_t held = atomic_load(&requests_held);
    while (held && !atomic_compare_exchange_weak(&requests_held, &held, held - 1)) {
    }
    if (held) /* not if the program ends a request twice */
        active_contexts_detached();
}

/* Capture is awake from before a request that may be sampled until after it, so that the GPU time of all of
 * its iterations is known. */
void steps_note_request(struct engine_event *event)
{
    if (event->type == ENGINE_SUMMARY) {
        publish(0, STEP_NONE, STEP_BY_API, event);
        return;
    }
    bool is_end = event->type == ENGINE_REQUEST_END;
    bool holds = (is_end ? event->end.number : event->request.number) & REQUEST_MAY_BE_SAMPLED;
    if (!is_end && holds) {
        atomic_fetch_add(&requests_held, 1);
        active_contexts_attached();
    } else if (!is_end) {
        active_contexts_attached_unsampled();
    }
    publish(0, STEP_NONE, STEP_BY_API, event);
    if (is_end && holds)
        steps_release_request();
}

void steps_forget_requests(void)
{
    atomic_store(&requests_held, 0);
}

enum step_source steps_source(void)
{
    return (enum step_source)atomic_load_explicit(&source_now, memory_order_relaxed);
}

void steps_set_nonce(uint64_t nonce)
{
    uint64_t none = 0;
    if (nonce)
        atomic_compare_exchange_strong(&nonce_now, &none, nonce);
}

/* Keeps the ID of a communicator as large as the job. Called on the thread that initializes it. */
static void note_communicator(uint64_t communicator, uint32_t ranks, uint32_t rank)
{
    const struct step_rules *rules = atomic_load_explicit(&rules_now, memory_order_acquire);
    if (ranks > 1 && rules->world_size == ranks)
        steps_set_nonce(communicator);
}

void steps_start(const struct step_rules *rules, const char *nvtx_pattern)
{
    uint32_t kind = atomic_load(&kind_now);
    atomic_store_explicit(&rules_now, rules, memory_order_release);
    nccl_set_communicator_hook(note_communicator);
    atomic_store_explicit(&steps_nvtx_pattern, nvtx_pattern && *nvtx_pattern ? nvtx_pattern : NULL,
                          memory_order_release);
    if (kind != STEP_NONE && step_is_watched(rules, atomic_load(&number_now), (uint8_t)kind))
        hold(true);
}

/* Copies a slot. False: it is being written, or (`is_gone`) the boundary was overwritten or dropped. */
static bool read_slot(uint64_t index, struct step_boundary *boundary, bool *is_gone)
{
    struct slot *slot = &slots[index % KEPT];
    uint64_t wanted = 2 * index + 2;
    uint64_t before = atomic_load_explicit(&slot->sequence, memory_order_acquire);
    uint32_t what = atomic_load_explicit(&slot->what, memory_order_relaxed);
    *boundary = (struct step_boundary){
        .time = atomic_load_explicit(&slot->time, memory_order_relaxed),
        .number = (int64_t)atomic_load_explicit(&slot->number, memory_order_relaxed),
        .nonce = atomic_load_explicit(&slot->nonce, memory_order_relaxed),
        .lost = atomic_load_explicit(&slot->lost, memory_order_relaxed),
        .kind = (uint8_t)(what & 0xff),
        .source = (uint8_t)(what >> 8),
    };
    boundary->event =
        before == wanted ? atomic_exchange_explicit(&slot->event, NULL, memory_order_acq_rel) : NULL;
    atomic_thread_fence(memory_order_acquire);
    uint64_t after = atomic_load_explicit(&slot->sequence, memory_order_relaxed);
    bool is_dropped = atomic_load_explicit(&slot->dropped, memory_order_acquire) > index;
    *is_gone = after > wanted || (is_dropped && after < wanted - 1);
    if (before == wanted && after == wanted) {
        if (boundary->event)
            atomic_fetch_sub_explicit(&event_bytes, boundary->event->bytes, memory_order_relaxed);
        return true;
    }
    release(boundary->event);
    return false;
}

bool steps_take(struct step_boundary *boundary, uint64_t *missed)
{
    uint64_t end = atomic_load_explicit(&next_index, memory_order_acquire);
    bool is_gone = true;
    *missed = 0;
    if (end > read_index + KEPT) {
        *missed = end - KEPT - read_index;
        read_index = end - KEPT;
    }
    while (read_index < end) {
        if (read_slot(read_index, boundary, &is_gone)) {
            read_index++;
            /* Two threads may have taken their ticks in another order than their slots. */
            if (boundary->time < last_time)
                boundary->time = last_time;
            last_time = boundary->time;
            return true;
        }
        if (!is_gone)
            return false;
        read_index++;
        (*missed)++;
    }
    return false;
}

/* Reads the number in the digits at the end of the name. False: the name has none. */
static bool number_of(const char *name, int64_t *number)
{
    size_t length = strlen(name), at = length;
    while (at > 0 && length - at < 18 && name[at - 1] >= '0' && name[at - 1] <= '9')
        at--;
    if (at == length)
        return false;
    *number = strtoll(name + at, NULL, 10);
    return true;
}

void steps_match_nvtx(const char *pattern, const char *given, size_t bytes)
{
    struct host_call call = host_call_begin();
    int64_t number;
    char name[NAME_BYTES];
    if (bytes < sizeof name) {
        memcpy(name, given, bytes);
        name[bytes] = 0;
    }
    if (bytes < sizeof name && fnmatch(pattern, name, 0) == 0) {
        if (!number_of(name, &number))
            number = atomic_load_explicit(&number_now, memory_order_relaxed) + 1;
        (void)steps_begin(number, STEP_TRAIN, STEP_BY_NVTX);
    }
    host_call_end(call);
}
