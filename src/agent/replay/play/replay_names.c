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

/* The functions that name objects; they take the object's number or handle. */
static nvtx_function **const namers[] = {
    [NAMED_STREAM] = &cuda_functions[NVTX_CALL_NameCuStreamA],
    [NAMED_CONTEXT] = &cuda_functions[NVTX_CALL_NameCuContextA],
    [NAMED_DEVICE] = &cuda_functions[NVTX_CALL_NameCuDeviceA],
    [NAMED_EVENT] = &cuda_functions[NVTX_CALL_NameCuEventA],
    [NAMED_THREAD] = &core_functions[NVTX_CALL_NameOsThreadA],
    [NAMED_CONTEXT_ID] = NULL, /* the agent sees these names again in the calls */
};

void replay_names_play(const struct name_record *name)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char text[RANGE_TEXT_BYTES + 1];
    pthread_once(&once, attach);
    snprintf(text, sizeof text, "%.*s", (int)name->name_bytes, name->name);
    uint16_t object = name->head.cbid;
    nvtx_function **place = object < sizeof namers / sizeof *namers ? namers[object] : NULL;
    if (!place || !*place)
        return;
    if (object == NAMED_DEVICE || object == NAMED_THREAD)
        ((name_number_fn *)*place)((uint32_t)name->handle, text);
    else
        ((name_handle_fn *)*place)((const void *)(uintptr_t)name->handle, text);
}
