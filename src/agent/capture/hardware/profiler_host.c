#include "agent/capture/hardware/profiler_host.h"

#include "base/log/log.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct profiler_calls profiler_calls;

/* Loads one of CUPTI's helper libraries and never closes it. CUPTI loads it by name only, which finds a
 * library that is already loaded. The file is in CUPTI's folder, in a folder per version for the CUPTIs that
 * ship with cuspan, or where the linker searches.
 *
 * The library is loaded before the agent registers its exit handler, which therefore runs before the
 * library's destructors. If CUPTI loaded it later, our last reads at exit would use memory that its
 * destructors have freed. */
static void load_helper(const struct cupti *cupti, const char *name)
{
    const char *slash = strrchr(cupti->path, '/');
    int length = slash ? (int)(slash - cupti->path) : 0;
    uint32_t major = cupti->version >= CUPTI_VERSION_13_0 ? cupti->version / 10000 : 12;
    char paths[3][640];
    snprintf(paths[0], sizeof paths[0], "%.*s/nvperf-%u/%s", length, cupti->path, major, name);
    snprintf(paths[1], sizeof paths[1], "%.*s/%s", length, cupti->path, name);
    snprintf(paths[2], sizeof paths[2], "%s", name);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (dlopen(paths[i], RTLD_NOW | RTLD_LOCAL))
            return;
    log_debug("%s", dlerror());
}

enum status profiler_host_load(const struct cupti *cupti, struct error *err)
{
    if (profiler_calls.cupti)
        return STATUS_OK;
    bool is_complete = true;
#define RESOLVE(call, params, last)                                                                          \
    profiler_calls.call = (call##_fn *)dlsym(cupti->handle, #call);                                          \
    is_complete &= profiler_calls.call != NULL;
    PROFILER_CALLS(RESOLVE)
#undef RESOLVE
#define RESOLVE(call, params, last) profiler_calls.call = (call##_fn *)dlsym(cupti->handle, #call);
    PM_SAMPLING_CALLS(RESOLVE)
#undef RESOLVE
    if (!is_complete)
        return error_set(err, STATUS_UNSUPPORTED,
                         "%s has no Range Profiler, which CUDA 12.6 introduced; name a newer CUPTI in "
                         "distribution.cuspan.cupti.library",
                         cupti->path);
    load_helper(cupti, "libnvperf_host.so");
    load_helper(cupti, "libnvperf_target.so");
    profiler_calls.cupti = cupti;
    return STATUS_OK;
}

enum status profiler_host_explain(uint32_t result, const char *doing, struct error *err)
{
    switch (result) {
    case CUPTI_OK:
        return STATUS_OK;
    case CUPTI_OUT_OF_MEMORY:
        return error_set(err, STATUS_NO_MEMORY, "cannot allocate memory to %s", doing);
    case CUPTI_INSUFFICIENT_PRIVILEGES:
    case CUPTI_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
        return error_set(err, STATUS_UNAVAILABLE,
                         "the driver restricts hardware counters to administrators (ERR_NVGPUCTRPERM); load "
                         "it with the module option NVreg_RestrictProfilingToAdminUsers=0 or give the "
                         "process CAP_SYS_ADMIN (docker run --cap-add SYS_ADMIN)");
    case CUPTI_HARDWARE_BUSY:
        return error_set(err, STATUS_UNAVAILABLE,
                         "another tool uses the GPU's hardware counters, which allow one owner; stop it (for "
                         "DCGM: dcgmi profile --pause)");
    case CUPTI_MIG_DEVICE_NOT_SUPPORTED:
        return error_set(err, STATUS_UNAVAILABLE, "hardware counters are not available on this MIG device");
    case CUPTI_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
        return error_set(err, STATUS_UNAVAILABLE,
                         "the GPU is in confidential computing mode, which disables hardware counters");
    case CUPTI_NOT_INITIALIZED:
        return error_set(err, STATUS_NOT_FOUND,
                         "CUPTI cannot load libnvperf_host.so and libnvperf_target.so; put those of NVIDIA's "
                         "package nvidia-cuda-cupti into the folder of %s",
                         profiler_calls.cupti->path);
    default:
        return error_set(err, STATUS_UNAVAILABLE, "cannot %s: %s", doing,
                         cupti_result_text(profiler_calls.cupti, result));
    }
}

static enum status initialize(struct error *err)
{
    static _Atomic bool is_initialized; /* initializing twice is harmless */
    if (atomic_load(&is_initialized))
        return STATUS_OK;
    PROFILER_PARAMS(params, profiler_initialize, pPriv, );
    enum status status = PROFILER_CALL(cuptiProfilerInitialize, params, "initialize hardware counters", err);
    atomic_store(&is_initialized, status == STATUS_OK);
    return status;
}

static enum status check_device(enum profiler_type type, uint32_t device, struct error *err)
{
    PROFILER_PARAMS(params, profiler_device_supported, api, .cuDevice = (int)device,
                    .api = type == PROFILER_SAMPLES ? PROFILER_API_SAMPLES : PROFILER_API_RANGES);
    enum status status = PROFILER_CALL(cuptiProfilerDeviceSupported, params,
                                       "query whether the GPU has hardware counters", err);
    if (status != STATUS_OK || params.isSupported == PROFILER_SUPPORTED ||
        params.isSupported == PROFILER_LIMITED)
        return status;
    const struct {
        uint32_t support;
        const char *what;
    } reasons[] = {{params.architecture,
                    type == PROFILER_SAMPLES ? "it is older than Turing" : "it is older than Volta"},
                   {params.sli, "it is in SLI mode"},
                   {params.vGpu, "it is a virtual GPU, whose host must allow them"},
                   {params.confidentialCompute, "it is in confidential computing mode"},
                   {params.cmp, "it is a mining processor"},
                   {params.wsl, "WSL does not support them"}};
    const char *why = "CUPTI gives no reason";
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].support == PROFILER_UNSUPPORTED || reasons[i].support == PROFILER_DISABLED)
            why = reasons[i].what;
    return error_set(err, STATUS_UNAVAILABLE, "no hardware counters on GPU %u: %s", device, why);
}

