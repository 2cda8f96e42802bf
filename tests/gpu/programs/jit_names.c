/* Whether the text that kernel records point to outlives its module, and where else a kernel's name is
 * available.
 *
 *   jit_names CUPTI classic|subscriber MODE COUNT CUBIN
 *
 * Loads COUNT modules with one kernel each, all of another name, launches it once, and unloads the module.
 * When CUPTI delivers a record, and again at the end, the text is read without a risk of a crash, and
 * compared with the name that the correlation ID stands for. MODE, letters: s  synchronize before each unload
 * l  libraries instead of modules p  the flushing thread sleeps 100 ms    e  no flush until the end u  flush
 * in MODULE_UNLOAD_STARTING      g  launch as the only node of a graph    c  capture the graph x  destroy the
 * context each time */
#include "bare_cupti.h"

#include "agent/abi/cupti_abi.h"

#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT_MAX 8000
#define CORR_MAX  (1 << 20)
#define PREFIX    "jit_kernel_"

static const char *mode;
static int count;
static struct kernel {
    const char *symbol_enter, *symbol_exit, *func_name, *node_name; /* pointers */
    const char *record;
    atomic_int unloading, unloaded;
    int records, right, had_symbol, symbol_is_right, at_unload_right;
} kernels[COUNT_MAX];
static uint32_t of_correlation[CORR_MAX]; /* index + 1 */
static atomic_int current = -1;
static _Atomic uint32_t node_corr;
static uint32_t last_loaded;
static CUresult (*func_name)(const char **name, CUfunction function);
static CUresult (*node_params)(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params);
static struct {
    int records, right, other, empty, null, unreadable, foreign, right_before, right_during, right_after,
        wrong_before, wrong_during, wrong_after, is_symbol, is_func, is_node;
    int loaded, unloads, loaded_named, symbols, symbols_right, exit_differs;
    int in_cubin, cubin_at_unload, same_module;
    int nodes_created, nodes_cloned, node_params_ok, node_names_right, name_not_hidden;
    uint64_t node_ns;
} seen;

static bool has(char letter)
{
    return strchr(mode, letter) != NULL;
}

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        CUresult result_ = (call);                                                                           \
        if (result_) {                                                                                       \
            printf("%s: %d\n", #call, result_);                                                              \
            exit(3);                                                                                         \
        }                                                                                                    \
    } while (0)

static void expected_name(int index, char to[32])
{
    snprintf(to, 32, PREFIX "%08d", index);
}

static int state_of(const char *text, int index)
{
    char found[64], expected[32];
    expected_name(index, expected);
    if (!text)
        return 4;
    if (!bare_read(text, found, sizeof found))
        return 3;
    if (strcmp(found, expected) == 0)
        return 0;
    return strncmp(found, PREFIX, strlen(PREFIX)) == 0 ? 1 : 2;
}

static void on_record(const struct bare_record *record)
{
    if (record->kind != 10)
        return;
    uint32_t index = record->correlation < CORR_MAX ? of_correlation[record->correlation] : 0;
    if (!index) {
        seen.foreign++;
        if (seen.foreign < 3)
            bare_print(record, 0);
        return;
    }
    struct kernel *kernel = &kernels[--index];
    int state = state_of(record->name, (int)index);
    kernel->record = record->name;
    kernel->records++;
    kernel->right += state == 0;
    seen.records++;
    int *states[] = {&seen.right, &seen.other, &seen.empty, &seen.unreadable, &seen.null};
    (*states[state])++;
    int *times[2][3] = {{&seen.wrong_before, &seen.wrong_during, &seen.wrong_after},
                        {&seen.right_before, &seen.right_during, &seen.right_after}};
    (*times[state == 0][atomic_load(&kernel->unloaded) ? 2 : atomic_load(&kernel->unloading) ? 1 : 0])++;
    seen.is_symbol += record->name == kernel->symbol_enter;
    seen.is_func += record->name == kernel->func_name;
    seen.is_node += record->name == kernel->node_name;
    if (state && seen.records - seen.right < 4) {
        char text[64];
        bool is_read = bare_read(record->name, text, sizeof text);
        printf("  wrong: %u unloaded %d pointer %p symbol %p func %p text '%.40s'\n", index,
               atomic_load(&kernel->unloaded), (const void *)record->name, (const void *)kernel->symbol_enter,
               (const void *)kernel->func_name, is_read ? text : "(unmapped)");
    }
}

