// Makes graphs in every way and instantiates them at once, so that a tracer has no time to prepare for them.
//   graph_kinds capture        one graph, captured from a stream; the runtime API
//   graph_kinds create         one graph, created node by node; the runtime API
//   graph_kinds driver         one graph, captured and launched with the driver API
//   graph_kinds threads        eight threads make a graph each at the same moment, while four others launch kernels
//   graph_kinds late AGENT     one graph, then cuspan_start(AGENT), then another one; both are launched
//   graph_kinds costs          prints what calls cost before and after the first graph, in ns
// Each graph has NODES kernels and is launched LAUNCHES times. Prints PASS, the number of launches, and how long the
// call took that started the first graph, in microseconds.
#include "../../../examples/check.h"

#include <cuspan/cuspan.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#define NODES    5
#define LAUNCHES 20
#define MAKERS   8
#define OTHERS   4

__global__ void older() {}
__global__ void node() {}
__global__ void other() {}

static std::atomic<double> first_us{0};

static double now_us()
{
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static cudaStream_t make_stream()
{
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    node<<<1, 1, 0, stream>>>(); // loads the module
    other<<<1, 1, 0, stream>>>();
    CHECK(cudaStreamSynchronize(stream));
    return stream;
}

static void launch(cudaGraphExec_t exec, cudaStream_t stream)
{
    for (int i = 0; i < LAUNCHES; i++)
        CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
}

static cudaGraphExec_t capture(cudaStream_t stream, void (*kernel)())
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    double begin = now_us();
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    first_us = std::max(first_us.load(), now_us() - begin);
    for (int i = 0; i < NODES; i++)
        kernel<<<1, 1, 0, stream>>>();
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

static cudaGraphExec_t create()
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t made, *previous = nullptr;
    cudaKernelNodeParams params = {};
    void *arguments[] = {nullptr};
    params.func = (void *)node;
    params.gridDim = params.blockDim = dim3(1);
    params.kernelParams = arguments;
    double begin = now_us();
    CHECK(cudaGraphCreate(&graph, 0));
    first_us = now_us() - begin;
    for (int i = 0; i < NODES; i++) {
        CHECK(cudaGraphAddKernelNode(&made, graph, previous, previous ? 1 : 0, &params));
        previous = &made;
    }
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

// The driver's functions, without its header and library.
template <typename Function> static Function driver(const char *name)
{
    void *found = nullptr;
    cudaDriverEntryPointQueryResult result;
    CHECK(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result));
    if (!found) {
        fprintf(stderr, "the driver has no %s\n", name);
        exit(1);
    }
    return (Function)found;
}

static void check_driver(int result, const char *name)
{
    if (result != 0) {
        fprintf(stderr, "%s: %d\n", name, result);
        exit(1);
    }
}

static void use_driver()
{
    auto begin_capture = driver<int (*)(cudaStream_t, int)>("cuStreamBeginCapture");
    auto end_capture = driver<int (*)(cudaStream_t, cudaGraph_t *)>("cuStreamEndCapture");
    auto instantiate = driver<int (*)(cudaGraphExec_t *, cudaGraph_t, unsigned long long)>("cuGraphInstantiateWithFlags");
    auto launch_graph = driver<int (*)(cudaGraphExec_t, cudaStream_t)>("cuGraphLaunch");
    cudaStream_t stream = make_stream();
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    double begin = now_us();
    check_driver(begin_capture(stream, cudaStreamCaptureModeThreadLocal), "cuStreamBeginCapture");
    first_us = now_us() - begin;
    for (int i = 0; i < NODES; i++)
        node<<<1, 1, 0, stream>>>();
    check_driver(end_capture(stream, &graph), "cuStreamEndCapture");
    check_driver(instantiate(&exec, graph, 0), "cuGraphInstantiateWithFlags");
    for (int i = 0; i < LAUNCHES; i++)
        check_driver(launch_graph(exec, stream), "cuGraphLaunch");
    CHECK(cudaStreamSynchronize(stream));
}

static void use_threads()
{
    std::atomic<int> ready{0};
    std::atomic<bool> is_over{false};
    std::vector<std::thread> makers, others;
    for (int i = 0; i < OTHERS; i++)
        others.emplace_back([&] {
            cudaStream_t stream = make_stream();
            while (!is_over) {
                for (int k = 0; k < 50; k++)
                    other<<<1, 1, 0, stream>>>();
                CHECK(cudaStreamSynchronize(stream));
            }
        });
    for (int i = 0; i < MAKERS; i++)
        makers.emplace_back([&] {
            cudaStream_t stream = make_stream();
            for (ready++; ready < MAKERS;)
                std::this_thread::yield();
            launch(capture(stream, node), stream);
        });
    for (auto &thread : makers)
        thread.join();
    is_over = true;
    for (auto &thread : others)
        thread.join();
}

static void use_late(const char *agent)
{
    cudaStream_t stream = make_stream();
    older<<<1, 1, 0, stream>>>();
    CHECK(cudaStreamSynchronize(stream));
    cudaGraphExec_t old = capture(stream, older);
    launch(old, stream);
    if (cuspan_start(agent) != 0)
        exit(1);
    launch(old, stream);
    launch(capture(stream, node), stream);
    launch(old, stream);
}

static void print_costs(const char *when, cudaStream_t stream)
{
    double best[2] = {1e9, 1e9};
    int device;
    for (int round = 0; round < 40; round++) {
        double t0 = now_us();
        for (int i = 0; i < 500; i++)
            node<<<1, 1, 0, stream>>>();
        double t1 = now_us();
        CHECK(cudaStreamSynchronize(stream));
        double t2 = now_us();
        for (int i = 0; i < 10000; i++)
            cudaGetDevice(&device);
        double t3 = now_us();
        best[0] = std::min(best[0], (t1 - t0) * 1e3 / 500);
        best[1] = std::min(best[1], (t3 - t2) * 1e3 / 10000);
    }
    std::printf("%s: launch %.0f cudaGetDevice %.1f\n", when, best[0], best[1]);
}

static void use_costs()
{
    cudaStream_t stream = make_stream();
    print_costs("before", stream);
    launch(capture(stream, node), stream);
    print_costs("after", stream);
}

int main(int argc, char **argv)
{
    std::string way = argc > 1 ? argv[1] : "";
    cudaStream_t stream = way == "capture" || way == "create" ? make_stream() : nullptr;
    if (way == "capture")
        launch(capture(stream, node), stream);
    else if (way == "create")
        launch(create(), stream);
    else if (way == "driver")
        use_driver();
    else if (way == "threads")
        use_threads();
    else if (way == "late" && argc > 2)
        use_late(argv[2]);
    else if (way == "costs")
        use_costs();
    else
        return 2;
    std::printf("PASS: launches %d first %.1f us\n", way == "threads" ? MAKERS * LAUNCHES : LAUNCHES, first_us.load());
    return 0;
}
