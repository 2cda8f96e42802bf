/* A program that calls all functions of NVTX through NVIDIA's own headers. Prints their results to standard
 * output.
 *
 *   nvtx_host                                          every function once; see EVERY in nvtx_test.py
 *   nvtx_host AGENT DOUBLE RECORDING cuda|nvtx         before and after the agent's start, cuda or nvtx first
 *
 * Compiled with -DPLUGIN it is a library with its own copy of NVTX. */
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef PLUGIN

int plugin_push(void);
void plugin_pop(void);

static nvtxDomainHandle_t domain;

__attribute__((visibility("default"))) int plugin_push(void)
{
    nvtxEventAttributes_t event = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = "in the plugin";
    domain = nvtxDomainCreateA("first");
    return nvtxDomainRangePushEx(domain, &event);
}

__attribute__((visibility("default"))) void plugin_pop(void)
{
    nvtxDomainRangePop(domain);
    nvtxDomainDestroy(domain);
}

#else

#include "host_support.h"
#include "agent/recording/replay_seam.h"

#define THREADS 4
#define ROUNDS  2000

static nvtxEventAttributes_t event_named(const char *name)
{
    nvtxEventAttributes_t event = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = name;
    return event;
}

static void call_plain_functions(void)
{
    nvtxEventAttributes_t event = event_named("ex");
    nvtxRangeId_t ids[3];
    nvtxMarkA("mark");
    nvtxMarkW(L"m\u00e4rk");
    nvtxMarkEx(&event);
    printf("push %d\n", nvtxRangePushA("push"));
    printf("push %d\n", nvtxRangePushW(L"p\u00fcsh"));
    printf("push %d\n", nvtxRangePushEx(&event));
    for (int i = 0; i < 4; i++)
        printf("pop %d\n", nvtxRangePop());
    ids[0] = nvtxRangeStartA("start");
    ids[1] = nvtxRangeStartW(L"st\u00e4rt");
    ids[2] = nvtxRangeStartEx(&event);
    for (int i = 0; i < 3; i++)
        nvtxRangeEnd(ids[i]);
    nvtxNameCategoryA(1, "copies");
    nvtxNameCategoryW(2, L"k\u00f6rnel");
    event.category = 1;
    nvtxMarkEx(&event);
    event.category = 2;
    nvtxMarkEx(&event);
    event.category = 3;
    nvtxMarkEx(&event);
}

static void call_with_payloads(nvtxDomainHandle_t domain)
{
    nvtxEventAttributes_t event = event_named("payload");
    event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    event.payload.ullValue = UINT64_MAX;
    nvtxDomainMarkEx(domain, &event);
    event.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    event.payload.llValue = -5;
    nvtxDomainMarkEx(domain, &event);
    event.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    event.payload.dValue = 0.5;
    nvtxDomainMarkEx(domain, &event);
    event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT32;
    event.payload.uiValue = 6;
    nvtxDomainMarkEx(domain, &event);
    event.payloadType = NVTX_PAYLOAD_TYPE_INT32;
    event.payload.iValue = -7;
    nvtxDomainMarkEx(domain, &event);
    event.payloadType = NVTX_PAYLOAD_TYPE_FLOAT;
    event.payload.fValue = 0.25f;
    nvtxDomainMarkEx(domain, &event);
}

static void call_with_domains(void)
{
    nvtxDomainHandle_t first = nvtxDomainCreateA("first"), second = nvtxDomainCreateW(L"zw\u00f6");
    nvtxStringHandle_t string = nvtxDomainRegisterStringA(first, "registered");
    nvtxStringHandle_t wide = nvtxDomainRegisterStringW(second, L"r\u00e4gistered");
    nvtxEventAttributes_t event = event_named(NULL);
    if (!first || !second || !string || !wide)
        printf("no handle\n");
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = string;
    printf("push %d\n", nvtxDomainRangePushEx(first, &event));
    event.message.registered = wide;
    printf("push %d\n", nvtxDomainRangePushEx(second, &event));
    printf("push %d\n", nvtxDomainRangePushEx(first, &event));
    printf("pop %d\n", nvtxDomainRangePop(second));
    printf("pop %d\n", nvtxDomainRangePop(first));
    printf("pop %d\n", nvtxDomainRangePop(first));
    nvtxDomainNameCategoryA(first, 1, "of first");
    nvtxDomainNameCategoryW(second, 1, L"\u00f6f second");
    event.category = 1;
    nvtxDomainMarkEx(first, &event);
    nvtxDomainRangeEnd(second, nvtxDomainRangeStartEx(second, &event));
    event.messageType = NVTX_MESSAGE_TYPE_UNICODE;
    event.message.unicode = L"\u00fcnicode";
    nvtxDomainMarkEx(NULL, &event);
    call_with_payloads(first);
    nvtxDomainDestroy(first);
    nvtxDomainDestroy(second);
}

