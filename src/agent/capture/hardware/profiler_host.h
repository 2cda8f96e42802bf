/* Common parts of CUPTI's profilers: their functions, error texts, a chip's metrics, and the plan of what is
 * counted. Used by profiler.h for ranges and by pm_sampler.h for samples.
 *
 * Each host is used by one thread at a time. CUPTI needs libnvperf_host.so and libnvperf_target.so, which
 * NVIDIA's packages put into its folder. */
#pragma once

#include "base/status.h"
#include "agent/capture/cupti/cupti.h"
#include "agent/abi/profiler_abi.h"
#include "model/gpu_counter_names.h"
#include "model/settings/settings.h"

/* Maximum size of a chip's name. */
#define PROFILER_CHIP_BYTES      32
#define PROFILER_IMAGE_BYTES_MAX (8 * 1024 * 1024)
#define PROFILER_NAMES_MAX       (GPU_COUNTERS_MAX + 1)

/* A CUPTI function; its parameter struct starts with its size. */
#define PROFILER_PARAMS(name, type, last, ...)                                                               \
    struct type name = {.structSize = PROFILER_SIZE(struct type, last), __VA_ARGS__}

struct profiler_calls {
    const struct cupti *cupti; /* NULL: not loaded */
#define PROFILER_MEMBER(name, params, last) name##_fn *name;
    PROFILER_CALLS(PROFILER_MEMBER)
    PM_SAMPLING_CALLS(PROFILER_MEMBER) /* NULL if CUPTI lacks them */
#undef PROFILER_MEMBER
};
extern struct profiler_calls profiler_calls;

struct profiler_image {
    uint8_t *bytes;
    size_t size;
};

struct profiler_host {
    enum profiler_type type;
    char chip[PROFILER_CHIP_BYTES];
    profiler_host_handle handle;
    size_t metric_count, name_count;
    /* The metrics' names, borrowed from the settings or static, followed by those that counting adds. */
    const char *names[PROFILER_NAMES_MAX];
    struct profiler_image availability, config;
};

/* Looks up the functions, once. UNSUPPORTED: CUPTI before 12.6. NOT_FOUND: its two libraries are missing. */
enum status profiler_host_load(const struct cupti *cupti, struct error *err) MUST_CHECK;

/* Converts `result` to OK or an error that explains why `doing` ("start the counters") failed. */
enum status profiler_host_explain(uint32_t result, const char *doing, struct error *err) MUST_CHECK;

/* The same for the result of a function with a struct of PROFILER_PARAMS. */
#define PROFILER_CALL(function, params, doing, err)                                                          \
    profiler_host_explain(profiler_calls.function(&(params)), doing, err)

/* Allocates a zeroed image, which the caller frees. `what` is for the error text: "the counters' values". */
enum status profiler_host_make_image(struct profiler_image *image, size_t size, const char *what,
                                     struct error *err) MUST_CHECK;

/* Creates a host with the chip's metrics for this type of counting. `context` NULL: of the device with this
 * number (samples need no context), else of the CUDA context's device. UNSUPPORTED: CUPTI lacks this type.
 * UNAVAILABLE: the device has no counters now. Close it in any case. */
enum status profiler_host_open(struct profiler_host *host, enum profiler_type type,
                               cuda_context_handle context, uint32_t device, struct error *err) MUST_CHECK;
void profiler_host_close(struct profiler_host *host);

/* Resolves the settings' metrics to the chip's names. INVALID: the chip lacks one, or they exceed
 * GPU_COUNTERS_MAX. */
enum status profiler_host_find(struct profiler_host *host, const struct pattern_list *metrics,
                               struct error *err) MUST_CHECK;

/* Adds metrics, which share passes with the others of the same call, so add all in one. Returns CUPTI's
 * result. */
uint32_t profiler_host_add(profiler_host_handle handle, const char **names, size_t count);

/* Builds the plan for all added metrics and sets `*passes` to its number of passes. */
enum status profiler_host_configure(struct profiler_host *host, size_t *passes, struct error *err) MUST_CHECK;

/* Does all three steps (find, add, configure) for samples. */
enum status profiler_host_plan_samples(struct profiler_host *host, const struct pattern_list *metrics,
                                       size_t *passes, struct error *err) MUST_CHECK;

/* Computes the values of all names for one range or sample of a data image. */
enum status profiler_host_evaluate(const struct profiler_host *host, const struct profiler_image *data,
                                   size_t index, double *values, struct error *err) MUST_CHECK;
