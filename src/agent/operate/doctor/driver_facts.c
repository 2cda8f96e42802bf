#include "agent/operate/doctor/driver_facts.h"

#include "agent/operate/doctor/doctor_facts.h"
#include "cli/util/xalloc.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRIVER_TIMEOUT_MS 30000 /* a driver that loads firmware takes seconds */

static void save_path(void *library, struct driver_facts *facts)
{
    struct link_map *map = NULL;
    char real[PATH_MAX];
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map && realpath(map->l_name, real))
        snprintf(facts->path, sizeof facts->path, "%.*s", (int)sizeof facts->path - 1, real);
}

static void *open_driver(struct driver_facts *facts)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    facts->is_found = library != NULL;
    if (!library)
        snprintf(facts->error, sizeof facts->error, "%s", dlerror());
    return library;
}

static void query_driver(const void *query, void *answer)
{
    struct driver_facts *facts = answer;
    void *library = open_driver(facts);
    if (!library)
        return;
    int (*get_version)(int *) = (int (*)(int *))dlsym(library, "cuDriverGetVersion");
    save_path(library, facts);
    if (!get_version || get_version(&facts->version) != 0)
        facts->version = 0;
}

static void start_driver(const void *query, void *answer)
{
    struct driver_facts *facts = answer;
    void *library = open_driver(facts);
    if (!library)
        return;
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(library, "cuInit");
    int (*count)(int *) = (int (*)(int *))dlsym(library, "cuDeviceGetCount");
    int (*name_of)(int, const char **) = (int (*)(int, const char **))dlsym(library, "cuGetErrorName");
    const char *name = NULL;
    if (!init)
        return;
    facts->result = init(0);
    facts->has_started = true;
    if (name_of && name_of(facts->result, &name) == 0 && name)
        snprintf(facts->result_name, sizeof facts->result_name, "%s", name);
    if (facts->result == 0 && count)
        (void)count(&facts->devices);
}

/* Two child processes: a driver that crashes in cuInit still has its path and version reported. */
const struct driver_facts *driver_facts(struct doctor *doctor)
{
    struct driver_facts started;
    if (doctor->driver)
        return doctor->driver;
    struct driver_facts *facts = doctor->driver = xcalloc(1, sizeof *facts);
    if (!probe_child_run(query_driver, NULL, facts, sizeof *facts, DRIVER_TIMEOUT_MS, facts->failure) ||
        !facts->is_found)
        return facts;
    char failure[64];
    if (probe_child_run(start_driver, NULL, &started, sizeof started, DRIVER_TIMEOUT_MS, failure)) {
        facts->has_started = started.has_started;
        facts->result = started.result;
        facts->devices = started.devices;
        memcpy(facts->result_name, started.result_name, sizeof facts->result_name);
    }
    memcpy(facts->failure, failure, sizeof failure);
    return facts;
}

struct nvml {
    void *library;
    int (*init)(void);
    int (*driver_version)(char *, unsigned);
    int (*count)(unsigned *);
    int (*handle)(unsigned, void **);
    int (*name)(void *, char *, unsigned);
    int (*compute_mode)(void *, unsigned *);
    int (*mig_mode)(void *, unsigned *, unsigned *);
    int (*mig_count)(void *, unsigned *);
    int (*mig_handle)(void *, unsigned, void **);
    const char *(*error)(int);
};

static void resolve(struct nvml *nvml)
{
    const struct {
        void *to;
        const char *name;
    } symbols[] = {{&nvml->init, "nvmlInit_v2"},
                   {&nvml->driver_version, "nvmlSystemGetDriverVersion"},
                   {&nvml->count, "nvmlDeviceGetCount_v2"},
                   {&nvml->handle, "nvmlDeviceGetHandleByIndex_v2"},
                   {&nvml->name, "nvmlDeviceGetName"},
                   {&nvml->compute_mode, "nvmlDeviceGetComputeMode"},
                   {&nvml->mig_mode, "nvmlDeviceGetMigMode"},
                   {&nvml->mig_count, "nvmlDeviceGetMaxMigDeviceCount"},
                   {&nvml->mig_handle, "nvmlDeviceGetMigDeviceHandleByIndex"},
                   {&nvml->error, "nvmlErrorString"}};
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *found = dlsym(nvml->library, symbols[i].name);
        memcpy(symbols[i].to, &found, sizeof found);
    }
}

static void query_mig(const struct nvml *nvml, void *handle, struct nvml_device *device)
{
    unsigned pending = 0, places = 0;
    void *instance;
    device->has_mig = nvml->mig_mode && nvml->mig_mode(handle, &device->mig, &pending) == 0;
    if (!device->has_mig || !device->mig || !nvml->mig_count || !nvml->mig_handle ||
        nvml->mig_count(handle, &places) != 0)
        return;
    for (unsigned i = 0; i < places; i++)
        device->instances += nvml->mig_handle(handle, i, &instance) == 0;
}

static void query_devices(const struct nvml *nvml, struct nvml_facts *facts)
{
    for (unsigned i = 0; i < facts->count && i < NVML_DEVICES_MAX; i++) {
        struct nvml_device *device = &facts->devices[i];
        void *handle;
        if (!nvml->handle || nvml->handle(i, &handle) != 0)
            continue;
        if (nvml->name)
            (void)nvml->name(handle, device->name, sizeof device->name);
        if (nvml->compute_mode && nvml->compute_mode(handle, &device->compute_mode) != 0)
            device->compute_mode = 0;
        query_mig(nvml, handle, device);
    }
}

static void query_nvml(const void *query, void *answer)
{
    struct nvml_facts *facts = answer;
    struct nvml nvml = {.library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)};
    facts->is_found = nvml.library != NULL;
    if (!facts->is_found) {
        snprintf(facts->error, sizeof facts->error, "%s", dlerror());
        return;
    }
    resolve(&nvml);
    int result = nvml.init ? nvml.init() : -1;
    facts->works = result == 0 && nvml.count && nvml.count(&facts->count) == 0;
    if (result != 0)
        snprintf(facts->error, sizeof facts->error, "nvmlInit: %s",
                 nvml.init && nvml.error ? nvml.error(result) : "missing in libnvidia-ml.so.1");
    if (!facts->works)
        return;
    if (nvml.driver_version)
        (void)nvml.driver_version(facts->driver, sizeof facts->driver);
    query_devices(&nvml, facts);
}

const struct nvml_facts *nvml_facts(struct doctor *doctor)
{
    char failure[64];
    if (doctor->nvml)
        return doctor->nvml;
    struct nvml_facts *facts = doctor->nvml = xcalloc(1, sizeof *facts);
    if (!probe_child_run(query_nvml, NULL, facts, sizeof *facts, DRIVER_TIMEOUT_MS, failure))
        snprintf(facts->error, sizeof facts->error, "NVML: %s", failure);
    return facts;
}