static void name_objects(void)
{
    nvtxResourceAttributes_t resource = {.version = NVTX_VERSION, .size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE};
    nvtxNameOsThreadA(21, "thread");
    nvtxNameOsThreadW(22, L"thr\u00e4d");
    nvtxNameCuDeviceA(0, "device");
    nvtxNameCuDeviceW(1, L"d\u00e4vice");
    nvtxNameCuContextA((CUcontext)31, "context");
    nvtxNameCuContextW((CUcontext)32, L"c\u00f6ntext");
    nvtxNameCuStreamA((CUstream)41, "stream");
    nvtxNameCuStreamW((CUstream)42, L"str\u00e4m");
    nvtxNameCuEventA((CUevent)51, "event");
    nvtxNameCuEventW((CUevent)52, L"\u00e4vent");
    nvtxNameCudaDeviceA(2, "cudart device");
    nvtxNameCudaDeviceW(3, L"cudart d\u00e4vice");
    nvtxNameCudaStreamA((cudaStream_t)43, "cudart stream");
    nvtxNameCudaStreamW((cudaStream_t)44, L"cudart str\u00e4m");
    nvtxNameCudaEventA((cudaEvent_t)53, "cudart event");
    nvtxNameCudaEventW((cudaEvent_t)54, L"cudart \u00e4vent");
    resource.identifierType = NVTX_RESOURCE_TYPE_CUDART_STREAM;
    resource.identifier.ullValue = 45;
    resource.messageType = NVTX_MESSAGE_TYPE_ASCII;
    resource.message.ascii = "resource";
    nvtxDomainResourceDestroy(nvtxDomainResourceCreate(NULL, &resource));
}

static int call_every_function(void)
{
    nvtxInitialize(NULL);
    call_plain_functions();
    call_with_domains();
    name_objects();
    const char *plugin = getenv("NVTX_PLUGIN");
    nvtxDomainHandle_t domain = nvtxDomainCreateA("first");
    nvtxEventAttributes_t event = event_named("outside the plugin");
    nvtxDomainRangePushEx(domain, &event);
    printf("plugin %d\n", ((int (*)(void))find(plugin, "plugin_push"))());
    ((void (*)(void))find(plugin, "plugin_pop"))();
    printf("pop %d\n", nvtxDomainRangePop(domain));
    return 0;
}

static void *nest(void *result)
{
    char name[32];
    nvtxDomainHandle_t domain = nvtxDomainCreateA("of threads");
    for (int i = 0; i < ROUNDS; i++) {
        snprintf(name, sizeof name, "round %d", i);
        nvtxEventAttributes_t event = event_named(NULL);
        event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
        event.message.registered = nvtxDomainRegisterStringA(domain, name);
        int outer = nvtxRangePushA("outer"), inner = nvtxDomainRangePushEx(domain, &event);
        nvtxRangeEnd(nvtxRangeStartA("span")); /* not captured if the ring is full */
        if (outer != 0 || inner != 0 || nvtxDomainRangePop(domain) != 0 || nvtxRangePop() != 0)
            *(int *)result += 1;
    }
    return NULL;
}

static void nest_on_threads(void)
{
    pthread_t threads[THREADS];
    int wrong[THREADS] = {0}, sum = 0;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, nest, &wrong[i]) != 0)
            exit(1);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += wrong[i];
    }
    printf("wrong on threads %d\n", sum);
}

static void show_start(const char *when)
{
    nvtxRangeId_t id = nvtxRangeStartA("span");
    nvtxRangeEnd(id);
    printf("%s: %s\n", when, id ? "captured" : "not captured");
}

static int start_agent(char **paths)
{
    struct error err = {""};
    if (((cuspan_replay_load_fn *)find(paths[1], "cuspan_replay_load"))(paths[2], &err) != STATUS_OK) {
        printf("%s\n", err.text);
        return 1;
    }
    return ((int (*)(void))find(paths[0], "InitializeInjection"))() != 1;
}

static int go_with_agent(char **paths, int nvtx_first)
{
    nvtxDomainHandle_t domain = NULL;
    nvtxEventAttributes_t event = event_named("in a domain");
    if (nvtx_first) {
        nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "named early");
        domain = nvtxDomainCreateA("early");
        show_start("before");
        printf("push %d\n", nvtxRangePushA("early"));
        printf("push %d\n", nvtxDomainRangePushEx(domain, &event));
    }
    if (start_agent(paths) != 0)
        return 1;
    show_start("after");
    if (nvtx_first) {
        printf("push %d\n", nvtxRangePushA("inside the early one"));
        printf("pop %d\n", nvtxRangePop());
        printf("pop %d\n", nvtxRangePop());
        printf("pop %d\n", nvtxDomainRangePop(domain));
    }
    printf("push %d\n", nvtxRangePushA("late"));
    printf("pop %d\n", nvtxRangePop());
    printf("pop %d\n", nvtxRangePop());
    nest_on_threads();
    return 0;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    return argc == 5 ? go_with_agent(argv + 1, strcmp(argv[4], "nvtx") == 0) : call_every_function();
}

#endif
