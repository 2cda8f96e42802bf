/* Which records CUPTI delivers for executions of graphs: launched by several threads at once, with conditional nodes, and
 * launched from the device.
 *
 *   graph_records CUPTI classic|subscriber graph|node shared LAUNCHES THREADS KERNELS same|own|mutex
 *   graph_records CUPTI classic|subscriber graph|node while|if|switch|nested|device
 *
 * graph, node: with records of executions, or of each node. shared: THREADS threads launch one executable graph, on one stream,
 * on streams of their own, or on those under a lock. */
#include "bare_cupti.h"
#include "check_cuda.h"

#include "agent/abi/cupti_abi.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <vector>

struct call {
    uint64_t start, end;
    int records, good, zero_start, zero_end, backward, early, late, kernels;
};
static std::map<uint32_t, call> calls; /* graph launches by correlation ID */
static std::mutex lock;
static std::atomic<uint64_t> epoch, last_sync;
static bool prints;
static int printed, foreign;

static void on_record(const bare_record *record)
{
    std::lock_guard<std::mutex> guard(lock);
    if (prints && printed++ < 60)
        bare_print(record, epoch);
    auto found = calls.find(record->correlation);
    if (found == calls.end()) {
        foreign++;
        return;
    }
    call &c = found->second;
    c.kernels += record->kind != 51;
    bool bad = !record->start_ns || !record->end_ns || record->end_ns < record->start_ns;
    c.records++;
    c.good += !bad;
    c.zero_start += !record->start_ns;
    c.zero_end += !record->end_ns;
    c.backward += record->start_ns && record->end_ns && record->end_ns < record->start_ns;
    c.early += record->start_ns && record->start_ns < c.start;
    c.late += last_sync && record->end_ns > last_sync;
    if ((bad || (record->start_ns < c.start)) && !prints && printed++ < 8) {
        printf("  odd: call %.1f..%.1f", (double)(c.start - epoch) / 1000, (double)(c.end - epoch) / 1000);
        bare_print(record, epoch);
    }
}

static void on_callback(uint32_t domain, uint32_t cbid, const void *data)
{
    if (domain == BARE_RUNTIME) {
        const cupti_callback_data *call_data = (const cupti_callback_data *)data;
        if (strncmp(call_data->functionName, "cudaGraphLaunch", 15) != 0)
            return;
        std::lock_guard<std::mutex> guard(lock);
        call &c = calls[call_data->correlationId];
        if (call_data->callbackSite == CUPTI_SITE_ENTER)
            c.start = bare_now_ns();
        else
            c.end = bare_now_ns();
        if (prints && call_data->callbackSite == CUPTI_SITE_ENTER)
            printf("  call %s correlation %u at %.1f\n", call_data->functionName, call_data->correlationId,
                   (double)(c.start - epoch) / 1000);
        return;
    }
    if (domain != BARE_RESOURCE || !prints || cbid < CUPTI_RESOURCE_GRAPH_CREATED)
        return;
    const cupti_resource_data *resource = (const cupti_resource_data *)data;
    const cupti_graph_data *graph = (const cupti_graph_data *)resource->resourceDescriptor;
    static const char *const names[] = {"graph created", "graph destroy", "graph cloned", "node create starting", "node created",
                                        "node destroy", "dependency", "dependency destroy", "exec create starting",
                                        "exec created", "exec destroy", "node cloned"};
    if (cbid > CUPTI_RESOURCE_GRAPHNODE_CLONED || cbid == 12 || cbid == 14 || cbid == 10 || cbid == 15 || cbid == 16)
        return;
    bool is_node = cbid == CUPTI_RESOURCE_GRAPHNODE_CREATED || cbid == CUPTI_RESOURCE_GRAPHNODE_CLONED;
    printf("  %s graph %p#%u original %p#%u node %p#%llu original %p#%llu type %u exec %p#%u\n", names[cbid - 9], graph->graph,
           bare_graph_id(graph->graph, false), graph->originalGraph, cbid == 11 || cbid == 20 ? bare_graph_id(graph->originalGraph, false) : 0,
           is_node ? graph->node : nullptr, is_node ? (unsigned long long)bare_node_id(graph->node) : 0ull,
           cbid == 20 ? graph->originalNode : nullptr, cbid == 20 ? (unsigned long long)bare_node_id(graph->originalNode) : 0ull,
           is_node ? graph->nodeType : 0, cbid == 18 ? graph->graphExec : nullptr,
           cbid == CUPTI_RESOURCE_GRAPHEXEC_CREATED ? bare_graph_id(graph->graphExec, true) : 0);
}

