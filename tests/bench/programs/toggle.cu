// Tests whether switching CUPTI's callbacks or activity kinds while calls are in flight breaks its
// correlation IDs. Four threads launch kernels and copy; another thread switches something on and off; each
// thread's runtime callbacks check that the correlation ID grows from call to call. Then: from when on do
// graph records arrive, if they are switched on at different points of a graph's life? And how long does a
// process's first switch of graph records take, and what do calls cost then:
//   toggle first THREADS [flush] [never] [warm-before|warm-after|on] [costs]
// The switch is made in the callback of cudaStreamBeginCapture (`never`: not at all) while THREADS others launch and, with
// `flush`, one flushes; warm-*: after switching on and off once, before or after CUDA is initialized; on: on from the
// start; costs: prints what calls cost before the capture. One process gives one figure: run it often.
// With the nvcc of CUDA 13.5, whose headers fit CUPTI's:
//   nvcc -O2 -std=c++17 -arch=sm_90 -I$CUPTI13.5/include toggle.cu -o toggle && CUPTI_LIB=.../libcupti.so.13 ./toggle
#include <cupti.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <thread>
#include <vector>

__global__ void nop() {}

static void *lib;
#define F(f) ((decltype(&f))dlsym(lib, #f))
static CUpti_SubscriberHandle sub;
static std::atomic<long> repeats, calls, kernels, graphs;
static thread_local uint32_t last_id;
static bool switches_at_capture;
static void graph_trace(bool on);