static enum status learn_chip(struct profiler_host *host, uint32_t device, struct error *err)
{
    PROFILER_PARAMS(params, profiler_chip_name, pChipName, .deviceIndex = device);
    enum status status = PROFILER_CALL(cuptiDeviceGetChipName, params, "query the chip's name", err);
    if (status == STATUS_OK)
        snprintf(host->chip, sizeof host->chip, "%s", params.pChipName);
    return status;
}

enum status profiler_host_make_image(struct profiler_image *image, size_t size, const char *what,
                                     struct error *err)
{
    if (size > PROFILER_IMAGE_BYTES_MAX)
        return error_set(err, STATUS_NO_MEMORY, "%s takes %zu MiB; name fewer metrics", what,
                         size / 1024 / 1024);
    image->bytes = calloc(1, size ? size : 1);
    image->size = size;
    return image->bytes ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, "cannot allocate memory for %s", what);
}

/* Asks which counters are available now on the context's GPU. This and the next function are called twice,
 * first for the image's size. */
static uint32_t ask_ranges(struct profiler_image *image, cuda_context_handle context)
{
    PROFILER_PARAMS(params, profiler_availability, pCounterAvailabilityImage, .ctx = context,
                    .counterAvailabilityImageSize = image->size, .pCounterAvailabilityImage = image->bytes,
                    .bAllowDeviceLevelCounters = 1);
    if (profiler_calls.cupti->version >= CUPTI_VERSION_13_1)
        params.structSize = PROFILER_SIZE(struct profiler_availability, bAllowDeviceLevelCounters);
    uint32_t result = profiler_calls.cuptiProfilerGetCounterAvailability(&params);
    image->size = params.counterAvailabilityImageSize;
    return result;
}

