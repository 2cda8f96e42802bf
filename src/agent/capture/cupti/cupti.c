#include "agent/capture/cupti/cupti.h"

#include "base/files.h"
#include "base/log/log.h"
#include "model/cuda/cupti_search.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The search stops at a CUPTI this new: opening one takes milliseconds, and later ones add nothing we
 * need. */
#define VERSION_GOOD_ENOUGH CUPTI_VERSION_SUBSCRIBER_API

/* Whether the driver supports this CUPTI, which works with drivers of its own major version and later. */
static bool driver_takes(int driver_version, uint32_t cupti_version)
{
    int needed = cupti_version >= CUPTI_VERSION_13_0 ? (int)(cupti_version / 10000) : 12;
    return driver_version == 0 || driver_version / 1000 >= needed;
}

/* Looks up all functions. False: a required one is missing. */
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
#define RESOLVE(name)                                                                                        \
    cupti->replay_##name = (cuspan_replay_##name##_fn *)dlsym(cupti->handle, "cuspan_replay_" #name);
    CUPTI_REPLAY_CALLS(RESOLVE)
#undef RESOLVE
    cupti->replay_room = (cuspan_replay_room_fn **)dlsym(cupti->handle, "cuspan_replay_room");
    cupti->replay_nccl = (cuspan_replay_nccl_fn **)dlsym(cupti->handle, "cuspan_replay_nccl");
    return cupti->cuptiGetResultString && cupti->cuptiSubscribe && cupti->cuptiUnsubscribe &&
           cupti->cuptiEnableCallback && cupti->cuptiActivityRegisterCallbacks &&
           cupti->cuptiActivityEnable && cupti->cuptiActivityDisable && cupti->cuptiActivityFlushAll &&
           cupti->cuptiActivityGetNextRecord && cupti->cuptiActivityGetNumDroppedRecords &&
           cupti->cuptiActivitySetAttribute && cupti->cuptiSetThreadIdType;
}

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#endif

static bool is_of_other_architecture(const char *path)
{
    Elf64_Ehdr header = {0}; /* e_machine has the same offset in 32-bit files */
    int fd = files_open(path, O_RDONLY);
    ssize_t got = fd >= 0 ? read(fd, &header, sizeof header) : -1;
    if (fd >= 0)
        close(fd);
    return got == (ssize_t)sizeof header && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
           (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != OWN_MACHINE);
}

/* Explains why a library cannot be loaded. For one of another architecture, the loader only reports that the
 * file does not exist. */
static enum status refuse_library(const char *path, const char *reason, struct error *err)
{
    if (is_of_other_architecture(path))
        return error_set(
            err, STATUS_UNSUPPORTED,
            "cannot load CUPTI: %s is for another architecture; install the package for this one", path);
    return error_set(err, STATUS_NOT_FOUND, "cannot load CUPTI: %s", reason);
}

/* Returns NVIDIA's driver; NULL: it is not there, or not loaded. It is already loaded if it loaded the agent.
 * If the program starts the agent first, this function loads it (`may_load`), as CUPTI would. */
static void *driver_library(bool may_load)
{
    void *loaded = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD | RTLD_LOCAL);
    if (loaded)
        dlclose(loaded); /* others keep it loaded */
    return loaded || !may_load ? loaded : dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
}

/* Opens one library. Its functions are looked up only if it is selected. */
static enum status open_library(const char *path, struct cupti *cupti, struct error *err)
{
    struct stat facts;
    memset(cupti, 0, sizeof *cupti);
    if (strchr(path, '/') && stat(path, &facts) == 0 && !S_ISREG(facts.st_mode)) /* a FIFO would block */
        return error_set(err, STATUS_NOT_FOUND, "cannot load CUPTI: %s is not a file", path);
    cupti->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!cupti->handle)
        return refuse_library(path, dlerror(), err);
    cuptiGetVersion_fn *get_version = (cuptiGetVersion_fn *)dlsym(cupti->handle, "cuptiGetVersion");
    snprintf(cupti->path, sizeof cupti->path, "%s", path);
    if (!get_version)
        return error_set(err, STATUS_UNSUPPORTED, "%s is not CUPTI", path);
    /* Without the driver, cuptiGetVersion() of CUPTI 13.2 crashes, and those of other versions fail. */
    if (!dlsym(cupti->handle, CUPTI_STAND_IN_SYMBOL) && !driver_library(true))
        return error_set(err, STATUS_UNAVAILABLE,
                         "%s does not report its version without NVIDIA's driver; install the driver "
                         "(libcuda.so.1)",
                         path);
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

/* Returns the driver's version; 0: unknown. The search needs it: without it, a CUPTI that is too new could be
 * selected. A replay has no driver. */
static int find_driver_version(bool is_search)
{
    int version = 0;
    void *driver = driver_library(is_search);
    int (*get_version)(int *) = driver ? (int (*)(int *))dlsym(driver, "cuDriverGetVersion") : NULL;
    return get_version && get_version(&version) == 0 ? version : 0;
}

/* Opens a candidate of the search if the driver supports it. A library named in the settings is used without
 * this check. */
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