static void on_launch(const struct cupti_callback_data *data)
{
    int index = atomic_load(&current);
    if (index < 0)
        return;
    struct kernel *kernel = &kernels[index];
    if (data->correlationId < CORR_MAX)
        of_correlation[data->correlationId] = (uint32_t)index + 1;
    if (data->callbackSite == CUPTI_SITE_EXIT) {
        kernel->symbol_exit = data->symbolName;
        seen.exit_differs += kernel->symbol_exit != kernel->symbol_enter;
        return;
    }
    kernel->symbol_enter = data->symbolName;
    seen.symbols += data->symbolName != NULL;
    seen.symbols_right += state_of(data->symbolName, index) == 0;
}

static void on_node(uint32_t cbid, const struct cupti_graph_data *data)
{
    int index = atomic_load(&current);
    uint64_t start = bare_now_ns();
    CUDA_KERNEL_NODE_PARAMS params;
    const char *name = NULL;
    (*(cbid == CUPTI_RESOURCE_GRAPHNODE_CREATED ? &seen.nodes_created : &seen.nodes_cloned))++;
    CUresult result = node_params(data->node, &params);
    if (result == CUDA_SUCCESS && func_name(&name, params.func) == CUDA_SUCCESS)
        seen.node_params_ok++;
    else if (seen.nodes_created + seen.nodes_cloned < 6)
        printf("  node %u: params %d\n", cbid, result);
    seen.node_ns += bare_now_ns() - start;
    if (index < 0 || !name)
        return;
    kernels[index].node_name = name;
    seen.node_names_right += state_of(name, index) == 0;
}

static void on_resource(uint32_t cbid, const struct cupti_resource_data *data)
{
    if (!data)
        return;
    const struct cupti_module_data *module = data->resourceDescriptor;
    int index = atomic_load(&current);
    if (cbid == CUPTI_RESOURCE_MODULE_LOADED) {
        seen.loaded++;
        seen.loaded_named += module && module->pCubin && module->cubinSize > 0;
        last_loaded = module ? module->moduleId : 0;
        if (seen.loaded < 3 && module)
            printf("  loaded module %u cubin %p + %zu\n", module->moduleId, (const void *)module->pCubin,
                   module->cubinSize);
    } else if (cbid == CUPTI_RESOURCE_MODULE_UNLOAD_STARTING) {
        seen.unloads++;
        if (module && index >= 0) {
            const char *symbol = kernels[index].symbol_enter;
            seen.cubin_at_unload += module->pCubin != NULL;
            seen.in_cubin += symbol >= module->pCubin && symbol < module->pCubin + module->cubinSize;
            seen.same_module += module->moduleId == last_loaded;
            if (seen.unloads < 3)
                printf("  unload module %u cubin %p + %zu symbol %p func %p\n", module->moduleId,
                       (const void *)module->pCubin, module->cubinSize, (const void *)symbol,
                       (const void *)kernels[index].func_name);
        }
        if (index < 0)
            return;
        struct kernel *kernel = &kernels[index];
        kernel->at_unload_right = state_of(kernel->symbol_enter, index) == 0;
        atomic_store(&kernel->unloading, 1);
        if (has('u'))
            bare_flush(false);
    } else if ((cbid == CUPTI_RESOURCE_GRAPHNODE_CREATED || cbid == CUPTI_RESOURCE_GRAPHNODE_CLONED) &&
               has('g')) {
        on_node(cbid, data->resourceDescriptor);
    }
}

static void on_callback(uint32_t domain, uint32_t cbid, const void *data)
{
    const struct cupti_callback_data *call = data;
    if (domain == BARE_RESOURCE)
        on_resource(cbid, data);
    else if (domain == BARE_DRIVER && call->functionName &&
             (strncmp(call->functionName, "cuLaunchKernel", 14) == 0 ||
              strncmp(call->functionName, "cuGraphLaunch", 13) == 0))
        on_launch(call);
}

static void *flush(void *unused)
{
    for (;;) {
        usleep(has('p') ? 100000 : 2000);
        bare_flush(false);
    }
    return unused;
}

