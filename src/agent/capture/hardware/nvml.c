#include "agent/capture/hardware/nvml.h"

#include "base/clock.h"
#include "base/log/log.h"
#include "base/process/agent_thread.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define LIBRARY     "libnvidia-ml.so.1"
#define STACK_BYTES (256 * 1024)
#define END_NS      (50 * NS_PER_MS)
#define LOCK_TRIES  50 /* of 1 ms */
#define GPU_SENSOR  0  /* NVML_TEMPERATURE_GPU */

#define ECC_CORRECTED   0 /* NVML_MEMORY_ERROR_TYPE_CORRECTED */
#define ECC_UNCORRECTED 1 /* NVML_MEMORY_ERROR_TYPE_UNCORRECTED */
#define SINCE_LOADED    0 /* NVML_VOLATILE_ECC: since the driver was loaded */

#define SLOWED_DOWN                                                                                          \
    (HARDWARE_SLOW_HW | HARDWARE_SLOW_SW_THERMAL | HARDWARE_SLOW_HW_THERMAL | HARDWARE_SLOW_POWER_BRAKE)
#define XID_EVENTS  0x8ull /* nvmlEventTypeXidCriticalError */
#define EVENTS_ONCE 256    /* taken at once */

#define FIELD_MEMORY_TEMPERATURE 82  /* NVML_FI_DEV_MEMORY_TEMP */
#define FIELD_NVLINK_SPEED       90  /* NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON: of one active link, MB/s */
#define FIELD_RECOVERY_ACTION    230 /* NVML_FI_DEV_GET_GPU_RECOVERY_ACTION; 0: none */
#define VALUE_UNSIGNED           1   /* NVML_VALUE_TYPE_UNSIGNED_INT */
#define REMOTE_SWITCH            2   /* NVML_NVLINK_DEVICE_TYPE_SWITCH */
#define NVML_NOT_SUPPORTED       3
#define NVML_GPU_IS_LOST         15
#define BYTES_PER_S_OF_MBPS      1000000u

/* NVML's structs, in versions that never change. */
struct nvml_utilization {
    unsigned gpu, memory; /* percent */
};
struct nvml_memory {
    unsigned long long total, unused, used;
};

struct nvml_event {
    void *device;
    unsigned long long type, data; /* of XID_EVENTS the number */
    unsigned gpu_instance, compute_instance;
};

