#include "agent/capture/callbacks/callback_time.h"

#include "base/clock.h"

#include <stdatomic.h>

#define MEAN_CALLS_FIRST 8 /* mean distance between timed calls; doubles with each, up to MEAN_CALLS_LAST */
#define MEAN_CALLS_LAST  1024
/* Longer callbacks were interrupted by the scheduler: a callback takes about 0.1 us, and 1 us with a page
 * fault. */
#define INTERRUPTED_NS (20 * 1000)
#define TRIES          63

/* Sums over the timed calls, weighted by the number of calls that each stands for. */
static _Atomic uint64_t weighted_ticks, weight, timed_calls;
static uint64_t reading_ticks; /* median cost of two counter readings */
static _Atomic uint64_t first_ticks, first_ns;

/* Returns INTERRUPTED_NS in ticks. aarch64 reports the counter's frequency. No known x86-64 TSC runs below 1
 * GHz. */
static uint64_t interrupted_ticks(void)
{
#if defined(__aarch64__)
    uint64_t frequency;
    __asm__("mrs %0, cntfrq_el0" : "=r"(frequency));
    return frequency / (NS_PER_SECOND / INTERRUPTED_NS);
#else
    return 3 * INTERRUPTED_NS;
#endif
}

/* Returns the median cost of two counter readings in ticks: the shortest pair takes a quarter less than most.
 * Runs for about 3 us. */
static uint64_t time_readings(void)
{
    uint64_t took[TRIES];
    for (int i = 0; i < TRIES; i++) {
        uint64_t begin = clock_read_counter_settled(), ticks = clock_read_counter() - begin;
        int at = i;
        for (; at > 0 && took[at - 1] > ticks; at--)
            took[at] = took[at - 1];
        took[at] = ticks;
    }
    return took[TRIES / 2];
}

uint64_t callback_time_of_reading(void)
{
    return reading_ticks;
}

void callback_time_init(void)
{
    reading_ticks = time_readings();
    callback_time_reset();
    atomic_store(&first_ns, clock_monotonic_ns());
    atomic_store(&first_ticks, clock_read_counter());
}

void callback_time_reset(void)
{
    atomic_store(&weighted_ticks, 0);
    atomic_store(&weight, 0);
    atomic_store(&timed_calls, 0);
}

static uint32_t draw(struct callback_time *time)
{
    uint32_t random =
        time->random ? time->random : (uint32_t)(uintptr_t)time | 1; /* xorshift state must not be 0 */
    random ^= random << 13;
    random ^= random >> 17;
    random ^= random << 5;
    time->random = random;
    return random;
}

/* Draws how many calls the next timed one stands for: 2 to twice the mean. */
static void draw_interval(struct host_thread *thread)
{
    struct callback_time *time = &thread->time;
    if (time->mean_calls < MEAN_CALLS_FIRST)
        time->mean_calls = MEAN_CALLS_FIRST;
    time->interval = 2 + draw(time) % (2 * time->mean_calls - 1);
    if (time->mean_calls < MEAN_CALLS_LAST)
        time->mean_calls *= 2;
    thread->calls_until_turn = time->interval - 1;
}

static void begin_timing(struct host_thread *thread)
{
    thread->time.ticks = 0;
    thread->time.is_over = thread->time.is_interrupted = false;
    thread->calls_until_turn = 1;
    thread_timed = thread;
    thread_self = NULL;
}

void callback_time_turn(struct host_thread *thread)
{
    if (thread_timed)
        thread->time.is_over = true; /* the current callback's ticks are added after this */
    else if (thread->time.interval)
        begin_timing(thread);
    else
        draw_interval(thread); /* the first call is not timed because it claims the slot */
}

/* Adds the timed call to the sums, unless it was interrupted; its neighbors then stand for its interval. */
static void settle(struct host_thread *thread)
{
    const struct callback_time *time = &thread->time;
    if (!time->is_interrupted) {
        atomic_fetch_add_explicit(&weighted_ticks, time->ticks * time->interval, memory_order_relaxed);
        atomic_fetch_add_explicit(&weight, time->interval, memory_order_relaxed);
        atomic_fetch_add_explicit(&timed_calls, 1, memory_order_relaxed);
    }
    draw_interval(thread);
    thread_timed = NULL;
}

void callback_time_add(struct host_thread *thread, uint64_t ticks)
{
    struct callback_time *time = &thread->time;
    time->ticks += ticks > reading_ticks ? ticks - reading_ticks : 0;
    time->is_interrupted |= ticks > interrupted_ticks();
    if (time->is_over)
        settle(thread);
    else
        thread_self = NULL; /* time the next callback, too */
}

struct callback_time_sum callback_time_get(void)
{
    uint64_t calls = atomic_load_explicit(&weight, memory_order_relaxed);
    uint64_t passed_ticks = clock_read_counter() - atomic_load(&first_ticks);
    uint64_t passed_ns = clock_monotonic_ns() - atomic_load(&first_ns);
    struct callback_time_sum sum = {.timed_calls = atomic_load_explicit(&timed_calls, memory_order_relaxed)};
    if (!sum.timed_calls || !calls || !passed_ticks)
        return (struct callback_time_sum){0};
    double ticks = (double)atomic_load_explicit(&weighted_ticks, memory_order_relaxed) / (double)calls;
    sum.call_ns = (uint64_t)(ticks * (double)passed_ns / (double)passed_ticks + 0.5);
    return sum;
}
