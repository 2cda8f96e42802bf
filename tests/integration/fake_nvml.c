/* Stands in for libnvidia-ml.so.1: one GPU, the one of the recordings that FAKE_NVML_UUID names.
 * FAKE_NVML_SLOW_MS: each question takes so long. FAKE_NVML_INIT: what nvmlInit answers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORTED      __attribute__((visibility("default")))
#define NOT_SUPPORTED 3
#define NOT_FOUND     6

static int gpu;

static int slowly(void)
{
    const char *ms = getenv("FAKE_NVML_SLOW_MS");
    long wait = ms ? atol(ms) : 0;
    nanosleep(&(struct timespec){wait / 1000, wait % 1000 * 1000000}, NULL);
    return 0;
}

EXPORTED int nvmlInit_v2(void);
EXPORTED int nvmlInit_v2(void)
{
    const char *result = getenv("FAKE_NVML_INIT");
    slowly();
    return result ? atoi(result) : 0;
}

EXPORTED int nvmlDeviceGetHandleByUUID(const char *uuid, void **device);
EXPORTED int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
    const char *wanted = getenv("FAKE_NVML_UUID");
    *device = &gpu;
    return wanted && strcmp(wanted, uuid) != 0 ? NOT_FOUND : slowly();
}

EXPORTED int nvmlDeviceGetName(void *device, char *name, unsigned bytes);
EXPORTED int nvmlDeviceGetName(void *device, char *name, unsigned bytes)
{
    (void)device;
    snprintf(name, bytes, "Stand-in GPU");
    return slowly();
}

EXPORTED int nvmlDeviceGetUtilizationRates(void *device, unsigned *rates);
EXPORTED int nvmlDeviceGetUtilizationRates(void *device, unsigned *rates)
{
    (void)device;
    rates[0] = 42;
    rates[1] = 7;
    return slowly();
}

EXPORTED int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory);
EXPORTED int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory)
{
    (void)device;
    memory[0] = 1000;
    memory[1] = 750;
    memory[2] = 250;
    return slowly();
}

EXPORTED int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius);
EXPORTED int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius)
{
    (void)device;
    *celsius = 55;
    return sensor == 0 ? slowly() : NOT_SUPPORTED;
}

EXPORTED int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts);
EXPORTED int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
    (void)device;
    *milliwatts = 123500;
    return slowly();
}

/* Older GPUs don't count it. */
EXPORTED int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules);
EXPORTED int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules)
{
    (void)device;
    *millijoules = 9000;
    return getenv("FAKE_NVML_OLD") ? NOT_SUPPORTED : slowly();
}
