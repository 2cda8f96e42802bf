/* The agent's clocks.
 *
 * Spans are in CLOCK_REALTIME, ns since 1970, which is also CUPTI's clock on Linux, so its records need no
 * conversion. Reading it costs 58 ns on some machines, so callbacks on the host's threads take ticks of the
 * processor's counter (22 ns there), and the pipeline thread turns ticks into ns when it drains them, by
 * pairs of both clocks that it takes itself. Where the kernel doesn't trust the counter, ticks are ns
 * already. When a recording is replayed, the library that stands in for CUPTI supplies the recorded time
 * instead.
 *
 * clock_monotonic_ns() is for timers and deadlines and is never replaced. */
#ifndef CUSPAN_BASE_CLOCK_H
#define CUSPAN_BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define NS_PER_SECOND 1000000000ull
#define NS_PER_MS     1000000ull

/* NULL on a real GPU. Set once, before any thread of ours or callback runs. */
extern uint64_t (*clock_source)(void);

/* Set by clock_init: the counter is stable and the kernel itself goes by it. */
extern bool clock_has_counter;

static inline uint64_t clock_read_ns(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

static inline uint64_t clock_now_ns(void)
{
    if (__builtin_expect(clock_source != NULL, 0))
        return clock_source();
    return clock_read_ns(CLOCK_REALTIME);
}

static inline uint64_t clock_monotonic_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
}

static inline uint64_t clock_read_counter(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0;
#endif
}

/* The same once all that the thread has under way is done: what stands before it, memory that it waits for
 * say, isn't in what is timed from here on. */
static inline uint64_t clock_read_counter_settled(void)
{
#if defined(__x86_64__)
    __builtin_ia32_lfence();
#elif defined(__aarch64__)
    __asm__ volatile("dsb ld\n\tisb" ::: "memory");
#endif
    return clock_read_counter();
}

/* For callbacks: what clock_ticks_to_ns understands. Never 0. */
static inline uint64_t clock_ticks(void)
{
    if (__builtin_expect(clock_has_counter, 1))
        return clock_read_counter();
    return clock_now_ns();
}

/* Once, after clock_source is set and before the first tick is taken. */
void clock_init(void);

/* The rest is for one thread. Takes a new pair of both clocks when the last is old; before each round of
 * converting. */
void clock_calibrate(void);
uint64_t clock_ticks_to_ns(uint64_t ticks);

#endif
