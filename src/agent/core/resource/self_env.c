#include "agent/core/resource/self_env.h"

#include "base/process/agent_thread.h"
#include "base/process/variables.h"
#include "agent/config/config.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define STACK_BYTES (512 * 1024)

static const char *read_variable(const char *name, void *context)
{
    return variables_get(name);
}

static enum status load(struct settings *settings, struct config_report *report)
{
    const struct config_input input = {.getenv = read_variable, .variables = variables_all()};
    return config_load(&input, settings, report);
}

enum status self_env_settings(struct settings *settings, const struct config_report **report)
{
    static struct config_report only;
    *report = &only;
    return load(settings, &only);
}

enum status self_env_look(struct settings *settings)
{
    struct config_report *unused = malloc(sizeof *unused);
    enum status status = unused ? load(settings, unused) : STATUS_NO_MEMORY;
    free(unused);
    return status;
}

static char folder[512] = ".";

static void find_folder(void)
{
    Dl_info info;
    if (!dladdr((const void *)(uintptr_t)self_env_folder, &info) || !info.dli_fname)
        return;
    const char *slash = strrchr(info.dli_fname, '/');
    if (slash)
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - info.dli_fname), info.dli_fname);
}

const char *self_env_folder(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_folder);
    return folder;
}

int self_env_thread(pthread_t *thread, void *(*run)(void *))
{
    return agent_thread_start(thread, STACK_BYTES, run, NULL);
}
