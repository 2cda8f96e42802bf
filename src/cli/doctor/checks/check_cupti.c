#include "cli/doctor/checks.h"
#include "cli/doctor/probe_child.h"
#include "cli/doctor/checks/check_driver.h"
#include "cli/doctor/doctor_facts.h"
#include "cli/util/xalloc.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#define CUPTI_TIMEOUT_MS 30000

struct cupti_question {
    const struct doctor_api *api;
    const char *library;
};

static void find_cupti(const void *question, void *answer)
{
    const struct cupti_question *asked = question;
    /* In a host the driver lies there already, and the search looks at its version. */
    if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
        /* stays open */
    }
    asked->api->find_cupti(asked->library, answer);
}

static void ask(const struct doctor *doctor, const char *library, struct doctor_cuptis *cuptis)
{
    const struct cupti_question question = {doctor->api, library};
    char how[64];
    if (probe_child_ask(find_cupti, &question, cuptis, sizeof *cuptis, CUPTI_TIMEOUT_MS, how) !=
        CHILD_ANSWERED)
        snprintf(cuptis->error, sizeof cuptis->error, "loading %s failed: %s", library ? library : "a CUPTI",
                 how);
}

/* NULL: nobody can be asked; said so. */
static const struct doctor_cuptis *cuptis_of(struct doctor *doctor)
{
    if (!doctor->api) {
        doctor_say(doctor, FOUND_UNKNOWN, "the agent's library can't be asked (injection.library)");
        return NULL;
    }
    if (!doctor->cuptis) {
        doctor->cuptis = xcalloc(1, sizeof *doctor->cuptis);
        ask(doctor, doctor->settings.cupti.library, doctor->cuptis);
    }
    return doctor->cuptis;
}

/* --- Python's --- */

/* Where a program's Python may have its packages: an environment's, the user's, the system's. */
static glob_t find_python(void)
{
    static const char *const packages[] = {
        "lib/python3*/site-packages/nvidia/cu13/lib/libcupti.so.13",
        "lib/python3*/site-packages/nvidia/cuda_cupti/lib/libcupti.so.1[23]",
        "lib/python3*/dist-packages/nvidia/cu13/lib/libcupti.so.13",
        "lib/python3*/dist-packages/nvidia/cuda_cupti/lib/libcupti.so.1[23]"};
    const char *home = doctor_facts_variable("HOME");
    char *local = home ? xasprintf("%s/.local", home) : NULL;
    const char *const prefixes[] = {doctor_facts_variable("VIRTUAL_ENV"),
                                    doctor_facts_variable("CONDA_PREFIX"), local, "/usr/local", "/usr"};
    glob_t found = {0};
    int flags = 0;
    for (size_t p = 0; p < sizeof prefixes / sizeof *prefixes; p++) {
        for (size_t i = 0; prefixes[p] && i < sizeof packages / sizeof *packages; i++) {
            char *pattern = xasprintf("%s/%s", prefixes[p], packages[i]);
            glob(pattern, flags, NULL, &found);
            flags = GLOB_APPEND;
            free(pattern);
        }
    }
    free(local);
    return found;
}

static bool has_python_one(void)
{
    glob_t found = find_python();
    bool has_one = found.gl_pathc > 0;
    globfree(&found);
    return has_one;
}

/* --- the checks --- */

static const struct doctor_cupti *taken(const struct doctor_cuptis *cuptis)
{
    for (size_t i = 0; i < cuptis->count; i++)
        if (cuptis->found[i].is_taken)
            return &cuptis->found[i];
    return NULL;
}

static const char *install_advice(int driver_version)
{
    return driver_version && driver_version < 13000
               ? "pip install nvidia-cuda-cupti-cu12 (or the package cuda-cupti-12-9), or name one by --set "
                 "cupti.library=PATH"
               : "pip install nvidia-cuda-cupti (or the package cuda-cupti-13-0), or name one by --set "
                 "cupti.library=PATH";
}

