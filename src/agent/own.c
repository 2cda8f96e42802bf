#include "agent/own.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

const char *own_variable(const char *name)
{
    return getauxval(AT_SECURE) ? NULL : getenv(name);
}

const char *own_folder(void)
{
    static char folder[512];
    Dl_info info;
    snprintf(folder, sizeof folder, ".");
    if (!dladdr((const void *)(uintptr_t)own_folder, &info) || !info.dli_fname)
        return folder;
    const char *slash = strrchr(info.dli_fname, '/');
    if (slash)
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - info.dli_fname), info.dli_fname);
    return folder;
}