struct nvml_field {
    unsigned id, scope;
    long long timestamp, latency_us;
    int type, result;
    union {
        unsigned number;
        unsigned long long widest;
    } value;
};
struct nvml_pci {
    char short_address[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char address[32];
};

/* NVML's functions; each returns 0 on success. */
#define NVML_CALLS(X)                                                                                        \
    X(init, "nvmlInit_v2", (void))                                                                           \
    X(handle_by_uuid, "nvmlDeviceGetHandleByUUID", (const char *uuid, void **device))                        \
    X(name, "nvmlDeviceGetName", (void *device, char *name, unsigned bytes))                                 \
    X(utilization, "nvmlDeviceGetUtilizationRates", (void *device, struct nvml_utilization *utilization))    \
    X(memory, "nvmlDeviceGetMemoryInfo", (void *device, struct nvml_memory *memory))                         \
    X(temperature, "nvmlDeviceGetTemperature", (void *device, int sensor, unsigned *celsius))                \
    X(power, "nvmlDeviceGetPowerUsage", (void *device, unsigned *milliwatts))                                \
    X(energy, "nvmlDeviceGetTotalEnergyConsumption", (void *device, unsigned long long *millijoules))        \
    X(serial, "nvmlDeviceGetSerial", (void *device, char *serial, unsigned bytes))                           \
    X(ecc_errors, "nvmlDeviceGetTotalEccErrors",                                                             \
      (void *device, int type, int since, unsigned long long *count))                                        \
    X(pcie_replays, "nvmlDeviceGetPcieReplayCounter", (void *device, unsigned *count))                       \
    X(slowdowns, "nvmlDeviceGetCurrentClocksThrottleReasons", (void *device, unsigned long long *reasons))   \
    X(remapped_rows, "nvmlDeviceGetRemappedRows",                                                            \
      (void *device, unsigned *corrected, unsigned *uncorrected, unsigned *is_pending,                       \
       unsigned *has_failed))                                                                                \
    X(event_set, "nvmlEventSetCreate", (void **set))                                                         \
    X(register_events, "nvmlDeviceRegisterEvents", (void *device, unsigned long long types, void *set))      \
    X(wait_event, "nvmlEventSetWait_v2", (void *set, struct nvml_event *event, unsigned timeout_ms))         \
    X(pci, "nvmlDeviceGetPciInfo_v3", (void *device, struct nvml_pci *pci))                                  \
    X(fields, "nvmlDeviceGetFieldValues", (void *device, int count, struct nvml_field *fields))              \
    X(link_state, "nvmlDeviceGetNvLinkState", (void *device, unsigned link, int *is_active))                 \
    X(link_version, "nvmlDeviceGetNvLinkVersion", (void *device, unsigned link, unsigned *version))          \
    X(link_remote_type, "nvmlDeviceGetNvLinkRemoteDeviceType", (void *device, unsigned link, int *type))     \
    X(link_remote_pci, "nvmlDeviceGetNvLinkRemotePciInfo_v2",                                                \
      (void *device, unsigned link, struct nvml_pci *pci))

/* NVML's functions in this driver; a member is NULL if the driver lacks the function. */
struct nvml {
#define MEMBER(call, symbol, params) int(*call) params;
    NVML_CALLS(MEMBER)
#undef MEMBER
};

/* The thread's pending requests, each queried separately. */
struct question {
    bool wants_hardware, wants_links;
    struct hardware hardware;
    uint32_t link_count;
    struct device_links links[HARDWARE_GPUS_MAX];
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool has_thread, is_ending, has_answer, has_links;
    struct question asked, answer;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static bool load(struct nvml *nvml)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        log_info("no hw.* metrics and no NVLink data: cannot load %s", LIBRARY);
        return false;
    }
#define FIND(call, symbol, params) *(void **)&nvml->call = dlsym(library, symbol);
    NVML_CALLS(FIND)
#undef FIND
    int result = nvml->init && nvml->handle_by_uuid ? nvml->init() : -1;
    if (result != 0)
        log_info("no hw.* metrics and no NVLink data: nvmlInit failed (%d)", result);
    return result == 0;
}

static void set(struct gpu_hardware *gpu, enum hardware_field field, double value)
{
    gpu->values[field] = value;
    gpu->present |= 1u << field;
}

static void ask_text(int (*call)(void *device, char *text, unsigned bytes), void *device, char *text,
                     unsigned bytes)
{
    if (!call || call(device, text, bytes) != 0)
        text[0] = '\0';
    text[bytes - 1] = '\0';
}

static bool ask_field(const struct nvml *nvml, void *device, unsigned id, unsigned *number)
{
    struct nvml_field field = {.id = id};
    bool is_known = nvml->fields && nvml->fields(device, 1, &field) == 0 && field.result == 0 &&
                    field.type == VALUE_UNSIGNED;
    *number = field.value.number;
    return is_known;
}

static void ask_loads(const struct nvml *nvml, void *device, struct gpu_hardware *gpu)
{
    struct nvml_utilization utilization;
    struct nvml_memory memory;
    if (nvml->utilization && nvml->utilization(device, &utilization) == 0)
        set(gpu, HARDWARE_UTILIZATION, utilization.gpu / 100.0);
    if (nvml->memory && nvml->memory(device, &memory) == 0) {
        set(gpu, HARDWARE_MEMORY_LIMIT, (double)memory.total);
        set(gpu, HARDWARE_MEMORY_USAGE, (double)memory.used);
        set(gpu, HARDWARE_MEMORY_UTILIZATION, memory.total ? (double)memory.used / (double)memory.total : 0);
    }
}