void check_cupti_library(struct doctor *doctor)
{
    const struct doctor_cuptis *cuptis = cuptis_of(doctor);
    const char *named = doctor->settings.cupti.library;
    int driver = driver_facts(doctor)->version;
    if (!cuptis)
        return;
    const struct doctor_cupti *found = taken(cuptis);
    if (found && named) {
        doctor_say(doctor, FOUND_OK, "CUDA %s's, %s, as cupti.library names it", found->release, found->path);
    } else if (found) {
        doctor_say(doctor, FOUND_OK, "CUDA %s's, %s, %s", found->release, found->path,
                   cuptis->count > 1 ? "the newest found that the driver takes" : "the only one found");
    } else if (named) {
        doctor_say(doctor, FOUND_PROBLEM, "cupti.library names %s: %s", named, cuptis->error);
        doctor_mend(doctor, "correct cupti.library, or unset it to have one searched for");
    } else if (has_python_one()) {
        doctor_say(doctor, FOUND_WARNING,
                   "none but Python's (cupti.python): a program without those packages is not "
                   "traced: %s",
                   cuptis->error);
        doctor_mend(doctor, "%s", install_advice(driver));
    } else {
        doctor_say(doctor, FOUND_PROBLEM, "%s", cuptis->error);
        doctor_mend(doctor, "%s", install_advice(driver));
    }
}

static void say_refused(struct doctor *doctor, const struct doctor_cupti *cupti)
{
    doctor_say(doctor, FOUND_WARNING, "%s%s%s: %s", *cupti->release ? "CUDA " : "", cupti->release,
               *cupti->release ? "'s" : "a library", cupti->refused);
    if (strstr(cupti->refused, "newer driver"))
        doctor_mend(doctor, "update the driver, or keep to a CUPTI of its major version (pip install "
                            "nvidia-cuda-cupti-cu12)");
    else
        doctor_mend(doctor, "install the package that %s comes from again, or remove it", cupti->path);
}

void check_cupti_others(struct doctor *doctor)
{
    const struct doctor_cuptis *cuptis = cuptis_of(doctor);
    for (size_t i = 0; cuptis && i < cuptis->count; i++) {
        const struct doctor_cupti *cupti = &cuptis->found[i];
        if (*cupti->refused)
            say_refused(doctor, cupti);
        else if (!cupti->is_taken)
            doctor_say(doctor, FOUND_OK, "CUDA %s's, %s: not newer, or behind one that is new enough",
                       cupti->release, cupti->path);
    }
    if (cuptis && cuptis->count < 2 && (!cuptis->count || !*cuptis->found[0].refused))
        doctor_say(doctor, FOUND_NOT_HERE, "no other");
}

static void say_broken_python(struct doctor *doctor, const char *path, const char *why)
{
    doctor_say(doctor, FOUND_WARNING, "%s: %s", path, why);
    doctor_mend(doctor, "install the package again: pip install --force-reinstall nvidia-cuda-cupti");
}

void check_cupti_python(struct doctor *doctor)
{
    glob_t found = find_python();
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *path = found.gl_pathv[i];
        struct doctor_cuptis cuptis = {0};
        if (doctor->api)
            ask(doctor, path, &cuptis);
        if (cuptis.has_one)
            doctor_say(doctor, FOUND_OK,
                       "CUDA %s's, %s: found by itself in a process that has loaded PyTorch or that "
                       "package's CUDA runtime",
                       cuptis.found[0].release, path);
        else
            say_broken_python(doctor, path, doctor->api ? cuptis.error : "can't be asked");
    }
    if (found.gl_pathc == 0)
        doctor_say(doctor, FOUND_NOT_HERE, "none in VIRTUAL_ENV, CONDA_PREFIX, ~/.local, /usr/local, /usr");
    globfree(&found);
}

void check_cupti_api(struct doctor *doctor)
{
    const struct doctor_cuptis *cuptis = cuptis_of(doctor);
    if (!cuptis)
        return;
    if (!cuptis->has_one) {
        doctor_say(doctor, FOUND_NOT_HERE, "no CUPTI");
    } else if (doctor->settings.cupti.api == CUPTI_API_SUBSCRIBER && !cuptis->has_subscriber_api) {
        doctor_say(doctor, FOUND_PROBLEM, "cupti.api asks for subscriber, and CUDA %s's has classic alone",
                   taken(cuptis) ? taken(cuptis)->release : "?");
        doctor_mend(doctor, "set cupti.api: auto, or install a CUPTI of 13.3 or later");
    } else if (cuptis->has_subscriber_api && doctor->settings.cupti.api != CUPTI_API_CLASSIC) {
        doctor_say(doctor, FOUND_OK, "subscriber: records with the wanted fields alone");
    } else {
        doctor_say(doctor, FOUND_OK, "classic%s: one tool in a process, and graph records from the start",
                   cuptis->has_subscriber_api ? ", by cupti.api" : "; subscriber comes with 13.3");
    }
}
