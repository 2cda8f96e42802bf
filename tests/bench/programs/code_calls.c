/* Makes CUDA calls for tests/bench/launch_stacks.py: the callbacks of a launch, again and again. */
#include "agent/abi/cupti_abi.h"

#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CBID_LAUNCH 211 /* of the runtime: cudaLaunchKernel */
#define EXPORT      __attribute__((visibility("default")))

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* -1: the kernel does not permit it. */
static int open_instructions(void)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_HW_INSTRUCTIONS,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1};
    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static uint64_t read_counter(int counter)
{
    uint64_t value = 0;
    return counter >= 0 && read(counter, &value, sizeof value) == sizeof value ? value : 0;
}

/* ns of a launch's two callbacks, the mean of `count`; `instructions`: the same, 0: unknown. */
EXPORT double code_calls(cupti_callback_fn *on_call, uint32_t first, int count, double *instructions);
double code_calls(cupti_callback_fn *on_call, uint32_t first, int count, double *instructions)
{
    int counter = open_instructions();
    uint64_t before = read_counter(counter), begin = now_ns();
    for (int i = 0; i < count; i++) {
        uint64_t kept = 0;
        int32_t result = 0;
        struct cupti_callback_data data = {.callbackSite = CUPTI_SITE_ENTER,
                                           .functionName = "cudaLaunchKernel",
                                           .functionReturnValue = &result,
                                           .contextUid = 1,
                                           .correlationData = &kept,
                                           .correlationId = first + (uint32_t)i};
        on_call(NULL, CUPTI_DOMAIN_RUNTIME, CBID_LAUNCH, &data);
        data.callbackSite = CUPTI_SITE_EXIT;
        on_call(NULL, CUPTI_DOMAIN_RUNTIME, CBID_LAUNCH, &data);
    }
    double ns = (double)(now_ns() - begin) / count;
    *instructions = (double)(read_counter(counter) - before) / count;
    if (counter >= 0)
        close(counter);
    return ns;
}