static char *read_cubin(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    char *cubin = calloc(1, 1 << 20);
    *bytes = file ? fread(cubin, 1, 1 << 20, file) : 0;
    return cubin;
}

static void rename_in(char *cubin, size_t bytes, int index)
{
    char name[32];
    expected_name(index, name);
    for (char *at = cubin; (at = memmem(at, bytes - (size_t)(at - cubin), PREFIX, strlen(PREFIX))); at++)
        memcpy(at, name, strlen(name));
}

#define LOAD_CU(name) __typeof__(&name) p_##name = (__typeof__(&name))dlsym(cuda, #name)
#define LOAD_V2(name) __typeof__(&name) p_##name = (__typeof__(&name))dlsym(cuda, #name "_v2")

int main(int argc, char **argv)
{
    if (argc < 6)
        return 2;
    mode = argv[3];
    count = atoi(argv[4]);
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    __typeof__(&cuInit) p_cuInit = (__typeof__(&cuInit))dlsym(cuda, "cuInit");
    __typeof__(&cuDevicePrimaryCtxRetain) p_retain =
        (__typeof__(&cuDevicePrimaryCtxRetain))dlsym(cuda, "cuDevicePrimaryCtxRetain");
    __typeof__(&cuDevicePrimaryCtxRetain) p_unused = p_retain;
    CUresult (*p_reset)(CUdevice) = (CUresult(*)(CUdevice))dlsym(cuda, "cuDevicePrimaryCtxReset_v2");
    LOAD_CU(cuCtxSetCurrent);
    LOAD_CU(cuModuleLoadData);
    LOAD_CU(cuModuleGetFunction);
    LOAD_CU(cuModuleUnload);
    LOAD_CU(cuLibraryLoadData);
    LOAD_CU(cuLibraryGetKernel);
    LOAD_CU(cuKernelGetFunction);
    LOAD_CU(cuLibraryUnload);
    LOAD_CU(cuLaunchKernel);
    LOAD_CU(cuCtxSynchronize);
    LOAD_CU(cuStreamCreate);
    LOAD_CU(cuGraphCreate);
    CUresult (*p_add)(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const CUDA_KERNEL_NODE_PARAMS *) =
        (CUresult(*)(CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
                     const CUDA_KERNEL_NODE_PARAMS *))dlsym(cuda, "cuGraphAddKernelNode_v2");
    LOAD_CU(cuGraphInstantiateWithFlags);
    LOAD_CU(cuGraphLaunch);
    LOAD_CU(cuGraphExecDestroy);
    LOAD_CU(cuGraphDestroy);
    CUresult (*p_begin)(CUstream, CUstreamCaptureMode) =
        (CUresult(*)(CUstream, CUstreamCaptureMode))dlsym(cuda, "cuStreamBeginCapture_v2");
    LOAD_CU(cuStreamEndCapture);
    *(void **)&func_name = dlsym(cuda, "cuFuncGetName");
    *(void **)&node_params = dlsym(cuda, "cuGraphKernelNodeGetParams_v2");
    if (strcmp(argv[1], "none") != 0)
        bare_start(&(struct bare_options){.library = argv[1],
                                          .subscriber_api = strcmp(argv[2], "subscriber") == 0,
                                          .driver_calls = true,
                                          .on_record = on_record,
                                          .on_callback = on_callback});
    size_t bytes;
    char *cubin = read_cubin(argv[5], &bytes);
    CUcontext context;
    CUstream stream;
    CHECK(p_cuInit(0));
    CHECK(p_retain(&context, 0));
    CHECK(p_cuCtxSetCurrent(context));
    CHECK(p_cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    pthread_t thread;
    if (!has('e') && strcmp(argv[1], "none") != 0)
        pthread_create(&thread, NULL, flush, NULL);
    uint64_t begin = bare_now_ns();
    for (int i = 0; i < count; i++) {
        CUmodule module = NULL;
        CUlibrary library = NULL;
        CUkernel handle = NULL;
        CUfunction function = NULL, launched;
        CUgraph graph = NULL;
        CUgraphExec exec = NULL;
        CUdeviceptr null = 0;
        void *arguments[] = {&null};
        rename_in(cubin, bytes, i);
        atomic_store(&current, i);
        char name[32];
        expected_name(i, name);
        if (has('l')) {
            CHECK(p_cuLibraryLoadData(&library, cubin, NULL, NULL, 0, NULL, NULL, 0));
            CHECK(p_cuLibraryGetKernel(&handle, library, name));
            CHECK(p_cuKernelGetFunction(&function, handle));
            launched = (CUfunction)handle;
        } else {
            CHECK(p_cuModuleLoadData(&module, cubin));
            CHECK(p_cuModuleGetFunction(&function, module, name));
            launched = function;
        }
        if (func_name)
            func_name(&kernels[i].func_name, function);
        if (has('g')) {
            if (has('c')) {
                CHECK(p_begin(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
                CHECK(p_cuLaunchKernel(launched, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
                CHECK(p_cuStreamEndCapture(stream, &graph));
            } else {
                CUgraphNode node;
                CUDA_KERNEL_NODE_PARAMS params = {.func = function,
                                                  .gridDimX = 1,
                                                  .gridDimY = 1,
                                                  .gridDimZ = 1,
                                                  .blockDimX = 1,
                                                  .blockDimY = 1,
                                                  .blockDimZ = 1,
                                                  .kernelParams = arguments};
                CHECK(p_cuGraphCreate(&graph, 0));
                CHECK(p_add(&node, graph, NULL, 0, &params));
            }
            CHECK(p_cuGraphInstantiateWithFlags(&exec, graph, 0));
            CHECK(p_cuGraphLaunch(exec, stream));
        } else {
            CHECK(p_cuLaunchKernel(launched, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
        }
        if (has('s') || has('g') || has('x'))
            CHECK(p_cuCtxSynchronize());
        if (graph) {
            CHECK(p_cuGraphExecDestroy(exec));
            CHECK(p_cuGraphDestroy(graph));
        }
        if (has('x')) {
            CHECK(p_reset(0));
            CHECK(p_retain(&context, 0));
            CHECK(p_cuCtxSetCurrent(context));
            CHECK(p_cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        } else {
            CHECK(has('l') ? p_cuLibraryUnload(library) : p_cuModuleUnload(module));
        }
        atomic_store(&kernels[i].unloaded, 1);
    }
    uint64_t end = bare_now_ns();
    p_cuCtxSynchronize();
    if (strcmp(argv[1], "none") == 0)
        return 0;
    usleep(200000);
    bare_flush(true);
    usleep(100000);
    bare_flush(true);
    int late = 0, at_unload = 0, unique = 0, none = 0;
    for (int i = 0; i < count; i++) {
        late += state_of(kernels[i].record, i) == 0;
        at_unload += kernels[i].at_unload_right;
        none += !kernels[i].records;
        int is_unique = 1;
        for (int j = i - 1; j >= 0 && is_unique; j--)
            is_unique = kernels[j].record != kernels[i].record;
        unique += is_unique;
    }
    printf("NAMES version %u api %s mode %s count %d: records %d missing %d right %d other %d garbage %d "
           "unreadable %d null %d foreign %d | "
           "right before/during/after unload %d/%d/%d wrong %d/%d/%d | right at end %d, unique pointers %d | "
           "record==symbolName %d ==cuFuncGetName %d ==node %d | symbolName set %d right %d exit differs %d, "
           "right at UNLOAD_STARTING %d | "
           "loaded %d with cubin %d unloads %d | "
           "nodes created %d cloned %d params ok %d right %d ns each %d "
           "| %d ns per round\n",
           bare_version(), argv[2], mode, count, seen.records, none, seen.right, seen.other, seen.empty,
           seen.unreadable, seen.null, seen.foreign, seen.right_before, seen.right_during, seen.right_after,
           seen.wrong_before, seen.wrong_during, seen.wrong_after, late, unique, seen.is_symbol, seen.is_func,
           seen.is_node, seen.symbols, seen.symbols_right, seen.exit_differs, at_unload, seen.loaded,
           seen.loaded_named, seen.unloads, seen.nodes_created, seen.nodes_cloned, seen.node_params_ok,
           seen.node_names_right,
           (int)(seen.node_ns / (uint64_t)(seen.nodes_created + seen.nodes_cloned + 1)),
           (int)((end - begin) / (uint64_t)count));
    fflush(stdout);
    _exit(0);
}
