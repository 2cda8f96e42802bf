#include "agent/operate/doctor/agent_library.h"

#include "agent/operate/doctor/probe_child.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define LIBRARY_TIMEOUT_MS 30000

static doctor_api_fn *find_entry(void *library)
{
    doctor_api_fn *get_api = NULL;
    *(void **)&get_api = dlsym(library, DOCTOR_API_SYMBOL);
    return get_api;
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
    doctor_api_fn *get_api = find_entry(library);
    facts->is_agent = get_api != NULL;
    if (!get_api)
        return;
    snprintf(facts->version, sizeof facts->version, "%s", get_api()->version);
    facts->is_same_build = get_api()->settings_bytes == sizeof(struct settings);
}

void library_probe(const char *path, struct library_facts *facts)
{
    char failure[64];
    if (probe_child_run(load, path, facts, sizeof *facts, LIBRARY_TIMEOUT_MS, failure) != CHILD_OK)
        snprintf(facts->error, sizeof facts->error, "cannot load %.400s: %s", path, failure);
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
    doctor_api_fn *get_api = library ? find_entry(library) : NULL;
    doctor->api = get_api ? get_api() : NULL;
}