__global__ void spin(int *value, long long cycles)
{
    long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
    if (value)
        atomicAdd(value, 1);
}

__global__ void body(int *value)
{
    atomicAdd(value, 1);
}

__global__ void decide(cudaGraphConditionalHandle handle, int *value, int limit)
{
    *value += 1;
    cudaGraphSetConditional(handle, *value < limit);
}

__global__ void set_to(cudaGraphConditionalHandle handle, int to)
{
    cudaGraphSetConditional(handle, to);
}

__global__ void launch_tail(cudaGraphExec_t child)
{
    cudaGraphLaunch(child, cudaStreamGraphTailLaunch);
}

__global__ void launch_fire(cudaGraphExec_t child)
{
    cudaGraphLaunch(child, cudaStreamGraphFireAndForget);
}

static void shared(int launches, int threads, int kernels, const char *how)
{
    int *value;
    cudaStream_t first;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaMalloc((void **)&value, sizeof *value));
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < kernels; i++)
        spin<<<1, 1, 0, first>>>(value, 5000);
    CHECK(cudaStreamEndCapture(first, &graph));
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    std::vector<std::thread> workers;
    static std::mutex one_at_a_time;
    for (int t = 0; t < threads; t++)
        workers.emplace_back([=] {
            cudaStream_t stream = first;
            if (strcmp(how, "same") != 0)
                CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
            for (int i = 0; i < launches / threads; i++) {
                if (strcmp(how, "mutex") == 0)
                    one_at_a_time.lock();
                CHECK(cudaGraphLaunch(exec, stream));
                if (strcmp(how, "mutex") == 0)
                    one_at_a_time.unlock();
            }
            CHECK(cudaStreamSynchronize(stream));
        });
    for (std::thread &worker : workers)
        worker.join();
    CHECK(cudaDeviceSynchronize());
}

static cudaGraph_t add_conditional(cudaGraph_t graph, cudaGraphNode_t after, cudaGraphConditionalHandle handle,
                                   cudaGraphConditionalNodeType type, int size, cudaGraph_t *second = nullptr)
{
    cudaGraphNode_t node;
    cudaGraphNodeParams params = {};
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = handle;
    params.conditional.type = type;
    params.conditional.size = size;
    CHECK(cudaGraphAddNode(&node, graph, after ? &after : nullptr, nullptr, after ? 1 : 0, &params));
    if (second)
        *second = params.conditional.phGraph_out[1];
    return params.conditional.phGraph_out[0];
}

static cudaGraphNode_t add_kernel(cudaGraph_t graph, cudaGraphNode_t after, void *function, void **arguments)
{
    cudaGraphNode_t node;
    cudaKernelNodeParams params = {};
    params.func = function;
    params.gridDim = params.blockDim = dim3(1);
    params.kernelParams = arguments;
    CHECK(cudaGraphAddKernelNode(&node, graph, after ? &after : nullptr, after ? 1 : 0, &params));
    return node;
}

static void conditional(const char *what)
{
    int *value, one = 1, five = 5;
    long long cycles = 3000;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaMalloc((void **)&value, sizeof *value));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphConditionalHandle handle;
    CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
    void *spin_arguments[] = {&value, &cycles}, *body_arguments[] = {&value};
    void *decide_arguments[] = {&handle, &value, &five}, *set_arguments[] = {&handle, &one};
    cudaGraphNode_t before = add_kernel(graph, nullptr, (void *)spin, spin_arguments);
    if (strcmp(what, "while") == 0 || strcmp(what, "nested") == 0) {
        cudaGraph_t inner = add_conditional(graph, before, handle, cudaGraphCondTypeWhile, 1);
        cudaGraphNode_t node = add_kernel(inner, nullptr, (void *)body, body_arguments);
        node = add_kernel(inner, node, (void *)decide, decide_arguments);
        if (strcmp(what, "nested") == 0) {
            cudaGraphConditionalHandle second;
            CHECK(cudaGraphConditionalHandleCreate(&second, graph, 1, cudaGraphCondAssignDefault));
            cudaGraph_t deeper = add_conditional(inner, node, second, cudaGraphCondTypeIf, 1);
            add_kernel(deeper, nullptr, (void *)spin, spin_arguments);
        }
    } else {
        cudaGraphNode_t set = add_kernel(graph, before, (void *)set_to, set_arguments);
        cudaGraph_t second = nullptr;
        bool is_switch = strcmp(what, "switch") == 0;
        cudaGraph_t inner = add_conditional(graph, set, handle, is_switch ? cudaGraphCondTypeSwitch : cudaGraphCondTypeIf, is_switch ? 2 : 1,
                                            is_switch ? &second : nullptr);
        add_kernel(inner, nullptr, (void *)body, body_arguments);
        if (second)
            add_kernel(second, nullptr, (void *)spin, spin_arguments);
    }
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 2; i++) {
        CHECK(cudaMemsetAsync(value, 0, sizeof *value, stream));
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
    }
    int found = 0;
    CHECK(cudaMemcpy(&found, value, sizeof found, cudaMemcpyDeviceToHost));
    printf("  value %d\n", found);
}

