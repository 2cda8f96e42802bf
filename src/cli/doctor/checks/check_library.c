#include "cli/doctor/checks/check_library.h"

#include "cli/doctor/probe_child.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define LIBRARY_TIMEOUT_MS 30000

static doctor_api_fn *entry_of(void *library)
{
    doctor_api_fn *give = NULL;
    *(void **)&give = dlsym(library, DOCTOR_API_SYMBOL);
    return give;
}

static void load(const void *query, void *answer)
{
    struct library_facts *facts = answer;
    void *library = dlopen(query, RTLD_NOW | RTLD_LOCAL);
    facts->is_loaded = library != NULL;
    if (!library) {
        snprintf(facts->error, sizeof facts->error, "%s", dlerror());
        return;
    }
    doctor_api_fn *give = entry_of(library);
    facts->is_agent = give != NULL;
    if (!give)
        return;
    snprintf(facts->version, sizeof facts->version, "%s", give()->version);
    facts->is_same_build = give()->settings_bytes == sizeof(struct settings);
}

void library_probe(const char *path, struct library_facts *facts)
{
    char failure[64];
    if (probe_child_run(load, path, facts, sizeof *facts, LIBRARY_TIMEOUT_MS, failure) != CHILD_OK)
        snprintf(facts->error, sizeof facts->error, "cannot load it: %s", failure);
}

void library_open(struct doctor *doctor)
{
    struct library_facts facts;
    const char *path = doctor->injection.library;
    if (!path)
        return;
    library_probe(path, &facts);
    if (!facts.is_loaded)
        snprintf(doctor->api_error, sizeof doctor->api_error, "%s", facts.error);
    else if (!facts.is_agent)
        snprintf(doctor->api_error, sizeof doctor->api_error, "%.400s is not an agent of this version", path);
    else if (strcmp(facts.version, CUSPAN_VERSION) != 0 || !facts.is_same_build)
        snprintf(doctor->api_error, sizeof doctor->api_error,
                 "%.300s has version %s%s, but this program has " CUSPAN_VERSION, path, facts.version,
                 facts.is_same_build ? "" : " from another build");
    if (*doctor->api_error)
        return;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    doctor_api_fn *give = library ? entry_of(library) : NULL;
    doctor->api = give ? give() : NULL;
}
