#include "agent/operate/doctor/checks.h"
#include "agent/operate/doctor/driver_facts.h"
#include "agent/operate/doctor/doctor_facts.h"
#include "cli/util/xalloc.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CUPTI_TIMEOUT_MS 30000

struct cupti_query {
    const struct doctor_api *api;
    const char *library;
    char *program; /* whose agent searches; NULL: this one */
};

static void find_cupti(const void *query, void *answer)
{
    const struct cupti_query *input = query;
    if (input->program) /* leads to its Python environment */
        program_invocation_name = input->program;
    /* A host has loaded the driver already, and the search compares with its version. */
    if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
        /* stays loaded */
    }
    input->api->find_cupti(input->library, answer);
}

static void query_cupti(const struct doctor *doctor, const char *library, struct doctor_cuptis *cuptis)
{
    const struct cupti_query query = {doctor->api, library, doctor->program ? doctor->program[0] : NULL};
    char failure[64];
    if (!probe_child_run(find_cupti, &query, cuptis, sizeof *cuptis, CUPTI_TIMEOUT_MS, failure))
        snprintf(cuptis->error, sizeof cuptis->error, "cannot load %s: %s", library ? library : "CUPTI",
                 failure);
}

static const struct doctor_cuptis *get_cuptis(struct doctor *doctor)
{
    if (!doctor->cuptis) {
        doctor->cuptis = xcalloc(1, sizeof *doctor->cuptis);
        query_cupti(doctor, doctor->settings.cupti.library, doctor->cuptis);
    }
    return doctor->cuptis;
}

static glob_t find_python_cuptis(void)
{
    static const char *const packages[] = {
        "lib/python3*/site-packages/nvidia/cu13/lib/libcupti.so.13",
        "lib/python3*/site-packages/nvidia/cuda_cupti/lib/libcupti.so.1[23]",
        "lib/python3*/dist-packages/nvidia/cu13/lib/libcupti.so.13",
        "lib/python3*/dist-packages/nvidia/cuda_cupti/lib/libcupti.so.1[23]"};
    return doctor_facts_find(NULL, packages, sizeof packages / sizeof *packages);
}

static bool has_python_cupti(void)
{
    glob_t found = find_python_cuptis();
    bool has_one = found.gl_pathc > 0;
    globfree(&found);
    return has_one;
}

static const struct doctor_cupti *selected(const struct doctor_cuptis *cuptis)
{
    for (size_t i = 0; i < cuptis->count; i++)
        if (cuptis->found[i].is_taken)
            return &cuptis->found[i];
    return NULL;
}

static const char *install_fix(int driver_version)
{
    return driver_version && driver_version < 13000
               ? "pip install nvidia-cuda-cupti-cu12 (or the package cuda-cupti-12-9; with cuspan's wheel: "
                 "pip "
                 "install --find-links dist 'cuspan[cuda12]'), or select one with --set cupti.library=PATH"
               : "pip install nvidia-cuda-cupti (or the package cuda-cupti-13-0; with cuspan's wheel: pip "
                 "install "
                 "--find-links dist 'cuspan[cuda13]'), or select one with --set cupti.library=PATH";
}

/* Where it comes from. PyTorch depends on the same Python package as cuspan's extras. Allocated. */
static char *explain_origin(const struct doctor_cupti *cupti)
{
    const char *root_end = strstr(cupti->path, "/nvidia/c");
    char *torch =
        root_end ? xasprintf("%.*s/torch/version.py", (int)(root_end - cupti->path), cupti->path) : NULL;
    bool has_torch = torch && access(torch, F_OK) == 0;
    free(torch);
    return xasprintf("%s%s", cupti->origin, has_torch ? ", which PyTorch also uses" : "");
}

/* Without a driver, CUPTI does not even report its version. False: the reason is another one. */
static bool report_missing_driver(struct doctor *doctor, const struct doctor_cuptis *cuptis)
{
    if (!cuptis->count || driver_facts(doctor)->is_found || !*cuptis->found[0].refused)
        return false;
    char *origin = explain_origin(&cuptis->found[0]);
    doctor_result(doctor, RESULT_UNKNOWN,
                  "%s (%s) cannot be checked without NVIDIA's driver (driver.library)", cuptis->found[0].path,
                  origin);
    free(origin);
    return true;
}

