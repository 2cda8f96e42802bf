#include "capture/nvml.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/own_thread.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define LIBRARY     "libnvidia-ml.so.1"
#define STACK_BYTES (256 * 1024)
#define END_NS      (50 * NS_PER_MS)
#define GPU_SENSOR  0 /* NVML_TEMPERATURE_GPU */

/* NVML's structs, of which the versions that are asked for never change. */
struct nvml_utilization {
    unsigned gpu, memory; /* percent */
};
struct nvml_memory {
    unsigned long long total, unused, used;
};

/* Each answers 0 when it has what was asked for; NULL: this driver hasn't got it. */
struct nvml {
    int (*init)(void);
    int (*handle_by_uuid)(const char *uuid, void **device);
    int (*name)(void *device, char *name, unsigned bytes);
    int (*utilization)(void *device, struct nvml_utilization *utilization);
    int (*memory)(void *device, struct nvml_memory *memory);
    int (*temperature)(void *device, int sensor, unsigned *celsius);
    int (*power)(void *device, unsigned *milliwatts);
    int (*energy)(void *device, unsigned long long *millijoules);
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool has_thread, is_ending, is_asked, has_ended, has_answer;
    struct hardware asked, answer;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static bool load(struct nvml *nvml)
{
    const struct {
        void *function;
        const char *name;
    } symbols[] = {{&nvml->init, "nvmlInit_v2"},
                   {&nvml->handle_by_uuid, "nvmlDeviceGetHandleByUUID"},
                   {&nvml->name, "nvmlDeviceGetName"},
                   {&nvml->utilization, "nvmlDeviceGetUtilizationRates"},
                   {&nvml->memory, "nvmlDeviceGetMemoryInfo"},
                   {&nvml->temperature, "nvmlDeviceGetTemperature"},
                   {&nvml->power, "nvmlDeviceGetPowerUsage"},
                   {&nvml->energy, "nvmlDeviceGetTotalEnergyConsumption"}};
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        log_info("metrics have no hw.*: %s can't be loaded", LIBRARY);
        return false;
    }
    for (unsigned i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *found = dlsym(library, symbols[i].name);
        memcpy(symbols[i].function, &found, sizeof found);
    }
    int result = nvml->init && nvml->handle_by_uuid ? nvml->init() : -1;
    if (result != 0)
        log_info("metrics have no hw.*: NVML doesn't begin (%d)", result);
    return result == 0;
}

static void ask_device(const struct nvml *nvml, void *device, struct gpu_hardware *gpu)
{
    struct nvml_utilization utilization;
    struct nvml_memory memory;
    unsigned number;
    unsigned long long energy;
    if (!nvml->name || nvml->name(device, gpu->name, sizeof gpu->name) != 0)
        gpu->name[0] = '\0';
    gpu->name[sizeof gpu->name - 1] = '\0';
    if (nvml->utilization && nvml->utilization(device, &utilization) == 0) {
        gpu->utilization = utilization.gpu / 100.0;
        gpu->present |= HARDWARE_UTILIZATION;
    }
    if (nvml->memory && nvml->memory(device, &memory) == 0) {
        gpu->memory_bytes = memory.total;
        gpu->memory_used_bytes = memory.used;
        gpu->present |= HARDWARE_MEMORY;
    }
    if (nvml->temperature && nvml->temperature(device, GPU_SENSOR, &number) == 0) {
        gpu->temperature_celsius = number;
        gpu->present |= HARDWARE_TEMPERATURE;
    }
    if (nvml->power && nvml->power(device, &number) == 0) {
        gpu->power_watts = number / 1000.0;
        gpu->present |= HARDWARE_POWER;
    }
    if (nvml->energy && nvml->energy(device, &energy) == 0) {
        gpu->energy_joules = (double)energy / 1000.0;
        gpu->present |= HARDWARE_ENERGY;
    }
}

static void ask_all(const struct nvml *nvml, struct hardware *hardware)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < hardware->count; i++) {
        struct gpu_hardware gpu = {.present = 0};
        void *device;
        memcpy(gpu.id, hardware->gpus[i].id, sizeof gpu.id);
        if (nvml->handle_by_uuid(gpu.id, &device) != 0)
            continue;
        ask_device(nvml, device, &gpu);
        hardware->gpus[count++] = gpu;
    }
    hardware->count = count;
}

static bool wait_until_asked(struct hardware *asked)
{
    pthread_mutex_lock(&state.lock);
    while (!state.is_asked && !state.is_ending)
        pthread_cond_wait(&state.changed, &state.lock);
    bool goes_on = !state.is_ending;
    state.is_asked = false;
    *asked = state.asked;
    pthread_mutex_unlock(&state.lock);
    return goes_on;
}

static void *run(void *unused)
{
    struct nvml nvml = {NULL};
    struct hardware hardware;
    pthread_setname_np(pthread_self(), "cuspan/nvml");
    if (load(&nvml)) {
        while (wait_until_asked(&hardware)) {
            ask_all(&nvml, &hardware);
            pthread_mutex_lock(&state.lock);
            state.answer = hardware;
            state.has_answer = true;
            pthread_mutex_unlock(&state.lock);
        }
    }
    pthread_mutex_lock(&state.lock);
    state.has_ended = true;
    pthread_cond_broadcast(&state.changed);
    pthread_mutex_unlock(&state.lock);
    return unused;
}

void nvml_ask(const char (*ids)[HARDWARE_ID_BYTES], uint32_t count)
{
    pthread_mutex_lock(&state.lock);
    state.asked.count = count < HARDWARE_GPUS_MAX ? count : HARDWARE_GPUS_MAX;
    for (uint32_t i = 0; i < state.asked.count; i++)
        memcpy(state.asked.gpus[i].id, ids[i], sizeof state.asked.gpus[i].id);
    state.is_asked = true;
    if (!state.has_thread && !state.is_ending)
        state.has_thread = own_thread_start(&state.thread, STACK_BYTES, run, NULL) == 0;
    pthread_cond_broadcast(&state.changed);
    pthread_mutex_unlock(&state.lock);
}

bool nvml_take(struct hardware *hardware)
{
    pthread_mutex_lock(&state.lock);
    bool has_answer = state.has_answer;
    if (has_answer)
        *hardware = state.answer;
    pthread_mutex_unlock(&state.lock);
    return has_answer;
}

void nvml_end(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + END_NS;
    until.tv_sec += (time_t)(ns / NS_PER_SECOND);
    until.tv_nsec = (long)(ns % NS_PER_SECOND);
    pthread_mutex_lock(&state.lock);
    state.is_ending = true;
    pthread_cond_broadcast(&state.changed);
    bool in_time = true;
    while (state.has_thread && !state.has_ended && in_time)
        in_time = pthread_cond_timedwait(&state.changed, &state.lock, &until) == 0;
    bool has_ended = state.has_ended;
    bool had_thread = state.has_thread;
    state.has_thread = false;
    pthread_mutex_unlock(&state.lock);
    if (!had_thread)
        return;
    if (has_ended)
        pthread_join(state.thread, NULL);
    else
        pthread_detach(state.thread);
}
