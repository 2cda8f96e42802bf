/* Graphs that many threads launch and that are updated between launches, with known numbers of nodes.
 *
 * The main thread captures one graph of six nodes, and four others launch it a hundred times; before every
 * tenth launch it is updated, alternately the whole graph and one node. In addition, each thread captures,
 * instantiates and launches its own graph: thread 0 one of two nodes, thread 1 one of three, and so on.
 * Prints PASS and how many nodes were executed how often. */
#include "../../../examples/check.h"

#include <mutex>
#include <thread>
#include <vector>

static const int thread_count = 4, launches_each = 25, own_launches = 10, update_every = 10;

__global__ void add(float *sum, float by)
{
    *sum += by;
}

struct shared_graph {
    std::mutex lock; /* CUDA does not lock graphs */
    cudaGraph_t graph, other; /* `other`: the same, but it adds twice as much */
    cudaGraphExec_t exec;
    cudaGraphNode_t kernel; /* one of graph's */
    float *sum, *scratch, *host;
    float first_by, rest_by; /* added by the four kernels: by `kernel`, and by each of the others */
    float expected;
    int launches;
};

/* Six nodes: a memset, four kernels, a copy. */
static cudaGraph_t capture_shared(const shared_graph &shared, cudaStream_t stream, float by)
{
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMemsetAsync(shared.scratch, 0, sizeof(float), stream));
    for (int i = 0; i < 4; i++)
        add<<<1, 1, 0, stream>>>(shared.sum, by);
    CHECK(cudaMemcpyAsync(shared.host, shared.sum, sizeof(float), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    return graph;
}

static cudaGraphNode_t first_kernel(cudaGraph_t graph)
{
    size_t count = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &count));
    std::vector<cudaGraphNode_t> nodes(count);
    CHECK(cudaGraphGetNodes(graph, nodes.data(), &count));
    for (cudaGraphNode_t node : nodes) {
        cudaGraphNodeType type;
        CHECK(cudaGraphNodeGetType(node, &type));
        if (type == cudaGraphNodeTypeKernel)
            return node;
    }
    std::exit(1);
}

static void update_all(shared_graph &shared)
{
    cudaGraphExecUpdateResultInfo info;
    CHECK(cudaGraphExecUpdate(shared.exec, shared.other, &info));
    shared.first_by = shared.rest_by = 2;
}

static void update_one(shared_graph &shared)
{
    cudaKernelNodeParams params = {};
    float by = 3;
    void *arguments[] = {&shared.sum, &by};
    params.func = (void *)add;
    params.gridDim = params.blockDim = dim3(1);
    params.kernelParams = arguments;
    CHECK(cudaGraphExecKernelNodeSetParams(shared.exec, shared.kernel, &params));
    shared.first_by = by;
}

static void launch_shared(shared_graph &shared, cudaStream_t stream)
{
    std::lock_guard<std::mutex> guard(shared.lock);
    if (shared.launches % update_every == update_every - 1) {
        if (shared.launches / update_every % 2 == 0)
            update_all(shared);
        else
            update_one(shared);
    }
    CHECK(cudaGraphLaunch(shared.exec, stream));
    shared.expected += shared.first_by + 3 * shared.rest_by;
    shared.launches++;
}

static cudaGraphExec_t make_own(cudaStream_t stream, float *sum, int nodes)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < nodes; i++)
        add<<<1, 1, 0, stream>>>(sum, 1);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return exec;
}

static void work(shared_graph *shared, int index, float *sum)
{
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaGraphExec_t own = make_own(stream, sum, 2 + index);
    for (int i = 0; i < launches_each; i++) {
        launch_shared(*shared, stream);
        if (i < own_launches)
            CHECK(cudaGraphLaunch(own, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(own));
    CHECK(cudaStreamDestroy(stream));
}

static void make_shared(shared_graph &shared, cudaStream_t stream)
{
    CHECK(cudaMalloc((void **)&shared.sum, sizeof(float)));
    CHECK(cudaMalloc((void **)&shared.scratch, sizeof(float)));
    CHECK(cudaHostAlloc((void **)&shared.host, sizeof(float), cudaHostAllocDefault));
    CHECK(cudaMemsetAsync(shared.sum, 0, sizeof(float), stream));
    CHECK(cudaStreamSynchronize(stream));
    shared.graph = capture_shared(shared, stream, 1);
    shared.other = capture_shared(shared, stream, 2);
    shared.kernel = first_kernel(shared.graph);
    CHECK(cudaGraphInstantiateWithFlags(&shared.exec, shared.graph, 0));
    shared.first_by = shared.rest_by = 1;
    shared.expected = 0;
    shared.launches = 0;
}

int main()
{
    static shared_graph shared;
    cudaStream_t stream;
    float *sums;
    std::vector<std::thread> threads;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc((void **)&sums, thread_count * sizeof(float)));
    make_shared(shared, stream);
    for (int i = 0; i < thread_count; i++)
        threads.emplace_back(work, &shared, i, sums + i);
    for (std::thread &thread : threads)
        thread.join();
    CHECK(cudaDeviceSynchronize());
    if (*shared.host != shared.expected) {
        std::printf("FAIL: the sum is %g and should be %g\n", *shared.host, shared.expected);
        return 1;
    }
    std::printf("PASS: nodes x executions: 6x%d", shared.launches);
    for (int i = 0; i < thread_count; i++)
        std::printf(" %dx%d", 2 + i, own_launches);
    std::printf("\n");
    return 0;
}