void check_cupti_library(struct doctor *doctor)
{
    const struct doctor_cuptis *cuptis = get_cuptis(doctor);
    const char *named = doctor->settings.cupti.library;
    int driver = driver_facts(doctor)->version;
    const struct doctor_cupti *found = selected(cuptis);
    if (found && named) {
        doctor_result(doctor, RESULT_OK, "CUPTI of CUDA %s, %s, %s", found->release, found->path,
                      found->origin);
    } else if (found) {
        char *origin = explain_origin(found);
        doctor_result(doctor, RESULT_OK, "CUPTI of CUDA %s, %s, %s (%s)", found->release, found->path,
                      cuptis->count > 1 ? "the newest that the driver supports" : "the only one found",
                      origin);
        free(origin);
    } else if (named) {
        doctor_result(doctor, RESULT_PROBLEM, "cupti.library is %s: %s", named, cuptis->error);
        doctor_fix(doctor, "correct cupti.library, or unset it to search for one");
    } else if (report_missing_driver(doctor, cuptis)) {
        /* driver.library has the fix */
    } else if (has_python_cupti()) {
        doctor_result(
            doctor, RESULT_WARNING,
            "only Python packages have a CUPTI (cupti.python): programs without them are not traced: %s",
            cuptis->error);
        doctor_fix(doctor, "%s", install_fix(driver));
    } else {
        doctor_result(doctor, RESULT_PROBLEM, "%s", cuptis->error);
        doctor_fix(doctor, "%s", install_fix(driver));
    }
}

static void report_unusable(struct doctor *doctor, const struct doctor_cupti *cupti)
{
    doctor_result(doctor, RESULT_WARNING, "CUPTI%s%s: %s", *cupti->release ? " of CUDA " : "", cupti->release,
                  cupti->refused);
    if (strstr(cupti->refused, "newer driver"))
        doctor_fix(
            doctor,
            "update the driver, or use a CUPTI of its major version (pip install nvidia-cuda-cupti-cu12)");
    else if (strstr(cupti->refused, "does not report its version"))
        doctor_fix(doctor, "see driver.library; if the driver works, reinstall the package that contains %s",
                   cupti->path);
    else if (strstr(cupti->refused, "another architecture"))
        doctor_fix(doctor, "remove %s, and install the package for this machine's architecture", cupti->path);
    else if (access(cupti->path, R_OK) != 0)
        doctor_fix(doctor, "make it readable for user %d: chmod o+r %s", (int)geteuid(), cupti->path);
    else
        doctor_fix(doctor, "reinstall the package that contains %s, or remove it", cupti->path);
}

void check_cupti_others(struct doctor *doctor)
{
    const struct doctor_cuptis *cuptis = get_cuptis(doctor);
    for (size_t i = 0; i < cuptis->count; i++) {
        const struct doctor_cupti *cupti = &cuptis->found[i];
        if (*cupti->refused)
            report_unusable(doctor, cupti);
        else if (!cupti->is_taken)
            doctor_result(
                doctor, RESULT_OK,
                "CUPTI of CUDA %s, %s: not used, because it is not newer or a newer one was found first",
                cupti->release, cupti->path);
    }
    if (cuptis->count < 2 && (!cuptis->count || !*cuptis->found[0].refused))
        doctor_result(doctor, RESULT_SKIPPED, "no other CUPTI was found");
}

void check_cupti_python(struct doctor *doctor)
{
    glob_t found = find_python_cuptis();
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *path = found.gl_pathv[i];
        struct doctor_cuptis cuptis = {0};
        if (doctor->api)
            query_cupti(doctor, path, &cuptis);
        if (cuptis.has_one) {
            doctor_result(doctor, RESULT_OK,
                          "CUPTI of CUDA %s, %s: used by programs of this Python environment",
                          cuptis.found[0].release, path);
            continue;
        }
        doctor_result(doctor, RESULT_WARNING, "%s: %s", path,
                      doctor->api ? cuptis.error : "libcuspan.so cannot be loaded (injection.library)");
        doctor_fix(doctor, "pip install --force-reinstall nvidia-cuda-cupti");
    }
    if (found.gl_pathc == 0)
        doctor_result(doctor, RESULT_SKIPPED,
                      "no CUPTI in VIRTUAL_ENV, CONDA_PREFIX, ~/.local, /usr/local, /usr");
    globfree(&found);
}

void check_cupti_api(struct doctor *doctor)
{
    const struct doctor_cuptis *cuptis = get_cuptis(doctor);
    if (!cuptis->has_one) {
        doctor_result(doctor, RESULT_SKIPPED, "no CUPTI");
    } else if (doctor->settings.cupti.api == CUPTI_API_SUBSCRIBER && !cuptis->has_subscriber_api) {
        doctor_result(doctor, RESULT_PROBLEM,
                      "cupti.api is subscriber, but the CUPTI of CUDA %s supports only classic",
                      selected(cuptis) ? selected(cuptis)->release : "?");
        doctor_fix(doctor, "set cupti.api: auto, or install CUPTI 13.3 or later");
    } else if (cuptis->has_subscriber_api && doctor->settings.cupti.api != CUPTI_API_CLASSIC) {
        doctor_result(doctor, RESULT_OK, "subscriber: records have only the required fields");
    } else {
        doctor_result(
            doctor, RESULT_OK, "classic%s: one tool per process, and graph records enabled from the start",
            cuptis->has_subscriber_api ? ", set by cupti.api" : ", because subscriber needs CUPTI 13.3");
    }
}
