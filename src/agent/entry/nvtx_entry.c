#include "agent/entry/nvtx_entry.h"

#include "base/log.h"
#include "capture/nvtx/nvtx.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>

int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t id))
{
    int saved_errno = errno;
    bool is_attached = nvtx_attach(export_table);
    errno = saved_errno;
    return is_attached;
}

int InitializeInjectionNvtxExtension(const struct nvtx_ext_module *module)
{
    return nvtx_attach_extension(module);
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat of_a, of_b;
    return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

void nvtx_entry_check(const char *value)
{
    Dl_info own;
    if (!log_enabled(LOG_INFO) || !dladdr((const void *)(uintptr_t)InitializeInjectionNvtx2, &own) ||
        !own.dli_fname)
        return;
    if (!value || !*value)
        log_info("NVTX ranges are not captured: set NVTX_INJECTION64_PATH to %s", own.dli_fname);
    else if (!is_same_file(value, own.dli_fname))
        log_info("NVTX ranges are not captured: NVTX_INJECTION64_PATH is %.300s, which is not this library",
                 value);
}