static void ask_sensors(const struct nvml *nvml, void *device, struct gpu_hardware *gpu)
{
    unsigned number;
    unsigned long long energy;
    if (nvml->temperature && nvml->temperature(device, GPU_SENSOR, &number) == 0)
        set(gpu, HARDWARE_TEMPERATURE, number);
    if (ask_field(nvml, device, FIELD_MEMORY_TEMPERATURE, &number))
        set(gpu, HARDWARE_MEMORY_TEMPERATURE, number);
    if (nvml->power && nvml->power(device, &number) == 0)
        set(gpu, HARDWARE_POWER, number / 1000.0);
    if (nvml->energy && nvml->energy(device, &energy) == 0)
        set(gpu, HARDWARE_ENERGY, (double)energy / 1000.0);
}

static void ask_errors(const struct nvml *nvml, void *device, struct gpu_hardware *gpu)
{
    unsigned long long count;
    unsigned replays;
    if (nvml->ecc_errors && nvml->ecc_errors(device, ECC_CORRECTED, SINCE_LOADED, &count) == 0)
        set(gpu, HARDWARE_ECC_CORRECTED, (double)count);
    if (nvml->ecc_errors && nvml->ecc_errors(device, ECC_UNCORRECTED, SINCE_LOADED, &count) == 0)
        set(gpu, HARDWARE_ECC_UNCORRECTED, (double)count);
    if (nvml->pcie_replays && nvml->pcie_replays(device, &replays) == 0)
        set(gpu, HARDWARE_PCIE_REPLAYS, replays);
}

static void set_status(struct gpu_hardware *gpu, enum hardware_field status)
{
    for (enum hardware_field i = HARDWARE_OK; i <= HARDWARE_FAILED; i++)
        set(gpu, i, i == status);
}

/* Failed: needs a reset or more, or no row of the memory is left for one with errors. Degraded: slowed down,
 * or a row is replaced at the GPU's next reset. Unknown if NVML says none of it. */
static void ask_status(const struct nvml *nvml, void *device, struct gpu_hardware *gpu)
{
    unsigned corrected, uncorrected, is_pending = 0, has_failed = 0, action = 0;
    unsigned long long reasons = 0;
    bool has_rows = nvml->remapped_rows &&
                    nvml->remapped_rows(device, &corrected, &uncorrected, &is_pending, &has_failed) == 0;
    bool has_clocks = nvml->slowdowns && nvml->slowdowns(device, &reasons) == 0;
    bool has_action = ask_field(nvml, device, FIELD_RECOVERY_ACTION, &action);
    gpu->slowdowns = has_clocks ? (uint32_t)reasons & SLOWED_DOWN : 0;
    if ((has_rows && has_failed) || (has_action && action))
        set_status(gpu, HARDWARE_FAILED);
    else if ((has_rows && is_pending) || (has_clocks && reasons & SLOWED_DOWN))
        set_status(gpu, HARDWARE_DEGRADED);
    else if (has_rows || has_clocks || has_action)
        set_status(gpu, HARDWARE_OK);
}

/* Errors that the driver reports. NVML keeps them until they are taken. Only for the thread. */

static struct {
    void *events; /* NULL: no such events */
    uint32_t count;
    struct watched {
        char id[HARDWARE_ID_BYTES];
        void *device;
        uint32_t xids, last;
    } gpus[HARDWARE_GPUS_MAX];
} watched;

static struct watched *find_watched(const char *id)
{
    for (uint32_t i = 0; i < watched.count; i++)
        if (strcmp(watched.gpus[i].id, id) == 0)
            return &watched.gpus[i];
    return NULL;
}

static void watch_events(const struct nvml *nvml, void *device, const char *id)
{
    static bool is_tried;
    if (!is_tried && nvml->event_set && nvml->register_events && nvml->wait_event &&
        nvml->event_set(&watched.events) != 0)
        watched.events = NULL;
    is_tried = true;
    if (!watched.events || find_watched(id) || watched.count == HARDWARE_GPUS_MAX ||
        nvml->register_events(device, XID_EVENTS, watched.events) != 0)
        return;
    struct watched *added = &watched.gpus[watched.count++];
    *added = (struct watched){.device = device};
    memcpy(added->id, id, sizeof added->id);
}