static double now_us()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static void CUPTIAPI on_call(void *, CUpti_CallbackDomain domain, CUpti_CallbackId, const void *data)
{
    auto *info = (const CUpti_CallbackData *)data;
    if (domain != CUPTI_CB_DOMAIN_RUNTIME_API || info->callbackSite != CUPTI_API_ENTER)
        return;
    calls++;
    if (info->correlationId == last_id)
        repeats++;
    last_id = info->correlationId;
    if (switches_at_capture && strncmp(info->functionName, "cudaStreamBeginCapture", 22) == 0) {
        double begin = now_us();
        graph_trace(true);
        printf("switch %.2f us; ", now_us() - begin);
        switches_at_capture = false;
    }
}
static void CUPTIAPI request(uint8_t **buffer, size_t *size, size_t *n, CUpti_BufferCallbackRequestInfo *)
{
    *size = 1 << 20;
    *buffer = (uint8_t *)aligned_alloc(64, *size);
    *n = 0;
}
static void CUPTIAPI complete(uint8_t *buffer, size_t, size_t valid, CUpti_BufferCallbackCompleteInfo *)
{
    CUpti_Activity *r = nullptr;
    while (F(cuptiActivityGetNextRecord_v2)(sub, buffer, valid, &r) == CUPTI_SUCCESS) {
        kernels += r->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
        graphs += r->kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
    }
    free(buffer);
}
static void enable(CUpti_ActivityKind kind, std::vector<int> fields)
{
    CUpti_ActivityConfig c = {};
    c.structSize = CUpti_ActivityConfig_STRUCT_SIZE;
    c.fieldSelection.structSize = sizeof c.fieldSelection;
    c.fieldSelection.numFields = fields.size();
    c.fieldSelection.pFieldIds = fields.data();
    if (int e = F(cuptiActivityEnable_v2)(sub, kind, &c))
        printf("enable %d: %d\n", kind, e);
}
static void graph_trace(bool on)
{
    if (on)
        enable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, {GRAPH_TRACE_FIELD_KIND, GRAPH_TRACE_FIELD_START, GRAPH_TRACE_FIELD_END, GRAPH_TRACE_FIELD_CORRELATION_ID});
    else
        F(cuptiActivityDisable_v2)(sub, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, nullptr);
}
static void kernel_records(bool on)
{
    if (on)
        enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, {KERNEL_FIELD_KIND, KERNEL_FIELD_START, KERNEL_FIELD_END, KERNEL_FIELD_CORRELATION_ID});
    else
        F(cuptiActivityDisable_v2)(sub, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, nullptr);
}
static void driver_calls(bool on)
{
    for (int id : {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
                   CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz, CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2, CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize,
                   CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync, CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync, CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync})
        F(cuptiEnableCallback)(on, sub, CUPTI_CB_DOMAIN_DRIVER_API, id);
}
static void runtime_calls(bool on)
{
    for (int id : {CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020, CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020,
                   CUPTI_RUNTIME_TRACE_CBID_cudaMallocAsync_v11020, CUPTI_RUNTIME_TRACE_CBID_cudaFreeAsync_v11020})
        F(cuptiEnableCallback)(on, sub, CUPTI_CB_DOMAIN_RUNTIME_API, id);
}
static void stress(const char *what, void (*toggle)(bool), bool before)
{
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    repeats = calls = 0;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&] {
            cudaStream_t s;
            void *d, *h, *p;
            cudaStreamCreate(&s);
            cudaMalloc(&d, 4096);
            cudaMallocHost(&h, 4096);
            while (!stop) {
                for (int k = 0; k < 20; k++)
                    nop<<<1, 32, 0, s>>>();
                cudaMemcpyAsync(d, h, 4096, cudaMemcpyHostToDevice, s);
                cudaMallocAsync(&p, 4096, s);
                cudaFreeAsync(p, s);
                cudaStreamSynchronize(s);
            }
        });
    for (int i = 0; i < 300; i++) {
        usleep(500);
        toggle(i % 2 == 0 ? !before : before);
    }
    stop = true;
    for (auto &t : threads)
        t.join();
    toggle(before);
    printf("%-28s calls %8ld, correlation IDs repeated %ld\n", what, calls.load(), repeats.load());
}
// When: 0 before the capture starts, 1 after it has started, 2 after its nodes were made, 3 before instantiation, 4 after it, 5 after the first launch.
static void graph_life(int when, bool off_first)
{
    cudaStream_t s;
    cudaGraph_t g;
    cudaGraphExec_t ge;
    cudaStreamCreate(&s);
    if (off_first) {
        graph_trace(true);
        nop<<<1, 32, 0, s>>>();
        cudaStreamSynchronize(s);
        graph_trace(false);
    }
    F(cuptiActivityFlushAll)(1);
    kernels = graphs = 0;
    if (when == 0) graph_trace(true);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    if (when == 1) graph_trace(true);
    for (int i = 0; i < 10; i++)
        nop<<<1, 32, 0, s>>>();
    if (when == 2) graph_trace(true);
    cudaStreamEndCapture(s, &g);
    if (when == 3) graph_trace(true);
    cudaGraphInstantiate(&ge, g, 0);
    if (when == 4) graph_trace(true);
    for (int i = 0; i < 10; i++) {
        cudaGraphLaunch(ge, s);
        cudaStreamSynchronize(s);
        if (when == 5 && i == 0) graph_trace(true);
    }
    F(cuptiActivityFlushAll)(1);
    printf("graph records on at %d%s: %ld graph records, %ld kernel records of 10 launches of 10 kernels\n", when, off_first ? " (were on before)" : "", graphs.load(), kernels.load());
    if (when <= 3) { // and off again, with the graph still there
        graph_trace(false);
        kernels = graphs = 0;
        for (int i = 0; i < 10; i++) cudaGraphLaunch(ge, s);
        cudaStreamSynchronize(s);
        F(cuptiActivityFlushAll)(1);
        printf("   off again, launched again: %ld graph records, %ld kernel records\n", graphs.load(), kernels.load());
    } else
        graph_trace(false);
    cudaGraphExecDestroy(ge);
}
// The time of a step; after 10 s, prints its name and ends.
static const char *step = "start";
static void on_alarm(int)
{
    char line[96];
    int length = snprintf(line, sizeof line, "stuck in: %s\n", step);
    if (write(1, line, length)) {}
    _exit(3);
}
template <typename Work> static void timed(const char *name, Work work)
{
    step = name;
    alarm(10);
    double begin = now_us();
    work();
    printf("%s %.1f us; ", name, now_us() - begin);
    fflush(stdout);
    alarm(0);
}
// The cost of calls in the current state of graph records.
static void call_costs()
{
    int device;
    cudaStream_t s;
    cudaStreamCreate(&s);
    double best[3] = {1e9, 1e9, 1e9};
    for (int round = 0; round < 15; round++) {
        double t0 = now_us();
        for (int i = 0; i < 20000; i++) cudaGetDevice(&device);
        double t1 = now_us();
        for (int i = 0; i < 20000; i++) cudaStreamQuery(s);
        double t2 = now_us();
        for (int i = 0; i < 500; i++) nop<<<1, 32, 0, s>>>();
        double t3 = now_us();
        cudaStreamSynchronize(s);
        double took[3] = {(t1 - t0) / 20000, (t2 - t1) / 20000, (t3 - t2) / 500};
        for (int i = 0; i < 3; i++) best[i] = took[i] < best[i] ? took[i] : best[i];
    }
    printf("cudaGetDevice %.1f ns, cudaStreamQuery %.1f ns, launch %.0f ns; ", best[0] * 1e3, best[1] * 1e3, best[2] * 1e3);
}
static void first_switch(int busy, bool flushes, bool switches)
{
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < busy; i++)
        threads.emplace_back([&] {
            cudaStream_t s;
            cudaStreamCreate(&s);
            while (!stop) {
                for (int k = 0; k < 50; k++)
                    nop<<<1, 32, 0, s>>>();
                cudaStreamSynchronize(s);
            }
        });
    threads.emplace_back([&] {
        while (!stop && flushes) {
            F(cuptiActivityFlushAll)(0);
            usleep(1000);
        }
    });
    F(cuptiEnableCallback)(1, sub, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaStreamBeginCapture_v10000);
    usleep(20000);
    cudaStream_t s;
    cudaGraph_t g;
    cudaGraphExec_t ge;
    timed("create", [&] { cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking); });
    switches_at_capture = switches;
    timed("begin", [&] { cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal); });
    for (int i = 0; i < 10; i++)
        nop<<<1, 32, 0, s>>>();
    timed("end", [&] { cudaStreamEndCapture(s, &g); });
    timed("instantiate", [&] { cudaGraphInstantiate(&ge, g, 0); });
    stop = true;
    timed("join", [&] { for (auto &t : threads) t.join(); });
    F(cuptiActivityFlushAll)(1);
    kernels = graphs = 0;
    for (int i = 0; i < 10; i++) cudaGraphLaunch(ge, s);
    cudaStreamSynchronize(s);
    F(cuptiActivityFlushAll)(1);
    printf("%ld graph records, %ld kernel records of 10 launches of 10 kernels\n", graphs.load(), kernels.load());
}
int main(int argc, char **argv)
{
    lib = dlopen(getenv("CUPTI_LIB"), RTLD_NOW);
    CUpti_SubscriberParams p = {};
    p.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    p.subscriberName = "toggle";
    size_t one = 1;
    uint8_t yes = 1;
    F(cuptiSubscribe_v2)(&sub, (CUpti_CallbackFunc)on_call, nullptr, &p);
    F(cuptiActivitySetAttribute_v2)(sub, CUPTI_ACTIVITY_ATTR_USER_DEFINED_RECORDS, &one, &yes);
    F(cuptiActivityRegisterCallbacks_v2)(sub, request, complete);
    runtime_calls(true);
    kernel_records(true);
    signal(SIGALRM, on_alarm);
    auto has = [&](const char *word) {
        for (int i = 1; i < argc; i++)
            if (strcmp(argv[i], word) == 0) return true;
        return false;
    };
    auto warm = [] {
        timed("warm on", [] { graph_trace(true); });
        timed("warm off", [] { graph_trace(false); });
    };
    if (has("warm-before")) warm();
    cudaFree(0);
    if (has("warm-after")) warm();
    if (has("on")) timed("on", [] { graph_trace(true); });
    if (has("costs")) call_costs();
    if (has("first")) {
        first_switch(atoi(argv[2]), has("flush"), !has("never"));
        return 0;
    }
    for (int off_first = 0; off_first < 2; off_first++)
        for (int when = 0; when <= 5; when++)
            graph_life(when, off_first);
    stress("nothing", [](bool) {}, false);
    stress("kernel records", kernel_records, true);
    stress("graph records", graph_trace, false);
    stress("driver callbacks", driver_calls, false);
    stress("runtime callbacks", runtime_calls, true);
    return 0;
}
