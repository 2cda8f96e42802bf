/* Fake libnvidia-ml.so.1 with one GPU, that of the recordings, whose UUID is FAKE_NVML_UUID.
 * FAKE_NVML_SLOW_MS: duration of each query. FAKE_NVML_INIT: result of nvmlInit. FAKE_NVML_LINKS: far ends of
 * its NVLinks, separated by spaces: "switch", "GPU", "--" for a link that is down; "broken": link queries
 * fail. FAKE_NVML_STATUS: "well"; "limited" by its power, "hot", or with a row of memory that is "pending" to
 * be replaced, or "worn", without another row; "old-slow": slowed down, without such rows; "broken", to be
 * reset; "lost". */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* NVIDIA's header has them */

#define EXPORTED      __attribute__((visibility("default")))
#define INVALID       2
#define NOT_SUPPORTED 3
#define NOT_FOUND     6
#define TIMEOUT       10
#define GPU_IS_LOST   15
#define UNKNOWN       999

static int gpu;

static bool is_status(const char *status)
{
    const char *own = getenv("FAKE_NVML_STATUS");
    return own && strcmp(own, status) == 0;
}

static int slowly(void)
{
    const char *ms = getenv("FAKE_NVML_SLOW_MS");
    long wait = ms ? atol(ms) : 0;
    nanosleep(&(struct timespec){wait / 1000, wait % 1000 * 1000000}, NULL);
    return 0;
}

EXPORTED int nvmlInit_v2(void)
{
    const char *result = getenv("FAKE_NVML_INIT");
    slowly();
    return result ? atoi(result) : 0;
}

EXPORTED int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
    const char *wanted = getenv("FAKE_NVML_UUID");
    *device = &gpu;
    if (is_status("lost"))
        return GPU_IS_LOST;
    return wanted && strcmp(wanted, uuid) != 0 ? NOT_FOUND : slowly();
}

EXPORTED int nvmlDeviceGetName(void *device, char *name, unsigned bytes)
{
    snprintf(name, bytes, "Stand-in GPU");
    return slowly();
}

EXPORTED int nvmlDeviceGetUtilizationRates(void *device, unsigned *rates)
{
    rates[0] = 42;
    rates[1] = 7;
    return slowly();
}

EXPORTED int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory)
{
    memory[0] = 1000;
    memory[1] = 750;
    memory[2] = 250;
    return slowly();
}

EXPORTED int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius)
{
    *celsius = 55;
    return sensor == 0 ? slowly() : NOT_SUPPORTED;
}

EXPORTED int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
    *milliwatts = 123500;
    return slowly();
}

/* Older GPUs do not support it. */
EXPORTED int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules)
{
    *millijoules = 9000;
    return getenv("FAKE_NVML_OLD") ? NOT_SUPPORTED : slowly();
}

/* Workstations' boards lack it. */
EXPORTED int nvmlDeviceGetTotalEccErrors(void *device, int type, int since, unsigned long long *count)
{
    *count = type == 0 ? 12 : 1;
    return getenv("FAKE_NVML_PLAIN") || since != 0 ? NOT_SUPPORTED : slowly();
}

EXPORTED int nvmlDeviceGetPcieReplayCounter(void *device, unsigned *count)
{
    *count = 3;
    return slowly();
}

EXPORTED int nvmlDeviceGetSerial(void *device, char *serial, unsigned bytes)
{
    snprintf(serial, bytes, "1653724000314");
    return getenv("FAKE_NVML_PLAIN") ? NOT_SUPPORTED : slowly();
}

EXPORTED int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
    *reasons = is_status("limited") ? 0x4 : is_status("hot") ? 0x40 : is_status("old-slow") ? 0x8 : 0x1;
    return slowly();
}

EXPORTED int nvmlDeviceGetRemappedRows(void *device, unsigned *corrected, unsigned *uncorrected,
                                       unsigned *is_pending, unsigned *has_failed)
{
    *corrected = *uncorrected = 0;
    *is_pending = is_status("pending");
    *has_failed = is_status("worn");
    return is_status("old-slow") ? NOT_SUPPORTED : slowly();
}