static uint32_t ask_samples(struct profiler_image *image, uint32_t device)
{
    PROFILER_PARAMS(params, pm_sampling_availability, pCounterAvailabilityImage, .deviceIndex = device,
                    .counterAvailabilityImageSize = image->size, .pCounterAvailabilityImage = image->bytes);
    uint32_t result = profiler_calls.cuptiPmSamplingGetCounterAvailability(&params);
    image->size = params.counterAvailabilityImageSize;
    return result;
}

static uint32_t ask_availability(struct profiler_host *host, cuda_context_handle context, uint32_t device)
{
    return host->type == PROFILER_SAMPLES ? ask_samples(&host->availability, device)
                                          : ask_ranges(&host->availability, context);
}

static enum status learn_availability(struct profiler_host *host, cuda_context_handle context,
                                      uint32_t device, struct error *err)
{
    static const char doing[] = "query the available counters";
    enum status status = profiler_host_explain(ask_availability(host, context, device), doing, err);
    if (status == STATUS_OK)
        status = profiler_host_make_image(&host->availability, host->availability.size,
                                          "the list of counters", err);
    return status == STATUS_OK ? profiler_host_explain(ask_availability(host, context, device), doing, err)
                               : status;
}

/* Opens the chip's metrics, from which a plan chooses. */
static enum status open_metrics(const struct profiler_host *host, profiler_host_handle *handle,
                                struct error *err)
{
    PROFILER_PARAMS(params, profiler_host_initialize, pHostObject, .profilerType = host->type,
                    .pChipName = host->chip, .pCounterAvailabilityImage = host->availability.bytes);
    enum status status = PROFILER_CALL(cuptiProfilerHostInitialize, params, "query the chip's metrics", err);
    *handle = status == STATUS_OK ? params.pHostObject : NULL;
    return status;
}

static void close_metrics(profiler_host_handle handle)
{
    PROFILER_PARAMS(params, profiler_host_deinitialize, pHostObject, .pHostObject = handle);
    if (handle)
        profiler_calls.cuptiProfilerHostDeinitialize(&params);
}

enum status profiler_host_open(struct profiler_host *host, enum profiler_type type,
                               cuda_context_handle context, uint32_t device, struct error *err)
{
    host->type = type;
    enum status status = initialize(err);
    if (status == STATUS_OK && context)
        status = profiler_host_explain(profiler_calls.cupti->cuptiGetDeviceId(context, &device),
                                       "query the context's GPU", err);
    if (status == STATUS_OK && type == PROFILER_SAMPLES &&
        !profiler_calls.cuptiPmSamplingCounterDataGetSampleInfo)
        status = error_set(err, STATUS_UNSUPPORTED,
                           "%s does not support sampling; name a CUPTI of CUDA 12.6 or later in "
                           "distribution.cuspan.cupti.library",
                           profiler_calls.cupti->path);
    if (status == STATUS_OK)
        status = check_device(type, device, err);
    if (status == STATUS_OK)
        status = learn_chip(host, device, err);
    if (status == STATUS_OK)
        status = learn_availability(host, context, device, err);
    return status == STATUS_OK ? open_metrics(host, &host->handle, err) : status;
}

void profiler_host_close(struct profiler_host *host)
{
    close_metrics(host->handle);
    free(host->availability.bytes);
    free(host->config.bytes);
}

uint32_t profiler_host_add(profiler_host_handle handle, const char **names, size_t count)
{
    PROFILER_PARAMS(params, profiler_add_metrics, numMetrics, .pHostObject = handle, .ppMetricNames = names,
                    .numMetrics = count);
    return count ? profiler_calls.cuptiProfilerHostConfigAddMetrics(&params) : CUPTI_OK;
}

/* Finds the chip's name of a setting's metric; for a short name, the first of its candidates that the chip
 * has. `scratch` is a host to which candidates are added as a test. */
