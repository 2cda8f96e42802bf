/* What CUPTI's profilers have in common: their calls, what a result means for a person, a chip's metrics, and
 * the plan of which are counted. profiler.h counts ranges with it, pm_sampler.h takes samples.
 *
 * One thread at a time for each host. CUPTI looks for libnvperf_host.so and libnvperf_target.so, which lie
 * beside it in NVIDIA's packages. */
#ifndef CUSPAN_CAPTURE_HARDWARE_PROFILER_HOST_H
#define CUSPAN_CAPTURE_HARDWARE_PROFILER_HOST_H

#include "base/status.h"
#include "capture/cupti/cupti.h"
#include "abi/profiler_abi.h"
#include "model/gpu_counter_names.h"
#include "model/settings.h"

/* The chip's name takes this many at most. */
#define PROFILER_CHIP_BYTES      32
#define PROFILER_IMAGE_BYTES_MAX (8 * 1024 * 1024)
#define PROFILER_NAMES_MAX       (GPU_COUNTERS_MAX + 1)

/* One call of CUPTI's: its parameters begin with their size. */
#define PROFILER_PARAMS(name, type, last, ...)                                                               \
    struct type name = {.structSize = PROFILER_SIZE(struct type, last), __VA_ARGS__}

struct profiler_calls {
    const struct cupti *cupti; /* NULL: not loaded */
#define PROFILER_MEMBER(name, params, last) name##_fn *name;
    PROFILER_CALLS(PROFILER_MEMBER)
    PM_SAMPLING_CALLS(PROFILER_MEMBER) /* NULL where CUPTI hasn't got them */
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
    /* The metrics' own, of the settings, or static; then what the counting adds. */
    const char *names[PROFILER_NAMES_MAX];
    struct profiler_image availability, config;
};

/* Finds the calls, once. UNSUPPORTED: a CUPTI before 12.6; NOT_FOUND: it has not got its two libraries. */
enum status profiler_host_load(const struct cupti *cupti, struct error *err) MUST_CHECK;

/* What `result` means; OK, or the error that says what stands in the way of `doing` ("start the counters").
 */
enum status profiler_host_explain(uint32_t result, const char *doing, struct error *err) MUST_CHECK;

/* Zeroed; freed by the caller. `what` is for the error: "the counters' values". */
enum status profiler_host_make_image(struct profiler_image *image, size_t size, const char *what,
                                     struct error *err) MUST_CHECK;

/* The chip's metrics, as this type counts them, on an empty host: of the context's device, or of this one
 * (samples need no context). UNSUPPORTED: CUPTI hasn't got this type; UNAVAILABLE: this device has no
 * counters, here and now. Closed by the caller, whatever is returned. */
enum status profiler_host_open_context(struct profiler_host *host, enum profiler_type type,
                                       cuda_context_handle context, struct error *err) MUST_CHECK;
enum status profiler_host_open_device(struct profiler_host *host, uint32_t device,
                                      struct error *err) MUST_CHECK;
void profiler_host_close(struct profiler_host *host);

/* The chip's names of what settings name. INVALID: it lacks one, or they are more than GPU_COUNTERS_MAX. */
enum status profiler_host_find(struct profiler_host *host, const struct pattern_list *metrics,
                               struct error *err) MUST_CHECK;

/* Added at once they share passes; CUPTI gives those of each call passes of their own. Returns its result. */
uint32_t profiler_host_add(profiler_host_handle handle, const char **names, size_t count);

/* The plan of all that was added, and in how many passes it can be counted. */
enum status profiler_host_configure(struct profiler_host *host, size_t *passes, struct error *err) MUST_CHECK;

/* All three for samples, of which there is one way. */
enum status profiler_host_plan_samples(struct profiler_host *host, const struct pattern_list *metrics,
                                       size_t *passes, struct error *err) MUST_CHECK;

/* The values of all names, of one range, or sample, of a data image. */
enum status profiler_host_evaluate(const struct profiler_host *host, const struct profiler_image *data,
                                   size_t index, double *values, struct error *err) MUST_CHECK;

#endif
