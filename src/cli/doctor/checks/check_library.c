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

static void load(const void *question, void *answer)
{
    struct library_facts *facts = answer;
    void *library = dlopen(question, RTLD_NOW | RTLD_LOCAL);
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
    facts->has_our_settings = give()->settings_bytes == sizeof(struct settings);
}

void library_look(const char *path, struct library_facts *facts)
{
    char how[64];
    if (probe_child_ask(load, path, facts, sizeof *facts, LIBRARY_TIMEOUT_MS, how) != CHILD_ANSWERED)
        snprintf(facts->error, sizeof facts->error, "loading it failed: %s", how);
}

void library_open(struct doctor *doctor)
{
    struct library_facts facts;
    const char *path = doctor->injection.library;
    if (!path)
        return;
    library_look(path, &facts);
    if (!facts.is_loaded)
        snprintf(doctor->api_error, sizeof doctor->api_error, "%s", facts.error);
    else if (!facts.is_agent)
        snprintf(doctor->api_error, sizeof doctor->api_error, "%.400s is no agent of this version", path);
    else if (strcmp(facts.version, CUSPAN_VERSION) != 0 || !facts.has_our_settings)
        snprintf(doctor->api_error, sizeof doctor->api_error,
                 "%.300s is of version %s%s, and this program of " CUSPAN_VERSION, path, facts.version,
                 facts.has_our_settings ? "" : " in another build");
    if (*doctor->api_error)
        return;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    doctor_api_fn *give = library ? entry_of(library) : NULL;
    doctor->api = give ? give() : NULL;
}
