#include "agent/capture/hardware/chips.h"

#include "agent/capture/hardware/profiler.h"

#include <dlfcn.h>
#include <stdio.h>

/* Driver functions; each returns 0 on success. */
#define DRIVER_CALLS(X)                                                                                      \
    X(cuInit, "cuInit", (unsigned flags))                                                                    \
    X(cuDeviceGetCount, "cuDeviceGetCount", (int *count))                                                    \
    X(cuDeviceGetName, "cuDeviceGetName", (char *name, int bytes, int device))                               \
    X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (cuda_context_handle * context, int device))     \
    X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (int device))                               \
    X(cuCtxSetCurrent, "cuCtxSetCurrent", (cuda_context_handle context))

struct driver {
#define MEMBER(call, symbol, params) int(*call) params;
    DRIVER_CALLS(MEMBER)
#undef MEMBER
};

static enum status open_driver(struct driver *driver, struct error *err)
{
    bool is_complete = true;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return error_set(
            err, STATUS_NOT_FOUND,
            "cannot load libcuda.so.1: hardware counters need NVIDIA's driver; install it on this machine");
#define FIND(call, symbol, params)                                                                           \
    *(void **)&driver->call = dlsym(library, symbol);                                                        \
    is_complete &= driver->call != NULL;
    DRIVER_CALLS(FIND)
#undef FIND
    int result = is_complete ? driver->cuInit(0) : 0;
    if (!is_complete || result != CUDA_OK)
        return error_set(err, STATUS_UNAVAILABLE,
                         "cannot initialize NVIDIA's driver (CUDA result %d); run cuspan doctor", result);
    return STATUS_OK;
}

static enum status list_device(const struct driver *driver, const struct doctor_counters *ask, int device,
                               struct error *err)
{
    struct doctor_chip chip = {.device = device};
    cuda_context_handle context = NULL;
    driver->cuDeviceGetName(chip.gpu, sizeof chip.gpu, device);
    int result = driver->cuDevicePrimaryCtxRetain(&context, device);
    if (result != CUDA_OK)
        return error_set(err, STATUS_UNAVAILABLE, "cannot create a context on GPU %d (CUDA result %d)",
                         device, result);
    driver->cuCtxSetCurrent(context);
    enum status status = profiler_describe(context, ask, &chip, err);
    driver->cuDevicePrimaryCtxRelease(device);
    return status;
}

enum status chips_list(const struct cupti *cupti, const struct doctor_counters *ask, struct error *err)
{
    struct driver driver = {0};
    int count = 0;
    enum status status = open_driver(&driver, err);
    if (status == STATUS_OK)
        status = profiler_host_load(cupti, err);
    if (status == STATUS_OK && (driver.cuDeviceGetCount(&count) != CUDA_OK || count == 0))
        status = error_set(err, STATUS_NOT_FOUND, "NVIDIA's driver reports no GPU");
    if (status == STATUS_OK && ask->device >= count)
        status = error_set(err, STATUS_NOT_FOUND,
                           "GPU %d does not exist: this machine has %d, numbered from 0", ask->device, count);
    for (int device = 0; device < count && status == STATUS_OK; device++)
        if (ask->device < 0 || ask->device == device)
            status = list_device(&driver, ask, device, err);
    return status;
}
