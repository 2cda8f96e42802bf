#include "agent/replay/play/replay_names.h"

#include "agent/abi/nvtx_abi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#define AGENT "libcuspan.so"

typedef void name_number_fn(uint32_t number, const char *name);
typedef void name_handle_fn(const void *handle, const char *name);

/* A minimal copy of NVTX, as each module of a program has one. The agent fills in the functions. */
static nvtx_function *core_functions[NVTX_CORE_COUNT], *cuda_functions[NVTX_CUDA_COUNT];
static nvtx_function **core_table[NVTX_CORE_COUNT + 1], **cuda_table[NVTX_CUDA_COUNT + 1];

static int get_table(uint32_t module, nvtx_function ****table, unsigned int *size)
{
    *table = module == NVTX_MODULE_CORE ? core_table : cuda_table;
    *size = module == NVTX_MODULE_CORE ? NVTX_CORE_COUNT : NVTX_CUDA_COUNT;
    return module == NVTX_MODULE_CORE || module == NVTX_MODULE_CUDA;
}

static const void *export_table(uint32_t id)
{
    static const struct nvtx_callbacks_table callbacks = {sizeof callbacks, get_table};
    return id == NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

static void attach(void)
{
    for (int i = 1; i < NVTX_CORE_COUNT; i++)
        core_table[i] = &core_functions[i];
    for (int i = 1; i < NVTX_CUDA_COUNT; i++)
        cuda_table[i] = &cuda_functions[i];
    void *agent = dlopen(AGENT, RTLD_LAZY | RTLD_NOLOAD);
    int (*initialize)(const void *(*)(uint32_t)) =
        (int (*)(const void *(*)(uint32_t)))(agent ? dlsym(agent, "InitializeInjectionNvtx2") : NULL);
    if (initialize)
        initialize(export_table);
}

static void name_number(nvtx_function *function, uint64_t number, const char *name)
{
    if (function)
        ((name_number_fn *)function)((uint32_t)number, name);
}

static void name_handle(nvtx_function *function, uint64_t handle, const char *name)
{
    if (function)
        ((name_handle_fn *)function)((const void *)(uintptr_t)handle, name);
}

void replay_names_play(const struct name_record *name)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char text[RANGE_TEXT_BYTES + 1];
    pthread_once(&once, attach);
    snprintf(text, sizeof text, "%.*s", (int)name->name_bytes, name->name);
    switch ((enum named_object)name->head.cbid) {
    case NAMED_STREAM:
        name_handle(cuda_functions[NVTX_CALL_NameCuStreamA], name->handle, text);
        break;
    case NAMED_CONTEXT:
        name_handle(cuda_functions[NVTX_CALL_NameCuContextA], name->handle, text);
        break;
    case NAMED_DEVICE:
        name_number(cuda_functions[NVTX_CALL_NameCuDeviceA], name->handle, text);
        break;
    case NAMED_EVENT:
        name_handle(cuda_functions[NVTX_CALL_NameCuEventA], name->handle, text);
        break;
    case NAMED_THREAD:
        name_number(core_functions[NVTX_CALL_NameOsThreadA], name->handle, text);
        break;
    case NAMED_CONTEXT_ID:
        break; /* the agent sees these names again in the calls */
    }
}
