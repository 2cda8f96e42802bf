/* Fake libcuda.so.1, libnvidia-ml.so.1 and libcupti.so.1x for tests/integration/cli/doctor_*_test.py. The
 * environment sets their results, so that every fault can be tested without a GPU:
 *
 *  FAKE_CUDA_VERSION        cuDriverGetVersion's version (13000)
 *  FAKE_CUDA_INIT           cuInit's result (0), or "crash"
 *  FAKE_CUDA_DEVICES        number of CUDA GPUs (1)
 *  FAKE_NVML_INIT           nvmlInit's result (0)
 *  FAKE_NVML_COUNT          number of GPUs (1)
 *  FAKE_NVML_COMPUTE_MODE   (0)
 *  FAKE_NVML_MIG            0 or 1; unset: MIG is not supported
 *  FAKE_NVML_INSTANCES      MIG instances (0)
 *  FAKE_CUPTI_RESULT        cuptiGetVersion's result (0)
 *
 * CUPTI's version is in a file "version" beside the library, so that there can be several. */
#include "agent/abi/cupti_abi.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* NVIDIA's header has them */

#define EXPORTED __attribute__((visibility("default")))

#define NOT_SUPPORTED 3

EXPORTED extern const char cuspan_cupti_stand_in;
const char cuspan_cupti_stand_in = 1;

static int number(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text && *text ? atoi(text) : otherwise;
}

EXPORTED int cuDriverGetVersion(int *version)
{
    *version = number("FAKE_CUDA_VERSION", 13000);
    return 0;
}

EXPORTED int cuInit(unsigned flags)
{
    const char *text = getenv("FAKE_CUDA_INIT");
    if (getenv("CUDA_INJECTION64_PATH"))
        return 999; /* the doctor's probe must not be injected into */
    if (text && strcmp(text, "crash") == 0)
        abort();
    return number("FAKE_CUDA_INIT", 0);
}

EXPORTED int cuDeviceGetCount(int *count)
{
    *count = number("FAKE_CUDA_DEVICES", 1);
    return 0;
}

EXPORTED int cuGetErrorName(int result, const char **name)
{
    *name = result == 100 ? "CUDA_ERROR_NO_DEVICE" : result == 802 ? "CUDA_ERROR_SYSTEM_NOT_READY" : NULL;
    return *name ? 0 : 1;
}

EXPORTED int nvmlInit_v2(void)
{
    return number("FAKE_NVML_INIT", 0);
}

EXPORTED const char *nvmlErrorString(int result)
{
    return result == 18 ? "Driver/library version mismatch" : "an NVML error";
}

EXPORTED int nvmlSystemGetDriverVersion(char *version, unsigned size)
{
    snprintf(version, size, "570.10");
    return 0;
}

EXPORTED int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = (unsigned)number("FAKE_NVML_COUNT", 1);
    return 0;
}

EXPORTED int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    *device = device;
    return 0;
}

EXPORTED int nvmlDeviceGetName(void *device, char *name, unsigned size)
{
    snprintf(name, size, "Fake GPU");
    return 0;
}

EXPORTED int nvmlDeviceGetComputeMode(void *device, unsigned *mode)
{
    *mode = (unsigned)number("FAKE_NVML_COMPUTE_MODE", 0);
    return 0;
}

EXPORTED int nvmlDeviceGetMigMode(void *device, unsigned *mode, unsigned *pending)
{
    *mode = *pending = (unsigned)number("FAKE_NVML_MIG", 0);
    return getenv("FAKE_NVML_MIG") ? 0 : NOT_SUPPORTED;
}

EXPORTED int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *count)
{
    *count = 7;
    return 0;
}

EXPORTED int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **instance)
{
    *instance = instance;
    return index < (unsigned)number("FAKE_NVML_INSTANCES", 0) ? 0 : NOT_SUPPORTED;
}

/* CUPTI: all functions exist and do nothing. */

#define cuptiGetVersion fake_unused
#define STUB(name, params)                                                                                   \
    EXPORTED uint32_t name params;                                                                           \
    EXPORTED uint32_t name params                                                                            \
    {                                                                                                        \
        return 0;                                                                                            \
    }
CUPTI_CLASSIC_CALLS(STUB)
CUPTI_NAMED_SUBSCRIBER_CALLS(STUB)
CUPTI_SUBSCRIBER_CALLS(STUB)
#undef cuptiGetVersion

EXPORTED uint32_t cuptiGetVersion(uint32_t *version)
{
    Dl_info info;
    char path[4096];
    unsigned read = 0;
    if (!dladdr((const void *)(uintptr_t)cuptiGetVersion, &info))
        return 1;
    const char *slash = strrchr(info.dli_fname, '/');
    snprintf(path, sizeof path, "%.*s/version", (int)(slash - info.dli_fname), info.dli_fname);
    FILE *file = fopen(path, "re");
    if (!file || fscanf(file, "%u", &read) != 1)
        read = 0;
    if (file)
        fclose(file);
    *version = read;
    return (uint32_t)number("FAKE_CUPTI_RESULT", 0);
}
