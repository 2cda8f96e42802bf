#include "agent/operate/attach/cupti_ahead.h"

#include "base/files.h"
#include "cli/util/xalloc.h"
#include "model/cuda/cupti_search.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define ENVIRONMENT_BYTES (1u << 20)
#define NAMED             "cupti.library="

struct surroundings {
    const struct remote_maps *maps;
    const char *environment;
    size_t bytes;
};

static const char *variable(void *context, const char *name)
{
    const struct surroundings *around = context;
    const char *end = around->environment + around->bytes;
    size_t length = strlen(name);
    for (const char *at = around->environment; at < end; at += strlen(at) + 1)
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at + length + 1;
    return NULL;
}

static const char *library_of(void *context, size_t number)
{
    const struct remote_maps *maps = ((struct surroundings *)context)->maps;
    return number < maps->count ? maps->items[number].name : NULL;
}

/* The last one counts. */
static const char *named_in(const char *settings)
{
    const char *found = NULL;
    for (const char *at = settings; (at = strstr(at, NAMED)); at += strlen(NAMED))
        found = at + strlen(NAMED);
    return found;
}

static bool is_named_elsewhere(struct surroundings *around, const char *settings)
{
    const char *set = variable(around, "CUSPAN_SET");
    return strstr(settings, "CONFIG_FILE=") || variable(around, "CUSPAN_CONFIG_FILE") ||
           variable(around, "OTEL_CONFIG_FILE") || (set && named_in(set));
}

static enum status check_named(const struct target *target, int root, const char *named, struct error *err)
{
    char path[CUPTI_PATH_MAX];
    struct cupti_view view = {.root = root};
    snprintf(path, sizeof path, "%.*s", (int)strcspn(named, ";\n"), named);
    return *path != '/' || cupti_search_has(&view, path)
               ? STATUS_OK
               : target_refuse(target, err, "finds no CUPTI: there is no file %s; check cupti.library", path);
}

static enum status check_search(const struct target *target, const struct cupti_view *view,
                                const char *library, struct error *err)
{
    char folder[CUPTI_PATH_MAX];
    struct cupti_search *search = xcalloc(1, sizeof *search);
    const char *slash = strrchr(library, '/');
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - library), library);
    cupti_search(folder, view, search);
    bool is_found = search->count > 0;
    free(search);
    return is_found ? STATUS_OK
                    : target_refuse(target, err,
                                    "finds no CUPTI (libcupti.so.12 or .13) beside the agent, in its Python "
                                    "packages or in a CUDA toolkit; pip install nvidia-cuda-cupti there, or "
                                    "name the library: --set cupti.library=PATH");
}

enum status cupti_ahead_check(const struct target *target, const struct remote_maps *maps,
                              const char *library, const char *settings, struct error *err)
{
    char *environment = xcalloc(ENVIRONMENT_BYTES, 1), program[CUPTI_PATH_MAX] = "";
    ssize_t bytes = target_read(target, "environ", environment, ENVIRONMENT_BYTES);
    struct surroundings around = {maps, environment, bytes > 0 ? (size_t)bytes : 0};
    int root = target_open_root(target, err);
    (void)target_read(target, "cmdline", program, sizeof program);
    const struct cupti_view view = {root, program, variable, library_of, &around};
    const char *named = named_in(settings);
    enum status status = root < 0                                ? STATUS_UNAVAILABLE
                         : named                                 ? check_named(target, root, named, err)
                         : is_named_elsewhere(&around, settings) ? STATUS_OK
                                                                 : check_search(target, &view, library, err);
    files_give_up(root);
    free(environment);
    return status;
}
