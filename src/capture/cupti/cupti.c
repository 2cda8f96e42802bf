#include "capture/cupti/cupti.h"

#include "base/log.h"

#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The search stops at a CUPTI this new: opening one takes milliseconds, and later ones add nothing we
 * need. */
#define VERSION_GOOD_ENOUGH CUPTI_VERSION_SUBSCRIBER_API

#define CANDIDATES_MAX 16

struct candidates {
    size_t count;
    char paths[CANDIDATES_MAX][512];
};

static void add_candidate(struct candidates *list, const char *format, ...) PRINTF_LIKE(2, 3);
static void add_candidate(struct candidates *list, const char *format, ...)
{
    if (list->count == CANDIDATES_MAX)
        return;
    char *path = list->paths[list->count];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(path, sizeof list->paths[0], format, args);
    va_end(args);
    if (length <= 0 || (size_t)length >= sizeof list->paths[0] || access(path, R_OK) != 0)
        return;
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->paths[i], path) == 0)
            return;
    list->count++;
}

/* File names of CUPTI in a folder. */
static void add_folder(struct candidates *list, const char *folder, int folder_length)
{
    add_candidate(list, "%.*s/libcupti.so.13", folder_length, folder);
    add_candidate(list, "%.*s/libcupti.so.12", folder_length, folder);
}

/* A loaded CUDA library hints at its CUPTI: itself, its folder, or the neighboring Python package
 * (nvidia/cuda_runtime/lib has nvidia/cuda_cupti/lib; nvidia/cu13/lib has everything). */
static int visit_loaded_library(struct dl_phdr_info *info, size_t size, void *context)
{
    struct candidates *list = context;
    const char *name = strrchr(info->dlpi_name, '/');
    (void)size;
    if (!name)
        return 0;
    int folder_length = (int)(name - info->dlpi_name);
    if (strncmp(name, "/libcupti.so", 12) == 0) {
        add_candidate(list, "%s", info->dlpi_name);
    } else if (strncmp(name, "/libcudart.so", 13) == 0) {
        add_folder(list, info->dlpi_name, folder_length);
        add_candidate(list, "%.*s/../../cuda_cupti/lib/libcupti.so.12", folder_length, info->dlpi_name);
        add_candidate(list, "%.*s/../extras/CUPTI/lib64/libcupti.so", folder_length, info->dlpi_name);
    } else if (strncmp(name, "/libtorch_cuda.so", 17) == 0) {
        add_candidate(list, "%.*s/../../nvidia/cu13/lib/libcupti.so.13", folder_length, info->dlpi_name);
        add_candidate(list, "%.*s/../../nvidia/cuda_cupti/lib/libcupti.so.12", folder_length,
                      info->dlpi_name);
    }
    return 0;
}

static void find_candidates(const char *self_env_folder, struct candidates *list)
{
    char shipped[512];
    snprintf(shipped, sizeof shipped, "%s/cupti", self_env_folder);
    add_folder(list, shipped, (int)strlen(shipped));
    dl_iterate_phdr(visit_loaded_library, list);
    static const char *const toolkits[] = {"/usr/local/cuda/extras/CUPTI/lib64",
                                           "/usr/local/cuda/lib64",
                                           "/usr/local/cuda/targets/x86_64-linux/lib",
                                           "/usr/local/cuda/targets/sbsa-linux/lib",
                                           "/usr/lib/x86_64-linux-gnu",
                                           "/usr/lib/aarch64-linux-gnu"};
    for (size_t i = 0; i < sizeof toolkits / sizeof *toolkits; i++)
        add_folder(list, toolkits[i], (int)strlen(toolkits[i]));
}

/* CUPTI works with drivers of its own major version and later. */
static bool driver_takes(int driver_version, uint32_t cupti_version)
{
    int needed = cupti_version >= CUPTI_VERSION_13_0 ? (int)(cupti_version / 10000) : 12;
    return driver_version == 0 || driver_version / 1000 >= needed;
}

/* Looks up all functions; false if a required one is missing. */
static bool resolve(struct cupti *cupti)
{
    bool complete = true;
#define RESOLVE(call, params)     cupti->call = (call##_fn *)dlsym(cupti->handle, #call);
#define RESOLVE_ALL(call, params) RESOLVE(call, params) complete &= cupti->call != NULL;
    CUPTI_CLASSIC_CALLS(RESOLVE)
    CUPTI_NAMED_SUBSCRIBER_CALLS(RESOLVE)
    CUPTI_SUBSCRIBER_CALLS(RESOLVE_ALL)
#undef RESOLVE_ALL
#undef RESOLVE
    cupti->has_subscriber_api =
        cupti->cuptiSubscribe_v2 && complete && cupti->version >= CUPTI_VERSION_SUBSCRIBER_API;
    cupti->replay_clock = (cuspan_replay_clock_fn *)dlsym(cupti->handle, "cuspan_replay_clock");
    cupti->replay_thread = (cuspan_replay_thread_fn *)dlsym(cupti->handle, "cuspan_replay_thread");
    cupti->replay_waits = (cuspan_replay_waits_fn *)dlsym(cupti->handle, "cuspan_replay_waits");
    cupti->replay_links = (cuspan_replay_links_fn *)dlsym(cupti->handle, "cuspan_replay_links");
    cupti->replay_room = (cuspan_replay_room_fn **)dlsym(cupti->handle, "cuspan_replay_room");
    return cupti->cuptiGetResultString && cupti->cuptiSubscribe && cupti->cuptiUnsubscribe &&
           cupti->cuptiEnableCallback && cupti->cuptiActivityRegisterCallbacks &&
           cupti->cuptiActivityEnable && cupti->cuptiActivityDisable && cupti->cuptiActivityFlushAll &&
           cupti->cuptiActivityGetNextRecord && cupti->cuptiActivityGetNumDroppedRecords &&
           cupti->cuptiActivitySetAttribute && cupti->cuptiSetThreadIdType;
}

