/* The agent's clocks.
 *
 * Times of spans are CLOCK_REALTIME in ns since 1970. CUPTI uses the same clock on Linux, so its records need
 * no conversion. Reading it costs 58 ns on some machines, hence callbacks on the host's threads read the
 * processor's counter (22 ns there). The pipeline thread converts its ticks to ns, by pairs of both clocks
 * that it reads itself. If the kernel does not trust the counter, ticks are ns. In a replay, the library that
 * replaces CUPTI supplies the recorded time.
 *
 * clock_monotonic_ns() is for timers and deadlines, also in a replay. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define NS_PER_SECOND 1000000000ull
#define NS_PER_MS     1000000ull

/* NULL on a real GPU. Set once, before any callback or thread of cuspan runs. */
extern uint64_t (*clock_source)(void);

/* Set by clock_init: the counter is stable, and the kernel uses it. */
extern bool clock_has_counter;

static inline uint64_t clock_read_ns(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

/* For pthread_cond_timedwait(), pthread_mutex_timedlock() and nanosleep(). */
static inline struct timespec clock_timespec(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / NS_PER_SECOND), (long)(ns % NS_PER_SECOND)};
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

/* Waits for earlier instructions, so that their loads are not part of what is timed. */
static inline uint64_t clock_read_counter_settled(void)
{
#if defined(__x86_64__)
    __builtin_ia32_lfence();
#elif defined(__aarch64__)
    __asm__ volatile("dsb ld\n\tisb" ::: "memory");
#endif
    return clock_read_counter();
}

/* For callbacks; clock_ticks_to_ns() converts it. Never 0. */
static inline uint64_t clock_ticks(void)
{
    if (__builtin_expect(clock_has_counter, 1))
        return clock_read_counter();
    return clock_now_ns();
}

/* Call once, after clock_source is set and before the first clock_ticks(). */
void clock_init(void);

/* The rest is for one thread. Reads a new pair of both clocks if the last one is old; call it before each
 * round of conversions. */
void clock_calibrate(void);
uint64_t clock_ticks_to_ns(uint64_t ticks);
