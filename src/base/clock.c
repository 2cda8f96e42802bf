#include "base/clock.h"

#include "base/files.h"

#include <string.h>

#define PAIR_AGE_NS      (50 * NS_PER_MS)
#define ROUGH_NS         (5 * NS_PER_MS) /* a shorter baseline gives a poor slope */
#define TRIES            5
#define SLOPE_CHANGE_PPM 1000 /* more than that is a suspended machine, not drift */

struct pair {
    uint64_t ticks;
    uint64_t ns;        /* CLOCK_REALTIME, the clock of spans */
    uint64_t steady_ns; /* CLOCK_MONOTONIC: runs at the same rate and is never set, so the slope is taken from
                           it */
};

uint64_t (*clock_source)(void);
bool clock_has_counter;

static struct pair anchor;
static double ns_per_tick; /* 0: not known yet */
static bool is_rough;

/* The kernel uses the counter only if it is stable and equal on all processors. */
static bool kernel_trusts_counter(void)
{
    char name[32];
    files_read_small("/sys/devices/system/clocksource/clocksource0/current_clocksource", name, sizeof name);
    name[strcspn(name, "\n")] = 0;
    return strcmp(name, "tsc") == 0 || strcmp(name, "arch_sys_counter") == 0;
}

/* The clocks at one moment: the least disturbed of several tries. */
static struct pair take_pair(void)
{
    struct pair best = {0};
    uint64_t best_width = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = clock_read_counter();
        uint64_t ns = clock_read_ns(CLOCK_REALTIME);
        uint64_t between = clock_read_counter();
        uint64_t steady_ns = clock_monotonic_ns();
        uint64_t width = clock_read_counter() - before;
        if (width < best_width) {
            best_width = width;
            best = (struct pair){before + (between - before) / 2, ns, steady_ns};
        }
    }
    return best;
}

void clock_init(void)
{
    clock_has_counter = clock_source == NULL && kernel_trusts_counter();
    ns_per_tick = 0;
    is_rough = false;
    if (clock_has_counter)
        anchor = take_pair();
}

static bool is_drift(double slope)
{
    double change = slope > ns_per_tick ? slope - ns_per_tick : ns_per_tick - slope;
    return change * 1e6 < ns_per_tick * SLOPE_CHANGE_PPM;
}

void clock_calibrate(void)
{
    if (!clock_has_counter)
        return;
    struct pair now = take_pair();
    uint64_t passed_ns = now.steady_ns - anchor.steady_ns;
    bool is_first = ns_per_tick == 0;
    if (passed_ns < PAIR_AGE_NS && !is_first && !is_rough)
        return;
    double slope = (double)passed_ns / (double)(now.ticks - anchor.ticks);
    if (is_first || is_rough || is_drift(slope))
        ns_per_tick = slope;
    is_rough = is_first || is_rough ? passed_ns < ROUGH_NS : false;
    if (!is_rough) /* a first slope over a short time is refined from the same start */
        anchor = now;
}

uint64_t clock_ticks_to_ns(uint64_t ticks)
{
    if (!clock_has_counter)
        return ticks;
    double distance = (double)(int64_t)(ticks - anchor.ticks) * ns_per_tick;
    return anchor.ns + (uint64_t)(int64_t)distance;
}
