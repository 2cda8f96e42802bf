#include "agent/core/lifecycle/nvtx_entry.h"

#include "base/log/log.h"
#include "base/process/host_call.h"
#include "agent/capture/nvtx/nvtx.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <sys/stat.h>

int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t id))
{
    struct host_call call = host_call_begin();
    bool is_attached = nvtx_attach(export_table);
    host_call_end(call);
    return is_attached;
}

int InitializeInjectionNvtxExtension(const struct nvtx_ext_module *module)
{
    struct host_call call = host_call_begin();
    int answer = nvtx_attach_extension(module);
    host_call_end(call);
    return answer;
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
