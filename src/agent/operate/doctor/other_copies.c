#include "agent/operate/doctor/other_copies.h"

#include "agent/operate/doctor/agent_library.h"
#include "agent/operate/doctor/doctor_facts.h"
#include "cli/util/xalloc.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COPIES_MAX 16

struct copies {
    size_t count;
    char *paths[COPIES_MAX]; /* owned, links resolved */
};

static void add_pattern(struct copies *copies, const char *prefix, const char *pattern)
{
    char *all = xasprintf("%s/%s", prefix, pattern);
    glob_t found = {0};
    glob(all, 0, NULL, &found);
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
    free(all);
}

static void add_prefix(struct copies *copies, const char *prefix)
{
    add_pattern(copies, prefix, "lib/cuspan/libcuspan.so");
    add_pattern(copies, prefix, "lib/python3*/*-packages/cuspan/native/lib/cuspan/libcuspan.so");
}

static void add_path(struct copies *copies)
{
    const char *folders = doctor_facts_variable("PATH");
    for (const char *at = folders ? folders : ""; *at; at += *at == ':') {
        int length = (int)strcspn(at, ":");
        char *program = xasprintf("%.*s/cuspan", length, at);
        char *prefix = xasprintf("%.*s/..", length, at);
        if (length > 0 && access(program, X_OK) == 0)
            add_prefix(copies, prefix);
        free(program);
        free(prefix);
        at += length;
    }
}

static void report(struct doctor *doctor, const char *path)
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

void other_copies_report(struct doctor *doctor)
{
    struct copies copies = {0};
    const char *home = doctor_facts_variable("HOME");
    char *local = home ? xasprintf("%s/.local", home) : NULL;
    const char *const prefixes[] = {doctor_facts_variable("VIRTUAL_ENV"),
                                    doctor_facts_variable("CONDA_PREFIX"),
                                    local,
                                    "/usr/local",
                                    "/usr",
                                    "/opt/cuspan"};
    add_path(&copies);
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (prefixes[i])
            add_prefix(&copies, prefixes[i]);
    for (size_t i = 0; i < copies.count; i++) {
        if (!doctor->injection.library || strcmp(copies.paths[i], doctor->injection.library) != 0)
            report(doctor, copies.paths[i]);
        free(copies.paths[i]);
    }
    free(local);
}
