// Tests the assumptions of a tracer that sleeps between sampled requests: CUPTI's callbacks and records
// switched on and off thousands of times while threads launch.
//   sleeping costs            the time of a launch before, during and after; the time of a switch
//   sleeping cycles N THREADS [kinds|calls|few|nothing]
//                             N times: on, a request of known work on this thread, off while that is in flight (even
//                             cycles) or done (odd ones); THREADS others launch continuously. Does every call of a
//                             request have its callback, its own correlation ID, and its record?
//   sleeping crew N THREADS ON OFF [one]
//                             like a service: THREADS work, one request in a hundred is sampled, and the first sampled
//                             one in flight switches on, on its own thread; another thread switches off when there is
//                             none. ON, OFF: the kinds in order: k(ernel) c(opy) f(ill) o(verhead) p(eer copy) g(raph)
//                             d(evice) (conte)x(t); kinds missing in OFF stay on;
//                             one: a request waits for that other thread to switch on, too
//   sleeping graphs           a graph made while awake or asleep, with graph records switched or always on: the records
//                             of its launches in later cycles
// Graph records, if enabled, are enabled before the first graph is made.
//   nvcc -O2 -std=c++17 -arch=sm_90 -I$CUPTI13.5/include sleeping.cu -o sleeping && CUPTI_LIB=.../libcupti.so.13 ./sleeping costs
#include <cupti.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

__global__ void nop() {}
__global__ void spin(long n)
{
    long begin = clock64();
    while (clock64() - begin < n) {}
}

static void *lib;
#define F(f) ((decltype(&f))dlsym(lib, #f))
static CUpti_SubscriberHandle sub;
static std::mutex records_lock;
static std::map<uint32_t, int> records; // by correlation ID
static long graph_records, kernel_records, device_records, context_records;
static thread_local std::vector<uint32_t> *noted; // the IDs of this thread's launches and copies
static std::atomic<bool> is_awake;