/* Without NVLinks: not supported. Beyond the last link: invalid. `end` has 8 bytes. */
static int find_link(unsigned link, char *end)
{
    const char *links = getenv("FAKE_NVML_LINKS");
    slowly();
    if (!links || !*links)
        return NOT_SUPPORTED;
    if (strcmp(links, "broken") == 0)
        return UNKNOWN;
    while (link-- > 0) {
        links = strchr(links, ' ');
        if (!links++)
            return INVALID;
    }
    snprintf(end, 8, "%.*s", (int)strcspn(links, " "), links);
    return 0;
}

EXPORTED int nvmlDeviceGetNvLinkState(void *device, unsigned link, int *is_active)
{
    char end[8] = "";
    int result = find_link(link, end);
    *is_active = strcmp(end, "--") != 0;
    return result;
}

EXPORTED int nvmlDeviceGetNvLinkVersion(void *device, unsigned link, unsigned *version)
{
    char end[8];
    *version = 4;
    return find_link(link, end);
}

EXPORTED int nvmlDeviceGetNvLinkRemoteDeviceType(void *device, unsigned link, int *type)
{
    char end[8] = "";
    int result = find_link(link, end);
    *type = strcmp(end, "switch") == 0 ? 2 : 0;
    return result;
}

struct event {
    void *device;
    unsigned long long type, data;
    unsigned instances[2];
};

EXPORTED int nvmlEventSetCreate(void **set)
{
    *set = &gpu;
    return getenv("FAKE_NVML_PLAIN") ? NOT_SUPPORTED : slowly();
}

EXPORTED int nvmlDeviceRegisterEvents(void *device, unsigned long long types, void *set)
{
    return types == 0x8 && set == &gpu ? slowly() : INVALID;
}

/* FAKE_NVML_XIDS: numbers of errors, separated by spaces. Each comes once, after GPUs were registered. */
EXPORTED int nvmlEventSetWait_v2(void *set, struct event *event, unsigned timeout_ms)
{
    static size_t at;
    const char *xids = getenv("FAKE_NVML_XIDS");
    char *end;
    if (!xids || at >= strlen(xids))
        return TIMEOUT;
    *event = (struct event){.device = &gpu, .type = 0x8, .data = strtoull(xids + at, &end, 10)};
    at = (size_t)(end - xids);
    return timeout_ms == 0 ? 0 : INVALID;
}

struct pci {
    char short_address[16];
    unsigned numbers[5];
    char address[32];
};

EXPORTED int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned link, struct pci *pci)
{
    char end[8];
    snprintf(pci->short_address, sizeof pci->short_address, "0000:43:00.0");
    snprintf(pci->address, sizeof pci->address, "00000000:43:00.0");
    return find_link(link, end);
}

EXPORTED int nvmlDeviceGetPciInfo_v3(void *device, struct pci *pci)
{
    snprintf(pci->short_address, sizeof pci->short_address, "0000:1B:00.0");
    snprintf(pci->address, sizeof pci->address, "00000000:1B:00.0");
    return slowly();
}

struct field {
    unsigned id, scope;
    long long timestamp, latency;
    int type, result;
    unsigned long long value;
};

EXPORTED int nvmlDeviceGetFieldValues(void *device, int count, struct field *fields)
{
    for (int i = 0; i < count; i++) {
        bool is_temperature = fields[i].id == 82 && !getenv("FAKE_NVML_PLAIN");
        bool is_action = fields[i].id == 230 && !getenv("FAKE_NVML_PLAIN");
        fields[i].result = fields[i].id == 90 || is_temperature || is_action ? 0 : NOT_SUPPORTED;
        fields[i].type = 1;
        fields[i].value = is_temperature ? 61 : is_action ? is_status("broken") : 26562;
    }
    return slowly();
}