static void device()
{
    int *value;
    long long cycles = 3000;
    cudaStream_t stream;
    cudaGraph_t leaf, graph;
    cudaGraphExec_t leaf_exec, exec;
    CHECK(cudaMalloc((void **)&value, sizeof *value));
    CHECK(cudaMemset(value, 0, sizeof *value));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int fire = 0; fire < 2; fire++) {
        void *arguments[] = {&value, &cycles};
        CHECK(cudaGraphCreate(&leaf, 0));
        add_kernel(leaf, nullptr, (void *)spin, arguments);
        CHECK(cudaGraphInstantiate(&leaf_exec, leaf, cudaGraphInstantiateFlagDeviceLaunch));
        CHECK(cudaGraphUpload(leaf_exec, stream));
        void *launch_arguments[] = {&leaf_exec};
        CHECK(cudaGraphCreate(&graph, 0));
        cudaGraphNode_t node = add_kernel(graph, nullptr, fire ? (void *)launch_fire : (void *)launch_tail, launch_arguments);
        (void)node;
        CHECK(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagDeviceLaunch));
        CHECK(cudaGraphUpload(exec, stream));
        for (int i = 0; i < 2; i++) {
            CHECK(cudaGraphLaunch(exec, stream));
            CHECK(cudaStreamSynchronize(stream));
        }
        CHECK(cudaDeviceSynchronize());
    }
    int found = 0;
    CHECK(cudaMemcpy(&found, value, sizeof found, cudaMemcpyDeviceToHost));
    printf("  value %d of 4\n", found);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, nullptr, _IOLBF, 0);
    if (argc < 5)
        return 2;
    bool is_shared = strcmp(argv[4], "shared") == 0;
    prints = !is_shared;
    epoch = bare_now_ns();
    bare_options options = {};
    options.library = argv[1];
    options.subscriber_api = strcmp(argv[2], "subscriber") == 0;
    options.graph_records = strcmp(argv[3], "graph") == 0;
    options.runtime_calls = true;
    options.on_record = on_record;
    options.on_callback = on_callback;
    bool is_bare = strcmp(argv[1], "none") != 0;
    if (is_bare) {
    bare_start(&options);
    std::thread([] {
        for (;;) {
            usleep(2000);
            bare_flush(false);
        }
    }).detach();
    }
    int kernels = argc > 7 ? atoi(argv[7]) : 1;
    if (is_shared)
        shared(atoi(argv[5]), atoi(argv[6]), kernels, argv[8]);
    else if (strcmp(argv[4], "device") == 0)
        device();
    else
        conditional(argv[4]);
    if (!is_bare)
        return 0;
    last_sync = bare_now_ns();
    usleep(100000);
    bare_flush(true);
    usleep(100000);
    bare_flush(true);
    std::lock_guard<std::mutex> guard(lock);
    int none = 0, records = 0, good_calls = 0, zero_start = 0, zero_end = 0, backward = 0, early = 0, late = 0, many = 0;
    for (auto &entry : calls) {
        call &c = entry.second;
        none += !c.records;
        records += c.records;
        good_calls += c.records && c.good == c.records;
        zero_start += c.zero_start;
        zero_end += c.zero_end;
        backward += c.backward;
        early += c.early;
        late += c.late;
        many += c.records > 1;
    }
    printf("GRAPHS version %u", bare_version());
    for (int i = 2; i < argc; i++)
        printf(" %s", argv[i]);
    printf(": launches %zu records %d, launches without %d, all good %d, several records %d; zero start %d zero end %d "
           "backward %d starts before call %d; records of no launch %d\n",
           calls.size(), records, none, good_calls, many, zero_start, zero_end, backward, early, foreign);
    fflush(stdout);
    _exit(0);
}