/* Opens one library. Its functions are looked up only if it is selected. */
static enum status open_library(const char *path, struct cupti *cupti, struct error *err)
{
    memset(cupti, 0, sizeof *cupti);
    cupti->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!cupti->handle)
        return error_set(err, STATUS_NOT_FOUND, "cannot load CUPTI: %s", dlerror());
    cuptiGetVersion_fn *get_version = (cuptiGetVersion_fn *)dlsym(cupti->handle, "cuptiGetVersion");
    snprintf(cupti->path, sizeof cupti->path, "%s", path);
    if (!get_version)
        return error_set(err, STATUS_UNSUPPORTED, "%s is not CUPTI", path);
    uint32_t result = get_version(&cupti->version);
    if (result != CUPTI_OK)
        return error_set(err, STATUS_UNAVAILABLE,
                         "%s does not report its version (CUPTI result %u); check that NVIDIA's driver is "
                         "installed and new enough",
                         path, result);
    if (cupti->version < CUPTI_VERSION_12_0)
        return error_set(err, STATUS_UNSUPPORTED,
                         "%s is older than CUDA 12.0; name a newer one in distribution.cuspan.cupti.library",
                         path);
    return STATUS_OK;
}

/* The driver is already loaded because it loaded us. A replay has none and needs none. */
static int find_driver_version(void)
{
    int version = 0;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD | RTLD_LOCAL);
    if (!driver)
        return 0;
    int (*get_version)(int *) = (int (*)(int *))dlsym(driver, "cuDriverGetVersion");
    if (!get_version || get_version(&version) != 0)
        version = 0;
    dlclose(driver);
    return version;
}

/* Checks the driver only for candidates of the search; a library named in the settings is used regardless. */
static enum status open_candidate(const char *path, int driver_version, struct cupti *candidate,
                                  struct error *err)
{
    enum status opened = open_library(path, candidate, err);
    if (opened == STATUS_OK && !driver_takes(driver_version, candidate->version))
        opened =
            error_set(err, STATUS_UNAVAILABLE, "%s needs a newer driver than the installed one (CUDA %d.%d)",
                      path, driver_version / 1000, driver_version % 1000 / 10);
    return opened;
}

static enum status take_newest(const struct candidates *list, int driver_version, struct cupti *cupti,
                               struct error *err)
{
    bool found = false;
    enum status status =
        error_set(err, STATUS_NOT_FOUND,
                  "found no CUPTI (libcupti.so.12 or .13); install the package nvidia-cuda-cupti or name the "
                  "library in distribution.cuspan.cupti.library");
    for (size_t i = 0; i < list->count; i++) {
        struct cupti candidate;
        enum status opened = open_candidate(list->paths[i], driver_version, &candidate, err);
        if (opened != STATUS_OK || (found && candidate.version <= cupti->version)) {
            if (!found)
                status = opened;
            if (candidate.handle)
                dlclose(candidate.handle);
            continue;
        }
        if (found)
            dlclose(cupti->handle);
        *cupti = candidate;
        found = true;
        if (cupti->version >= VERSION_GOOD_ENOUGH)
            break;
    }
    return found ? STATUS_OK : status;
}

enum status cupti_load(const char *path, const char *self_env_folder, struct cupti *cupti, struct error *err)
{
    int driver_version = find_driver_version();
    enum status status;
    if (path) {
        status = open_library(path, cupti, err);
    } else {
        struct candidates list = {.count = 0};
        find_candidates(self_env_folder, &list);
        status = take_newest(&list, driver_version, cupti, err);
    }
    if (status != STATUS_OK)
        return status;
    if (!resolve(cupti))
        return error_set(err, STATUS_UNSUPPORTED, "%s lacks functions that CUPTI 12.0 and later has",
                         cupti->path);
    cupti->driver_version = driver_version;
    char version[16];
    cupti_version_text(cupti->version, version);
    log_debug("CUPTI of CUDA %s: %s", version, cupti->path);
    return STATUS_OK;
}

void cupti_survey(const char *path, const char *self_env_folder, cupti_see_fn *see, void *context)
{
    struct candidates list = {.count = 0};
    int driver_version = find_driver_version();
    if (path)
        snprintf(list.paths[list.count++], sizeof list.paths[0], "%s", path);
    else
        find_candidates(self_env_folder, &list);
    for (size_t i = 0; i < list.count; i++) {
        struct cupti candidate;
        struct error err = {""};
        enum status status = path ? open_library(list.paths[i], &candidate, &err)
                                  : open_candidate(list.paths[i], driver_version, &candidate, &err);
        const struct cupti_sight sight = {list.paths[i], candidate.version, status, err.text};
        see(context, &sight);
        if (candidate.handle)
            dlclose(candidate.handle);
    }
}

const char *cupti_result_text(const struct cupti *cupti, uint32_t result)
{
    const char *text = NULL;
    if (cupti->cuptiGetResultString(result, &text) != CUPTI_OK || !text)
        text = "unknown error";
    return text;
}

void cupti_version_text(uint32_t version, char text[16])
{
    if (version >= CUPTI_VERSION_13_0)
        snprintf(text, 16, "%u.%u", version / 10000, version / 100 % 100);
    else if (version >= CUPTI_VERSION_12_0)
        snprintf(text, 16, "12.%u", version - CUPTI_VERSION_12_0 < 10 ? version - CUPTI_VERSION_12_0 : 9);
    else
        snprintf(text, 16, "below 12");
}
