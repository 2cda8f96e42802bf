#include "agent/operate/doctor/agent_library.h"

#include "agent/operate/doctor/doctor_facts.h"
#include "cli/util/xalloc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIBRARY_TIMEOUT_MS 30000
#define COPIES_MAX         16

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
    if (!probe_child_run(load, path, facts, sizeof *facts, LIBRARY_TIMEOUT_MS, failure))
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

char *library_unreadable(const char *path)
{
    struct stat about;
    char *at = xstrdup(path);
    if (stat(at, &about) != 0) {
        free(at);
        return NULL;
    }
    mode_t needed = S_ISDIR(about.st_mode) ? S_IROTH | S_IXOTH : S_IROTH;
    while ((about.st_mode & needed) == needed) {
        char *slash = strrchr(at, '/');
        needed = S_IXOTH;
        if (!slash || slash == at || (*slash = '\0', stat(at, &about) != 0)) {
            free(at);
            return NULL;
        }
    }
    return at;
}

struct copies {
    size_t count;
    char *paths[COPIES_MAX]; /* owned, links resolved */
};

/* `prefix`: as of doctor_facts_find(). */
static void add_below(struct copies *copies, const char *prefix)
{
    static const char *const patterns[] = {"lib/cuspan/libcuspan.so",
                                           "lib/python3*/*-packages/cuspan/native/lib/cuspan/libcuspan.so"};
    glob_t found = doctor_facts_find(prefix, patterns, sizeof patterns / sizeof *patterns);
    for (size_t i = 0; i < found.gl_pathc && copies->count < COPIES_MAX; i++) {
        char *real = realpath(found.gl_pathv[i], NULL);
        bool is_known = !real;
        for (size_t k = 0; k < copies->count && !is_known; k++)
            is_known = strcmp(copies->paths[k], real) == 0;
        if (is_known)
            free(real);
        else
            copies->paths[copies->count++] = real;
    }
    globfree(&found);
}

static void add_path(struct copies *copies)
{
    const char *folders = doctor_facts_variable("PATH");
    for (const char *at = folders ? folders : ""; *at; at += *at == ':') {
        int length = (int)strcspn(at, ":");
        char *program = xasprintf("%.*s/cuspan", length, at);
        char *prefix = xasprintf("%.*s/..", length, at);
        if (length > 0 && access(program, X_OK) == 0)
            add_below(copies, prefix);
        free(program);
        free(prefix);
        at += length;
    }
}

static void report_copy(struct doctor *doctor, const char *path)
{
    struct library_facts facts;
    library_probe(path, &facts);
    if (facts.is_agent && strcmp(facts.version, CUSPAN_VERSION) == 0) {
        doctor_result(doctor, RESULT_OK, "this version is also installed at %s", path);
        return;
    }
    doctor_result(doctor, RESULT_WARNING, "another version of cuspan (%s) is installed at %s",
                  facts.is_agent ? facts.version : facts.error, path);
    doctor_fix(doctor, "remove the one that you do not use: each `cuspan run` loads the agent beside itself, "
                       "and programs that are started without it load that of CUDA_INJECTION64_PATH");
}

void library_report_others(struct doctor *doctor)
{
    struct copies copies = {0};
    add_path(&copies);
    add_below(&copies, NULL);
    for (size_t i = 0; i < copies.count; i++) {
        if (!doctor->injection.library || strcmp(copies.paths[i], doctor->injection.library) != 0)
            report_copy(doctor, copies.paths[i]);
        free(copies.paths[i]);
    }
}