static void take_events(const struct nvml *nvml)
{
    struct nvml_event event;
    for (int n = 0; watched.count && n < EVENTS_ONCE && nvml->wait_event(watched.events, &event, 0) == 0; n++)
        for (uint32_t i = 0; i < watched.count; i++)
            if (watched.gpus[i].device == event.device && event.type == XID_EVENTS) {
                watched.gpus[i].xids++;
                watched.gpus[i].last = (uint32_t)event.data;
            }
}

static void set_events(struct gpu_hardware *gpu)
{
    const struct watched *found = find_watched(gpu->id);
    if (!found)
        return;
    set(gpu, HARDWARE_XIDS, found->xids);
    gpu->last_xid = found->last;
}

static void ask_device(const struct nvml *nvml, void *device, struct gpu_hardware *gpu)
{
    ask_text(nvml->name, device, gpu->name, sizeof gpu->name);
    ask_text(nvml->serial, device, gpu->serial, sizeof gpu->serial);
    ask_loads(nvml, device, gpu);
    ask_sensors(nvml, device, gpu);
    ask_errors(nvml, device, gpu);
    ask_status(nvml, device, gpu);
}

static void ask_all(const struct nvml *nvml, struct hardware *hardware)
{
    uint32_t count = 0;
    take_events(nvml);
    for (uint32_t i = 0; i < hardware->count; i++) {
        struct gpu_hardware gpu = {.present = 0};
        void *device;
        memcpy(gpu.id, hardware->gpus[i].id, sizeof gpu.id);
        int result = nvml->handle_by_uuid(gpu.id, &device);
        if (result == 0)
            watch_events(nvml, device, gpu.id);
        if (result == NVML_GPU_IS_LOST)
            set_status(&gpu, HARDWARE_FAILED);
        else if (result == 0)
            ask_device(nvml, device, &gpu);
        else
            continue;
        set_events(&gpu);
        hardware->gpus[count++] = gpu;
    }
    hardware->count = count;
}

static void ask_end(const struct nvml *nvml, void *device, unsigned link, char end[LINKS_ADDRESS_BYTES])
{
    struct nvml_pci pci = {.domain = 0};
    int type;
    if (nvml->link_remote_type && nvml->link_remote_type(device, link, &type) == 0 && type == REMOTE_SWITCH)
        memcpy(end, LINKS_END_SWITCH, sizeof LINKS_END_SWITCH);
    else if (nvml->link_remote_pci && nvml->link_remote_pci(device, link, &pci) == 0)
        links_address(pci.address, end);
}

/* Queries the GPU's NVLinks. A GPU without NVLinks returns "not supported" for link 0. The link after the
 * last returns "invalid". */
static void ask_nvlinks(const struct nvml *nvml, void *device, struct device_links *links)
{
    unsigned speed;
    for (unsigned link = 0; nvml->link_state && link < LINKS_NVLINKS_MAX; link++) {
        int is_active = 0, result = nvml->link_state(device, link, &is_active);
        links->has_nvlinks |= result == 0 || result == NVML_NOT_SUPPORTED;
        if (result != 0)
            break;
        if (!is_active)
            continue;
        if (nvml->link_version && !links->nvlink_version &&
            nvml->link_version(device, link, &links->nvlink_version) != 0)
            links->nvlink_version = 0;
        ask_end(nvml, device, link, links->nvlink_ends[links->nvlink_count++]);
    }
    if (links->nvlink_count && ask_field(nvml, device, FIELD_NVLINK_SPEED, &speed))
        links->nvlink_bytes_per_s = (uint64_t)speed * BYTES_PER_S_OF_MBPS;
}

static void ask_links(const struct nvml *nvml, struct question *question)
{
    for (uint32_t i = 0; i < question->link_count; i++) {
        struct device_links *links = &question->links[i];
        struct nvml_pci pci = {.domain = 0};
        void *device;
        if (nvml->handle_by_uuid(links->id, &device) != 0)
            continue;
        if (nvml->pci && nvml->pci(device, &pci) == 0)
            links_address(pci.address, links->address);
        ask_nvlinks(nvml, device, links);
    }
}

static bool wait_until_asked(struct question *asked)
{
    pthread_mutex_lock(&state.lock);
    while (!state.asked.wants_hardware && !state.asked.wants_links && !state.is_ending)
        pthread_cond_wait(&state.changed, &state.lock);
    bool goes_on = !state.is_ending;
    *asked = state.asked;
    state.asked.wants_hardware = state.asked.wants_links = false;
    pthread_mutex_unlock(&state.lock);
    return goes_on;
}