static double now_us()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}
static void CUPTIAPI on_call(void *, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
    auto *info = (const CUpti_CallbackData *)data;
    if (!is_awake || domain != CUPTI_CB_DOMAIN_RUNTIME_API || info->callbackSite != CUPTI_API_ENTER || !noted)
        return;
    if (id == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000 || id == CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020)
        noted->push_back(info->correlationId);
}
static void CUPTIAPI request(uint8_t **buffer, size_t *size, size_t *n, CUpti_BufferCallbackRequestInfo *)
{
    *size = 65536;
    *buffer = (uint8_t *)aligned_alloc(64, *size);
    *n = 0;
}
static void CUPTIAPI complete(uint8_t *buffer, size_t, size_t valid, CUpti_BufferCallbackCompleteInfo *info)
{
    std::lock_guard<std::mutex> guard(records_lock);
    for (size_t at = 0; at + 4 <= valid;) {
        uint32_t kind, id;
        memcpy(&kind, buffer + at, 4);
        const CUpti_ActivityRecordLayout *layout = kind < info->numRecordLayouts ? info->ppRecordLayouts[kind] : nullptr;
        if (!layout)
            break;
        device_records += kind == CUPTI_ACTIVITY_KIND_DEVICE;
        context_records += kind == CUPTI_ACTIVITY_KIND_CONTEXT;
        if (kind == CUPTI_ACTIVITY_KIND_DEVICE || kind == CUPTI_ACTIVITY_KIND_CONTEXT) {
            at += layout->recordSize;
            continue;
        }
        memcpy(&id, buffer + at + layout->pEntries[3].offset, 4); // the last requested field
        if (kind != CUPTI_ACTIVITY_KIND_OVERHEAD)
            records[id]++;
        graph_records += kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
        kernel_records += kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
        at += layout->recordSize;
    }
    free(buffer);
}
static void kind(bool on, CUpti_ActivityKind which, std::vector<int> fields)
{
    CUpti_ActivityConfig c = {};
    c.structSize = CUpti_ActivityConfig_STRUCT_SIZE;
    c.fieldSelection.structSize = sizeof c.fieldSelection;
    c.fieldSelection.numFields = fields.size();
    c.fieldSelection.pFieldIds = fields.data();
    int e = on ? F(cuptiActivityEnable_v2)(sub, which, &c) : F(cuptiActivityDisable_v2)(sub, which, nullptr);
    if (e)
        printf("kind %d to %d: %d\n", which, on, e);
}
static void graph_kind(bool on)
{
    kind(on, CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
         {GRAPH_TRACE_FIELD_KIND, GRAPH_TRACE_FIELD_START, GRAPH_TRACE_FIELD_END, GRAPH_TRACE_FIELD_CORRELATION_ID});
}
static void kinds(bool on)
{
    kind(on, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
         {KERNEL_FIELD_KIND, KERNEL_FIELD_START, KERNEL_FIELD_END, KERNEL_FIELD_CORRELATION_ID});
    kind(on, CUPTI_ACTIVITY_KIND_MEMCPY,
         {MEMCPY_FIELD_KIND, MEMCPY_FIELD_START, MEMCPY_FIELD_END, MEMCPY_FIELD_CORRELATION_ID});
    kind(on, CUPTI_ACTIVITY_KIND_MEMSET,
         {MEMSET_FIELD_KIND, MEMSET_FIELD_START, MEMSET_FIELD_END, MEMSET_FIELD_CORRELATION_ID});
}
// About as many as a tracer enables: launches, copies, memory, streams, events, graphs of both APIs.
static void calls(bool on)
{
    for (int id = 1; id <= 100; id++)
        F(cuptiEnableCallback)(on, sub, CUPTI_CB_DOMAIN_DRIVER_API, 200 + id);
    F(cuptiEnableCallback)(on, sub, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
    for (int id = 200; id < 280; id++)
        F(cuptiEnableCallback)(on, sub, CUPTI_CB_DOMAIN_RUNTIME_API, id);
    F(cuptiEnableCallback)(on, sub, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020);
    F(cuptiEnableCallback)(on, sub, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
}
static void few_calls(bool on)
{
    F(cuptiEnableCallback)(on, sub, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020);
    F(cuptiEnableCallback)(on, sub, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
}
static const char *switched = "all"; // kinds, calls, few (calls), or nothing: the others stay on
static bool switches(const char *what)
{
    return strcmp(switched, "all") == 0 || strcmp(switched, what) == 0;
}
static void wake()
{
    is_awake = true;
    if (switches("calls"))
        calls(true);
    if (switches("few"))
        few_calls(true);
    if (switches("kinds"))
        kinds(true);
}
static void sleep_again()
{
    if (switches("kinds"))
        kinds(false);
    if (switches("few"))
        few_calls(false);
    if (switches("calls"))
        calls(false);
    is_awake = false;
}
static double launch()
{
    std::vector<double> v;
    for (int r = 0; r < 25; r++) {
        double a = now_us();
        for (int i = 0; i < 1000; i++)
            nop<<<1, 32>>>();
        v.push_back((now_us() - a));
        cudaDeviceSynchronize();
    }
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}
static void show(const char *what, std::vector<double> v)
{
    std::sort(v.begin(), v.end());
    printf("%-36s median %8.1f us, 95 %% %8.1f, most %8.1f (%zu)\n", what, v[v.size() / 2], v[v.size() * 95 / 100], v.back(), v.size());
}
static void subscribe()
{
    CUpti_SubscriberParams p = {};
    p.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    p.subscriberName = "sleeping";
    size_t one = 1;
    uint8_t yes = 1;
    int e = F(cuptiSubscribe_v2)(&sub, (CUpti_CallbackFunc)on_call, nullptr, &p);
    int f = F(cuptiActivitySetAttribute_v2)(sub, CUPTI_ACTIVITY_ATTR_USER_DEFINED_RECORDS, &one, &yes);
    int g = F(cuptiActivityRegisterCallbacks_v2)(sub, request, complete);
    if (e || f || g)
        printf("subscribe %d %d %d\n", e, f, g);
}
static void costs()
{
    cudaFree(0);
    launch();
    printf("launch, no CUPTI            %6.0f ns\n", launch());
    subscribe();
    printf("launch, subscribed          %6.0f ns\n", launch());
    wake();
    printf("launch, awake               %6.0f ns\n", launch());
    sleep_again();
    printf("launch, asleep              %6.0f ns\n", launch());
    calls(true);
    printf("launch, callbacks alone     %6.0f ns\n", launch());
    calls(false);
    kinds(true);
    printf("launch, records alone       %6.0f ns\n", launch());
    kinds(false);
    F(cuptiUnsubscribe)(sub);
    printf("launch, unsubscribed        %6.0f ns\n", launch());
    for (int i = 0; i < 3; i++) {
        double t = now_us();
        subscribe();
        double u = now_us();
        wake();
        printf("subscribed again in %.1f us, awake in %.1f us\n", u - t, now_us() - u);
        sleep_again();
        F(cuptiUnsubscribe)(sub);
    }
    std::vector<double> on, off, callbacks, records;
    subscribe();
    for (int i = 0; i < 300; i++) {
        double t = now_us();
        is_awake = true;
        calls(true);
        callbacks.push_back(now_us() - t);
        t = now_us();
        kinds(true);
        records.push_back(now_us() - t);
        for (int k = 0; k < 20; k++)
            nop<<<1, 32>>>();
        t = now_us();
        sleep_again();
        off.push_back(now_us() - t);
    }
    show("183 callbacks on", callbacks);
    show("three kinds on", records);
    show("all off", off);
    for (int round = 0; round < 3; round++) {
        printf("launch, asleep              %6.0f ns\n", launch());
        F(cuptiUnsubscribe)(sub);
        printf("launch, unsubscribed        %6.0f ns\n", launch());
        double t = now_us();
        int e = F(cuptiFinalize)();
        printf("finalize: %d in %.0f us; launch %6.0f ns\n", e, now_us() - t, launch());
        subscribe();
    }
}
struct Background {
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    std::vector<std::vector<uint32_t>> ids;
    explicit Background(int count) : ids(count)
    {
        for (int i = 0; i < count; i++)
            threads.emplace_back([this, i] {
                cudaStream_t s;
                void *d, *h, *p;
                noted = &ids[i];
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
    }
    void join()
    {
        stop = true;
        for (auto &t : threads)
            t.join();
    }
};
static void cycles(int count, int others)
{
    std::vector<uint32_t> mine;
    std::vector<double> on, off;
    std::map<uint32_t, int> cycle_of;
    long missing[2] = {0, 0}, wanted[2] = {0, 0}, uncalled = 0;
    cudaStream_t s;
    void *d, *h;
    subscribe();
    noted = &mine;
    calls(true);
    kinds(true);
    cudaStreamCreate(&s);
    cudaMalloc(&d, 4096);
    cudaMallocHost(&h, 4096);
    spin<<<1, 32, 0, s>>>(10);
    cudaStreamSynchronize(s);
    Background background(others);
    usleep(20000);
    sleep_again();
    for (int i = 0; i < count; i++) {
        size_t before = mine.size();
        double t = now_us();
        wake();
        on.push_back(now_us() - t);
        for (int k = 0; k < 5; k++)
            spin<<<1, 32, 0, s>>>(20000);
        cudaMemcpyAsync(d, h, 4096, cudaMemcpyHostToDevice, s);
        nop<<<1, 32, 0, s>>>();
        if (i % 2)
            cudaStreamSynchronize(s);
        t = now_us();
        sleep_again();
        off.push_back(now_us() - t);
        uncalled += 7 - (long)(mine.size() - before);
        for (size_t k = before; k < mine.size(); k++)
            cycle_of[mine[k]] = i;
        if (i % 3 == 0)
            F(cuptiActivityFlushAll)(0);
        usleep(i % 5 ? 200 : 2000);
    }
    background.join();
    cudaDeviceSynchronize();
    F(cuptiActivityFlushAll)(1);
    size_t dropped = 0;
    F(cuptiActivityGetNumDroppedRecords_v2)(sub, nullptr, 0, &dropped);
    for (uint32_t id : mine) {
        wanted[cycle_of[id] % 2]++;
        missing[cycle_of[id] % 2] += records.count(id) == 0;
    }
    std::multiset<uint32_t> all(mine.begin(), mine.end());
    long others_calls = 0, others_missing = 0;
    for (auto &ids : background.ids)
        for (uint32_t id : ids) {
            all.insert(id);
            others_calls++;
            others_missing += records.count(id) == 0;
        }
    long repeated = 0, orphans = 0, twice = 0;
    for (auto it = all.begin(); it != all.end(); it = all.upper_bound(*it))
        repeated += all.count(*it) > 1;
    for (auto &r : records) {
        orphans += all.count(r.first) == 0;
        twice += r.second > 1;
    }
    printf("%s: %d cycles beside %d threads: %ld calls without a callback; records missing: switched off in flight %ld of %ld, when done %ld of "
           "%ld; others: %ld calls, %ld without a record, %ld records without a call; IDs repeated %ld, with several records %ld; dropped %zu\n",
           switched, count, others, uncalled, missing[0], wanted[0], missing[1], wanted[1], others_calls, others_missing, orphans, repeated, twice, dropped);
    show("  on", on);
    show("  off", off);
}
static const char *on_order = "kc", *off_order = "kc";
static bool one_switches; // only the sleeper switches, and a request waits for it
static void crew_switch(bool on)
{
    for (const char *which = on ? on_order : off_order; *which; which++) {
        if (*which == 'c')
            kind(on, CUPTI_ACTIVITY_KIND_MEMCPY, {MEMCPY_FIELD_KIND, MEMCPY_FIELD_START, MEMCPY_FIELD_END, MEMCPY_FIELD_CORRELATION_ID});
        if (*which == 'f')
            kind(on, CUPTI_ACTIVITY_KIND_MEMSET, {MEMSET_FIELD_KIND, MEMSET_FIELD_START, MEMSET_FIELD_END, MEMSET_FIELD_CORRELATION_ID});
        if (*which == 'k')
            kind(on, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, {KERNEL_FIELD_KIND, KERNEL_FIELD_START, KERNEL_FIELD_END, KERNEL_FIELD_CORRELATION_ID});
        if (*which == 'o')
            kind(on, CUPTI_ACTIVITY_KIND_OVERHEAD, {OVERHEAD_FIELD_KIND, OVERHEAD_FIELD_START, OVERHEAD_FIELD_END, OVERHEAD_FIELD_CORRELATION_ID});
        if (*which == 'p')
            kind(on, CUPTI_ACTIVITY_KIND_MEMCPY2, {MEMCPY2_FIELD_KIND, MEMCPY2_FIELD_START, MEMCPY2_FIELD_END, MEMCPY2_FIELD_CORRELATION_ID});
        if (*which == 'g')
            graph_kind(on);
        if (*which == 'd')
            kind(on, CUPTI_ACTIVITY_KIND_DEVICE, {DEVICE_FIELD_KIND, DEVICE_FIELD_ID});
        if (*which == 'x')
            kind(on, CUPTI_ACTIVITY_KIND_CONTEXT, {CONTEXT_FIELD_KIND, CONTEXT_FIELD_CONTEXT_ID});
    }
}
static void crew(int count, int workers)
{
    std::mutex lock;
    int in_flight = 0;
    long switched_on = 0;
    bool on = true;
    std::atomic<bool> stop{false};
    subscribe();
    is_awake = true;
    calls(true);
    crew_switch(true);
    std::vector<std::vector<uint32_t>> kernel_ids(workers), copy_ids(workers);
    std::vector<std::thread> threads;
    for (int w = 0; w < workers; w++)
        threads.emplace_back([&, w] {
            cudaStream_t s;
            void *d, *h;
            std::vector<uint32_t> ids;
            noted = &ids;
            cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
            cudaMalloc(&d, 4096);
            cudaMallocHost(&h, 4096);
            for (int i = 0; i < count; i++) {
                bool sampled = (i * workers + w) % 100 == 0;
                if (sampled) {
                    std::unique_lock<std::mutex> guard(lock);
                    in_flight++;
                    while (!on && one_switches) {
                        guard.unlock();
                        usleep(10);
                        guard.lock();
                    }
                    if (!on) {
                        crew_switch(true);
                        on = true;
                        switched_on++;
                    }
                }
                ids.clear();
                cudaMemcpyAsync(d, h, 4096, cudaMemcpyHostToDevice, s);
                for (int k = 0; k < 4; k++)
                    nop<<<1, 32, 0, s>>>();
                if (sampled && ids.size() == 5) {
                    copy_ids[w].push_back(ids[0]);
                    kernel_ids[w].insert(kernel_ids[w].end(), ids.begin() + 1, ids.end());
                }
                if (sampled) {
                    std::lock_guard<std::mutex> guard(lock);
                    in_flight--;
                }
                if (i % 4 == 0)
                    cudaStreamSynchronize(s);
            }
            cudaStreamSynchronize(s);
        });
    std::thread sleeper([&] {
        while (!stop) {
            usleep(one_switches ? 100 : 1000);
            std::unique_lock<std::mutex> guard(lock);
            if (on && in_flight == 0) {
                for (const char *which = on_order; switched_on == 0 && *which; which++)
                    if (!strchr(off_order, *which))
                        printf("%c stays on; ", *which);
                crew_switch(false);
                on = false;
                guard.unlock();
                F(cuptiActivityFlushAll)(0);
            } else if (!on && in_flight > 0 && one_switches) {
                crew_switch(true);
                on = true;
                switched_on++;
            }
        }
    });
    for (auto &t : threads)
        t.join();
    stop = true;
    sleeper.join();
    cudaDeviceSynchronize();
    F(cuptiActivityFlushAll)(1);
    long kernels = 0, no_kernel = 0, copies = 0, no_copy = 0;
    for (int w = 0; w < workers; w++) {
        for (uint32_t id : kernel_ids[w])
            kernels++, no_kernel += records.count(id) == 0;
        for (uint32_t id : copy_ids[w])
            copies++, no_copy += records.count(id) == 0;
    }
    printf("crew of %d, on in the order %-5s off %-5s %s: on %ld times; of %ld kernels %ld without a record, of %ld copies %ld; %ld records of devices, %ld of contexts\n", workers,
           on_order, off_order, one_switches ? "by one thread" : "by many", switched_on, kernels, no_kernel, copies, no_copy,
           device_records, context_records);
}
static void launches(const char *when, cudaGraphExec_t exec, cudaStream_t s)
{
    F(cuptiActivityFlushAll)(1);
    graph_records = kernel_records = 0;
    for (int i = 0; i < 10; i++)
        cudaGraphLaunch(exec, s);
    cudaStreamSynchronize(s);
    F(cuptiActivityFlushAll)(1);
    printf("  %-44s %3ld graph records, %3ld kernel records\n", when, graph_records, kernel_records);
}
static cudaGraphExec_t make(cudaStream_t s)
{
    cudaGraph_t g;
    cudaGraphExec_t ge;
    cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
    for (int i = 0; i < 10; i++)
        nop<<<1, 32, 0, s>>>();
    cudaStreamEndCapture(s, &g);
    cudaGraphInstantiate(&ge, g, 0);
    return ge;
}
static void graphs(bool follows, bool begins_awake, bool has_graph_records)
{
    cudaStream_t s;
    subscribe();
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    printf("graph records %s, first graph made %s; each time 10 launches of 10 kernels\n",
           !has_graph_records ? "never" : follows ? "switched with the rest" : "left on", begins_awake ? "awake" : "asleep");
    if (has_graph_records)
        graph_kind(true);
    wake();
    nop<<<1, 32, 0, s>>>();
    auto rest = [&] { sleep_again(); if (follows && has_graph_records) graph_kind(false); };
    auto rise = [&] { if (follows && has_graph_records) graph_kind(true); wake(); };
    if (!begins_awake)
        rest();
    cudaGraphExec_t first = make(s);
    if (!begins_awake) {
        launches("the first graph, asleep", first, s);
        rise();
    }
    launches("the first graph, awake", first, s);
    rest();
    launches("the first graph, asleep", first, s);
    cudaGraphExec_t second = make(s);
    launches("a second, made asleep, asleep", second, s);
    rise();
    launches("the first graph, awake again", first, s);
    launches("the second graph, awake", second, s);
    cudaGraphExec_t third = make(s);
    launches("a third, made awake", third, s);
    rest();
    rise();
    launches("the first graph, after another cycle", first, s);
    launches("the second graph, after another cycle", second, s);
    launches("the third graph, after another cycle", third, s);
    rest();
}
int main(int argc, char **argv)
{
    lib = dlopen(getenv("CUPTI_LIB"), RTLD_NOW);
    if (!lib || argc < 2) {
        printf("CUPTI_LIB=.../libcupti.so.13 sleeping costs|cycles N THREADS|graphs [0-5]\n");
        return 1;
    }
    if (strcmp(argv[1], "costs") == 0)
        costs();
    else if (strcmp(argv[1], "cycles") == 0 && argc >= 4) {
        switched = argc > 4 ? argv[4] : "all";
        cycles(atoi(argv[2]), atoi(argv[3]));
    } else if (strcmp(argv[1], "crew") == 0 && argc >= 6) {
        on_order = argv[4];
        off_order = argv[5];
        one_switches = argc > 6;
        crew(atoi(argv[2]), atoi(argv[3]));
    } else if (argc == 3)
        graphs(atoi(argv[2]) & 1, atoi(argv[2]) & 2, atoi(argv[2]) < 4);
    return 0;
}