static enum status find_metric(struct profiler_host *host, profiler_host_handle scratch, const char *setting,
                               struct error *err)
{
    const char *name = gpu_counter_metric(setting);
    const struct gpu_counter_name *plain = gpu_counter_find(name);
    const char *const own[] = {name, NULL};
    const char *const *candidates = plain ? plain->metrics : own;
    uint32_t result = CUPTI_INVALID_METRIC_NAME;
    for (; *candidates && result != CUPTI_OK; candidates++) {
        const char *metric = *candidates;
        result = profiler_host_add(scratch, &metric, 1);
        if (result == CUPTI_OK)
            host->names[host->metric_count++] = metric;
    }
    if (result == CUPTI_INVALID_METRIC_NAME || result == CUPTI_INVALID_PARAMETER)
        return error_set(err, STATUS_INVALID, "%s has no metric \"%s\"; `cuspan counters` lists its metrics",
                         host->chip, name);
    char doing[128];
    snprintf(doing, sizeof doing, "count %s", name);
    return profiler_host_explain(result, doing, err);
}

enum status profiler_host_find(struct profiler_host *host, const struct pattern_list *metrics,
                               struct error *err)
{
    profiler_host_handle scratch = NULL;
    if (metrics->count == 0 || metrics->count > GPU_COUNTERS_MAX)
        return error_set(err, STATUS_INVALID, "1 to %d metrics can be counted at a time, not %zu",
                         GPU_COUNTERS_MAX, metrics->count);
    enum status status = open_metrics(host, &scratch, err);
    for (size_t i = 0; i < metrics->count && status == STATUS_OK; i++)
        status = find_metric(host, scratch, metrics->patterns[i], err);
    close_metrics(scratch);
    host->name_count = host->metric_count;
    return status;
}

enum status profiler_host_configure(struct profiler_host *host, size_t *passes, struct error *err)
{
    PROFILER_PARAMS(size, profiler_config_size, configImageSize, .pHostObject = host->handle);
    enum status status = PROFILER_CALL(cuptiProfilerHostGetConfigImageSize, size, "plan the counters", err);
    if (status == STATUS_OK)
        status = profiler_host_make_image(&host->config, size.configImageSize, "the counter plan", err);
    if (status != STATUS_OK)
        return status;
    PROFILER_PARAMS(image, profiler_config_image, pConfigImage, .pHostObject = host->handle,
                    .configImageSize = host->config.size, .pConfigImage = host->config.bytes);
    status = PROFILER_CALL(cuptiProfilerHostGetConfigImage, image, "plan the counters", err);
    if (status != STATUS_OK)
        return status;
    PROFILER_PARAMS(count, profiler_passes, numOfPasses, .configImageSize = host->config.size,
                    .pConfigImage = host->config.bytes);
    status = PROFILER_CALL(cuptiProfilerHostGetNumOfPasses, count, "plan the counters", err);
    *passes = count.numOfPasses;
    return status;
}

enum status profiler_host_plan_samples(struct profiler_host *host, const struct pattern_list *metrics,
                                       size_t *passes, struct error *err)
{
    enum status status = profiler_host_find(host, metrics, err);
    if (status == STATUS_OK)
        status = profiler_host_explain(profiler_host_add(host->handle, host->names, host->name_count),
                                       "sample the metrics", err);
    return status == STATUS_OK ? profiler_host_configure(host, passes, err) : status;
}

enum status profiler_host_evaluate(const struct profiler_host *host, const struct profiler_image *data,
                                   size_t index, double *values, struct error *err)
{
    const char **names = (const char **)(uintptr_t)host->names;
    PROFILER_PARAMS(params, profiler_evaluate, pMetricValues, .pHostObject = host->handle,
                    .pCounterDataImage = data->bytes, .counterDataImageSize = data->size, .rangeIndex = index,
                    .ppMetricNames = names, .numMetrics = host->name_count, .pMetricValues = values);
    return PROFILER_CALL(cuptiProfilerHostEvaluateToGpuValues, params, "evaluate the counters", err);
}