static void answer(const struct question *question)
{
    pthread_mutex_lock(&state.lock);
    if (question->wants_hardware) {
        state.answer.hardware = question->hardware;
        state.has_answer = true;
    }
    if (question->wants_links) {
        memcpy(state.answer.links, question->links, sizeof state.answer.links);
        state.answer.link_count = question->link_count;
        state.has_links = true;
    }
    pthread_mutex_unlock(&state.lock);
}

static void *run(void *unused)
{
    static struct question question; /* static: too large for this stack, and there is one thread */
    struct nvml nvml = {NULL};
    pthread_setname_np(pthread_self(), "cuspan/nvml");
    if (load(&nvml)) {
        while (wait_until_asked(&question)) {
            if (question.wants_links)
                ask_links(&nvml, &question);
            if (question.wants_hardware)
                ask_all(&nvml, &question.hardware);
            answer(&question);
        }
    }
    return unused;
}

static void wake_locked(void)
{
    if (!state.has_thread && !state.is_ending)
        state.has_thread = agent_thread_start(&state.thread, STACK_BYTES, run, NULL) == 0;
    pthread_cond_broadcast(&state.changed);
}

void nvml_ask(const char (*ids)[HARDWARE_ID_BYTES], uint32_t count)
{
    struct hardware *asked = &state.asked.hardware;
    pthread_mutex_lock(&state.lock);
    asked->count = count < HARDWARE_GPUS_MAX ? count : HARDWARE_GPUS_MAX;
    for (uint32_t i = 0; i < asked->count; i++)
        memcpy(asked->gpus[i].id, ids[i], sizeof asked->gpus[i].id);
    state.asked.wants_hardware = true;
    wake_locked();
    pthread_mutex_unlock(&state.lock);
}

/* The hang watch must not wait for a thread that hangs in malloc while it starts ours. */
static bool lock_soon(void)
{
    for (int n = 0; n < LOCK_TRIES; n++) {
        if (pthread_mutex_trylock(&state.lock) == 0)
            return true;
        nanosleep(&(struct timespec){0, (long)NS_PER_MS}, NULL);
    }
    return false;
}

void nvml_ask_again(void)
{
    if (!lock_soon())
        return;
    state.asked.wants_hardware |= state.has_thread && state.asked.hardware.count;
    pthread_cond_broadcast(&state.changed);
    pthread_mutex_unlock(&state.lock);
}

bool nvml_take(struct hardware *hardware)
{
    if (!lock_soon())
        return false;
    bool has_answer = state.has_answer;
    if (has_answer)
        *hardware = state.answer.hardware;
    pthread_mutex_unlock(&state.lock);
    return has_answer;
}

void nvml_ask_links(const struct device_links *devices, uint32_t count)
{
    pthread_mutex_lock(&state.lock);
    state.asked.link_count = count < HARDWARE_GPUS_MAX ? count : HARDWARE_GPUS_MAX;
    memset(state.asked.links, 0, sizeof state.asked.links);
    for (uint32_t i = 0; i < state.asked.link_count; i++)
        memcpy(state.asked.links[i].id, devices[i].id, sizeof devices[i].id);
    state.asked.wants_links = true;
    wake_locked();
    pthread_mutex_unlock(&state.lock);
}

uint32_t nvml_take_links(struct device_links *devices)
{
    pthread_mutex_lock(&state.lock);
    uint32_t count = state.has_links ? state.answer.link_count : 0;
    memcpy(devices, state.answer.links, count * sizeof *devices);
    state.has_links = false;
    pthread_mutex_unlock(&state.lock);
    return count;
}

void nvml_end(void)
{
    pthread_mutex_lock(&state.lock);
    state.is_ending = true;
    pthread_cond_broadcast(&state.changed);
    bool had_thread = state.has_thread;
    state.has_thread = false;
    pthread_mutex_unlock(&state.lock);
    if (had_thread)
        (void)agent_thread_end(state.thread, END_NS);
}
