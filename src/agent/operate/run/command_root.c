#include "agent/operate/run/command_root.h"

#include "base/log/log.h"
#include "cli/util/xalloc.h"
#include "agent/operate/run/outcome.h"

#include <dlfcn.h>
#include <stdlib.h>

const struct root_api *root_api_open(const char *library, struct error *err)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    root_api_fn *give = NULL;
    if (handle)
        *(void **)&give = dlsym(handle, ROOT_API_SYMBOL);
    const struct root_api *api = give ? give() : NULL;
    if (api && api->root_bytes == sizeof(struct root))
        return api;
    if (!api)
        (void)error_set(err, STATUS_UNAVAILABLE, "%.400s", dlerror());
    else
        (void)error_set(err, STATUS_UNSUPPORTED, "%.300s has another version than this program", library);
    return NULL;
}

void command_root_begin(struct command_root *root, const struct injection *injection, char *const *argv)
{
    char text[TRACEPARENT_BYTES + 1];
    *root = (struct command_root){.root = {.argv = argv}};
    struct trace_context parent;
    bool has_parent = trace_context_parse(getenv("TRACEPARENT"), getenv("TRACESTATE"), &parent);
    if (has_parent || !injection->report_dir) /* which would show whether spans have arrived */
        return;
    struct error err = {""};
    const struct root_api *api = root_api_open(injection->library, &err);
    if (!api) /* a library that cannot be loaded here cannot be loaded by the driver either */
        log_warn("the command gets no root span: %s", err.text);
    if (!api || !api->begin(&root->root))
        return;
    root->api = api;
    trace_context_format(&root->root.context, text);
    setenv("TRACEPARENT", text, 1);
    if (*root->root.context.trace_state)
        setenv("TRACESTATE", root->root.context.trace_state, 1);
    else
        unsetenv("TRACESTATE"); /* it had no valid parent */
}

bool command_root_is_left_out(const struct command_root *root)
{
    return root->api && !(root->root.context.flags & TRACE_FLAG_SAMPLED);
}

void command_root_end(struct command_root *root, const struct injection *injection, struct outcome *outcome)
{
    if (!root->api || command_root_is_left_out(root) || !outcome_has_arrived(outcome))
        return;
    root->accounts_file = xasprintf("%s/" OUTCOME_ROOT_REPORT, injection->report_dir);
    root->root.accounts_file = root->accounts_file;
    root->api->end(&root->root);
    outcome_deinit(outcome);
    outcome_read(outcome, injection->report_dir);
}

void command_root_deinit(struct command_root *root)
{
    free(root->accounts_file);
    *root = (struct command_root){0};
}
