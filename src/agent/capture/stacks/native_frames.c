#include "agent/capture/stacks/native_frames.h"

#include "agent/capture/stacks/native_rules.h"
#include "agent/frames/unwind_step.h"

#include <sys/mman.h>

#define SAME_ADDRESS_MAX 2

/* A walk's state between two frames. */
struct state {
    struct unwind_cursor at;
    bool is_first;    /* the walk is at its own frame, which is not in the result */
    bool is_skipping; /* the walk is still in the leading frames of tools */
};

enum copy_state { COPY_FREE, COPY_TAKEN, COPY_READY };

struct copy {
    _Atomic uint32_t state;    /* enum copy_state */
    uint32_t polls;            /* polls since the copy is ready */
    bool is_for_caller;        /* made for NATIVE_CALLER: nobody finishes the copy */
    _Atomic uint64_t waits_at; /* address whose rule is missing; 0: free */
    uint64_t serial;
    struct state walk;
    struct unwind_memory memory;
    uint64_t words[NATIVE_COPY_BYTES / 8];
};

struct stacks {
    struct native_rules rules;
    struct copy copies[NATIVE_COPIES];
};

static struct stacks *_Atomic shared;
static _Atomic uint64_t serials;

/* ---- Walks --------------------------------------------------------------------------------------------- */

/* Adds frames until the walk ends. `is_ours`: the walk also learns unknown rules, and `frames` may be NULL;
 * the caller holds the loader's lock. */
READS_STACK static inline __attribute__((always_inline)) void
walk_on(struct native_rules *rules, struct state *state, const struct unwind_memory *memory, bool is_ours,
        uint64_t *frames, uint32_t max, struct native_walk *walk)
{
    enum native_end end;
    for (;;) {
        uint64_t entry = native_rules_find(rules, state->at.address);
        if (__builtin_expect(!entry, 0)) {
            end = NATIVE_END_UNKNOWN;
            if (!is_ours)
                break;
            end = NATIVE_END_DAMAGED;
            if (state->at.address == 0 || state->at.address & ~UNWIND_ADDRESS_MASK)
                break;
            entry = native_rules_learn(rules, state->at.address);
        }
        const struct unwind_rule *rule = &rules->rules[entry & ENTRY_RULE];
        state->is_skipping &= state->is_first || (entry & ENTRY_IS_TOOL);
        if (!state->is_skipping && !state->is_first) {
            end = NATIVE_END_FULL;
            if (walk->count == max)
                break;
            if (!is_ours || frames)
                frames[walk->count] = state->at.address;
            walk->count++;
        }
        state->is_first = false;
        end = NATIVE_END_OUTERMOST;
        if (rule->kind == UNWIND_OUTERMOST)
            break;
        end = walk->count == max ? NATIVE_END_FULL : unwind_step(rule, &state->at, memory);
        if (end || state->at.address == 0)
            break;
    }
    walk->end = end;
}

/* Takes a free copy. A loop may launch many times from one new place, so at most `same_max` copies wait for
 * the same address. */
static struct copy *take_copy(struct stacks *stacks, uint64_t address, int same_max)
{
    int same = 0;
    for (int i = 0; i < NATIVE_COPIES; i++)
        same += atomic_load_explicit(&stacks->copies[i].waits_at, memory_order_relaxed) == address;
    for (int i = 0; i < NATIVE_COPIES && same < same_max; i++) {
        struct copy *copy = &stacks->copies[i];
        uint32_t expected = COPY_FREE;
        if (atomic_load_explicit(&copy->state, memory_order_relaxed) == COPY_FREE &&
            atomic_compare_exchange_strong(&copy->state, &expected, COPY_TAKEN)) {
            atomic_store_explicit(&copy->waits_at, address, memory_order_relaxed);
            return copy;
        }
    }
    return NULL;
}

/* Copies the rest of the stack for our thread. If no copy is free, at least the frame itself is added. */
READS_STACK static uint64_t copy_stack(struct stacks *stacks, const struct state *state,
                                       const struct unwind_memory *memory, enum native_from from)
{
    int same_max = from == NATIVE_EACH_FROM_CALLER ? NATIVE_COPIES : SAME_ADDRESS_MAX;
    uint64_t low = state->at.sp & ~(uint64_t)7, bytes = memory->low + memory->bytes - low;
    if (low - memory->low >= memory->bytes)
        return 0;
    struct copy *copy = take_copy(stacks, state->at.address, same_max);
    if (!copy)
        return 0;
    bytes = bytes < NATIVE_COPY_BYTES ? bytes : NATIVE_COPY_BYTES;
    const volatile uint64_t *words = (const volatile uint64_t *)(uintptr_t)low;
    for (uint64_t i = 0; i < bytes / 8; i++) /* a call of memcpy() would be checked by AddressSanitizer */
        copy->words[i] = words[i];
    copy->memory = (struct unwind_memory){low, bytes, (uint64_t)(uintptr_t)copy->words - low};
    copy->walk = *state;
    copy->polls = 0;
    copy->is_for_caller = from == NATIVE_CALLER;
    copy->serial = atomic_fetch_add_explicit(&serials, 1, memory_order_relaxed) + 1;
    uint64_t ticket = copy->serial << 8 | (uint64_t)(copy - stacks->copies);
    atomic_store_explicit(&copy->state, COPY_READY, memory_order_release);
    return from == NATIVE_CALLER ? 0 : ticket;
}

