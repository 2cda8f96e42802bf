/* Measures the cost of a step's boundary on the program's thread, and of finding steps by the period of
 * NCCL's collectives: build/step_bench. Each line is the median of nine runs. A pipeline thread is missing,
 * so the list of boundaries is overwritten. Waking up, when a step needs capture and the one before did not,
 * adds CUPTI's switch of records (sleep_control.h). */
#include "measured.h"
#include "agent/capture/context/collective_steps.h"
#include "agent/capture/context/steps.h"
#include "agent/capture/nccl/collective_period.h"
#include "agent/capture/nccl/nccl_calls.h"
#include "agent/capture/sleep/mode.h"
#include "agent/correlate/trace/sampler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS    9
#define STEPS   1000000
#define PATTERN "ProfilerStep#*"

static void begin_step(int64_t number)
{
    (void)steps_begin(number, STEP_TRAIN, STEP_BY_NVTX);
}

static void push_step(int64_t number)
{
    steps_begin_from_nvtx("ProfilerStep#17", strlen("ProfilerStep#17"));
}

static void push_other(int64_t number)
{
    steps_begin_from_nvtx("aten::convolution_backward", strlen("aten::convolution_backward"));
}

static void collective(uint64_t bytes)
{
    struct range_attr attrs[NCCL_CALL_ATTRS_MAX];
    struct nccl_values values = {.present = 1u << NCCL_COMMUNICATOR | 1u << NCCL_BYTES};
    values.value[NCCL_COMMUNICATOR] = 77;
    values.value[NCCL_BYTES] = bytes;
    (void)nccl_note_call("ncclAllReduce", strlen("ncclAllReduce"), &values, attrs, NULL);
}

/* Steps of 100 collectives. */
static void same_step(int64_t number)
{
    collective(4096 + (uint64_t)number % 100);
}

/* Repeats often, and never for long. */
static void no_step(int64_t number)
{
    uint64_t random = collective_mix(7, (uint64_t)number / 2);
    collective(4096 + random % 2);
}

/* The longest time of one collective: a repetition ends that was not long enough. */
static void measure_worst(void)
{
    static struct collective_period period;
    double ns[RUNS];
    int64_t number;
    for (int run = 0; run < RUNS; run++) {
        memset(&period, 0, sizeof period);
        period.proof = PERIOD_WINDOW_MAX;
        for (int i = 0; i < PERIOD_WINDOW_MAX - 1; i++)
            collective_period_note(&period, COLLECTIVE_ALL_REDUCE, 4096, &number);
        double start = thread_ns();
        collective_period_note(&period, COLLECTIVE_ALL_REDUCE, 8192, &number);
        ns[run] = thread_ns() - start;
    }
    sort(ns, RUNS);
    printf("%-52s %6.1f ns\n", "the longest time of one collective", ns[RUNS / 2]);
}

static void measure(const char *what, void (*body)(int64_t number))
{
    double ns[RUNS];
    for (int run = 0; run < RUNS; run++) {
        double start = thread_ns();
        for (int64_t number = 0; number < STEPS; number++)
            body(number);
        ns[run] = (thread_ns() - start) / STEPS;
    }
    sort(ns, RUNS);
    printf("%-52s %6.1f ns\n", what, ns[RUNS / 2]);
}

int main(void)
{
    static struct step_rules all = {.job = 7, .rank = 0, .world_size = 8};
    static struct step_rules some = {
        .job = 7, .rank = 0, .world_size = 8, .is_limited = true, .always_first = true};
    some.threshold = sampler_threshold(1.0 / 64);
    mode_now = MODE_ON;
    steps_start(&all, NULL);
    nccl_note_communicator(77, 8, 0);
    measure("a collective that is counted, without steps by them", same_step);
    collective_steps_observe();
    measure("the same while a period is searched", no_step);
    measure("the same in a known period", same_step);
    measure_worst();
    collective_steps_start(true);
    measure("the same in steps of 100 collectives", same_step);
    measure("a range without steps.nvtx_pattern", push_other);
    measure("a boundary, every step traced", begin_step);
    steps_start(&some, PATTERN);
    measure("a boundary, 1 step in 64", begin_step);
    measure("a range of another name with steps.nvtx_pattern", push_other);
    measure("a boundary from a range", push_step);
    return 0;
}