static enum status complain_about_none(int driver_version, struct error *err)
{
    return error_set(err, STATUS_NOT_FOUND,
                     "found no CUPTI (libcupti.so.12 or .13); pip install nvidia-cuda-cupti%s, install a "
                     "CUDA toolkit, or name the library in distribution.cuspan.cupti.library",
                     driver_version && driver_version < 13000 ? "-cu12" : "");
}

/* Takes the newest usable candidate. If none is usable, the error is that of the first one, from the best
 * place. */
static enum status take_newest(const struct cupti_search *search, int driver_version, struct cupti *cupti,
                               struct error *err)
{
    bool found = false;
    enum status status = STATUS_NOT_FOUND;
    for (size_t i = 0; i < search->count; i++) {
        struct cupti candidate;
        struct error refusal = {""};
        enum status opened = open_candidate(search->found[i].path, driver_version, &candidate, &refusal);
        if (opened != STATUS_OK || (found && candidate.version <= cupti->version)) {
            if (!found && i == 0)
                status = error_set(err, opened, "%s", refusal.text);
            if (opened != STATUS_OK)
                log_debug("%s", refusal.text);
            if (candidate.handle)
                dlclose(candidate.handle);
            continue;
        }
        if (found)
            dlclose(cupti->handle);
        *cupti = candidate;
        cupti->origin = search->found[i].origin;
        found = true;
        if (cupti->version >= VERSION_GOOD_ENOUGH)
            break;
    }
    return found ? STATUS_OK : search->count ? status : complain_about_none(driver_version, err);
}

static enum status search_and_take(const char *self_env_folder, int driver_version, struct cupti *cupti,
                                   struct error *err)
{
    struct cupti_search *search = malloc(sizeof *search); /* too large for the stack of a host's thread */
    if (!search)
        return error_set(err, STATUS_NO_MEMORY, "no memory to search for CUPTI");
    cupti_search(self_env_folder, NULL, search);
    if (search->left_out)
        log_info("found more than %d CUPTI libraries and ignored the last %zu; name one in "
                 "distribution.cuspan.cupti.library",
                 CUPTI_CANDIDATES_MAX, search->left_out);
    enum status status = take_newest(search, driver_version, cupti, err);
    free(search);
    return status;
}

enum status cupti_load(const char *path, const char *self_env_folder, struct cupti *cupti, struct error *err)
{
    int driver_version = find_driver_version(!path);
    enum status status =
        path ? open_library(path, cupti, err) : search_and_take(self_env_folder, driver_version, cupti, err);
    if (status != STATUS_OK)
        return status;
    if (path)
        cupti->origin = CUPTI_ORIGIN_NAMED;
    if (!resolve(cupti))
        return error_set(err, STATUS_UNSUPPORTED, "%s lacks functions that CUPTI 12.0 and later has",
                         cupti->path);
    cupti->driver_version = driver_version;
    char version[16];
    cupti_version_text(cupti->version, version);
    log_debug("CUPTI of CUDA %s: %s (%s)", version, cupti->path, cupti->origin);
    return STATUS_OK;
}

static void report_one(const char *path, const char *origin, int driver_version, cupti_see_fn *see,
                       void *context)
{
    struct cupti candidate;
    struct error err = {""};
    enum status status = origin ? open_candidate(path, driver_version, &candidate, &err)
                                : open_library(path, &candidate, &err);
    const struct cupti_sight sight = {path, origin ? origin : CUPTI_ORIGIN_NAMED, candidate.version, status,
                                      err.text};
    see(context, &sight);
    if (candidate.handle)
        dlclose(candidate.handle);
}

void cupti_survey(const char *path, const char *self_env_folder, cupti_see_fn *see, void *context)
{
    if (path) {
        report_one(path, NULL, 0, see, context);
        return;
    }
    struct cupti_search *search = malloc(sizeof *search);
    if (!search)
        return;
    int driver_version = find_driver_version(true);
    cupti_search(self_env_folder, NULL, search);
    for (size_t i = 0; i < search->count; i++)
        report_one(search->found[i].path, search->found[i].origin, driver_version, see, context);
    free(search);
}

const struct late_start_rule cupti_late_starts[] = {{CUPTI_VERSION_13_5, LATE_WHOLE, NULL},
                                                    {0, LATE_WITHOUT_GRAPH_RECORDS, NULL}};

static const struct late_start_rule *rule_for(const struct late_start_rule *rules, uint32_t version)
{
    while (version < rules->from)
        rules++;
    return rules;
}

enum late_start cupti_late_start(const struct late_start_rule *rules, uint32_t version)
{
    return rule_for(rules, version)->start;
}

enum status cupti_check_late_start(const struct late_start_rule *rules, const struct cupti *cupti,
                                   struct error *err)
{
    char version[16];
    const struct late_start_rule *rule = rule_for(rules, cupti->version);
    cupti_version_text(cupti->version, version);
    return rule->start != LATE_REFUSED
               ? STATUS_OK
               : error_set(err, STATUS_UNSUPPORTED,
                           "CUPTI %s (%.200s) %s if it starts in a running program; name another one in "
                           "distribution.cuspan.cupti.library, or start the program with cuspan run",
                           version, cupti->path, rule->harm);
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