READS_STACK __attribute__((noinline)) void native_frames_walk(struct native_stack *stack,
                                                              enum native_from from, uint64_t *frames,
                                                              uint32_t max, struct native_walk *walk)
{
    struct stacks *stacks = atomic_load_explicit(&shared, memory_order_acquire);
    struct state state = {.is_first = true, .is_skipping = from != NATIVE_FROM_HERE};
    *walk = (struct native_walk){.end = NATIVE_END_UNSUPPORTED};
    if (!stacks)
        return;
    walk->generation = atomic_load_explicit(&stacks->rules.generation, memory_order_relaxed);
#if defined(__x86_64__)
    __asm__ volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2"
                     : "=&r"(state.at.address), "=&r"(state.at.sp), "=&r"(state.at.fp));
#elif defined(__aarch64__)
    __asm__ volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29\n\tmov %3, x30"
                     : "=&r"(state.at.address), "=&r"(state.at.sp), "=&r"(state.at.fp), "=&r"(state.at.link));
    state.at.link &= UNWIND_ADDRESS_MASK;
#else
    return;
#endif
    struct unwind_memory memory = {.low = state.at.sp & ~(uint64_t)7};
    memory.bytes = native_stack_end(stack, memory.low) - memory.low;
    walk_on(&stacks->rules, &state, &memory, false, frames, max, walk);
    if (__builtin_expect(walk->end == NATIVE_END_UNKNOWN, 0)) {
        walk->ticket = copy_stack(stacks, &state, &memory, from);
        if (!walk->ticket && !state.is_first && !state.is_skipping && walk->count < max)
            frames[walk->count++] = state.at.address;
    }
}

/* ---- Copies, on our thread ----------------------------------------------------------------------------- */

struct order {
    struct native_rules *rules;
    struct copy *copy;
    uint64_t *frames;
    uint32_t max;
    struct native_walk *walk;
};

static void complete(void *context)
{
    struct order *order = context;
    struct state state = order->copy->walk;
    walk_on(order->rules, &state, &order->copy->memory, true, order->frames, order->max, order->walk);
}

static void give_back(struct copy *copy)
{
    atomic_store_explicit(&copy->waits_at, 0, memory_order_relaxed);
    atomic_store_explicit(&copy->state, COPY_FREE, memory_order_release);
}

void native_frames_finish(uint64_t ticket, uint64_t *frames, uint32_t max, struct native_walk *walk)
{
    struct stacks *stacks = atomic_load_explicit(&shared, memory_order_acquire);
    *walk = (struct native_walk){.end = NATIVE_END_UNKNOWN};
    if (!stacks || !ticket || (ticket & 0xff) >= NATIVE_COPIES)
        return;
    struct copy *copy = &stacks->copies[ticket & 0xff];
    if (atomic_load_explicit(&copy->state, memory_order_acquire) != COPY_READY || copy->serial != ticket >> 8)
        return;
    struct order order = {&stacks->rules, copy, frames, max, walk};
    (void)native_rules_update(&stacks->rules, complete, &order);
    walk->generation = atomic_load_explicit(&stacks->rules.generation, memory_order_relaxed);
    give_back(copy);
}

static void do_nothing(void *context) {}

bool native_frames_are_current(uint32_t generation, const uint64_t *frames, uint32_t count)
{
    struct stacks *stacks = atomic_load_explicit(&shared, memory_order_acquire);
    if (!stacks)
        return true;
    bool is_current = native_rules_update(&stacks->rules, do_nothing, NULL);
    for (uint32_t i = 0; i < count && is_current; i++)
        is_current = native_rules_had(&stacks->rules, frames[i], generation);
    return is_current;
}

/* Learns all rules of each copied stack, and leaves the copy for native_frames_finish(). From a copy for a
 * caller, learns only the rules up to the caller. */
static void learn_copies(void *context)
{
    struct stacks *stacks = context;
    for (int i = 0; i < NATIVE_COPIES; i++) {
        struct copy *copy = &stacks->copies[i];
        if (atomic_load_explicit(&copy->state, memory_order_acquire) != COPY_READY)
            continue;
        bool is_for_caller = copy->is_for_caller;
        if (copy->polls++ == 0) {
            struct native_walk walk = {.count = 0};
            complete(&(struct order){&stacks->rules, copy, NULL, is_for_caller ? 1 : UINT32_MAX, &walk});
        }
        if (is_for_caller || copy->polls > NATIVE_COPY_POLLS)
            give_back(copy);
    }
}

void native_frames_poll(void)
{
    struct stacks *stacks = atomic_load_explicit(&shared, memory_order_acquire);
    if (stacks)
        (void)native_rules_update(&stacks->rules, learn_copies, stacks);
}

enum status native_frames_start(void)
{
    struct stacks *stacks = atomic_load_explicit(&shared, memory_order_relaxed);
    if (stacks)
        return STATUS_OK;
    /* The memory is zero, and pages become resident when they are first used. */
    stacks = mmap(NULL, sizeof *stacks, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stacks == MAP_FAILED)
        return STATUS_NO_MEMORY;
    native_rules_init(&stacks->rules);
    atomic_store_explicit(&shared, stacks, memory_order_release);
    native_frames_poll();
    return STATUS_OK;
}
