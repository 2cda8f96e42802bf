/* Requests that replay CUDA graphs: each execution belongs to the request that launched it, although all
 * share a graph.
 *   graph_requests [THREADS [REQUESTS-A-THREAD]]
 * Thread t has its own executable graph of 2 + t kernels, and all share one of six nodes (a memset, four
 * kernels, a copy), which no two launch at once. Request n attaches its own context with cuspan.h, launches
 * the shared graph, then its thread's graph 1 + n % 3 times, the last time in a range "stage"; every tenth
 * request is unsampled. Its trace ID: 8 bytes "request!", then n, whose thread is (n - 1) % THREADS.
 * processes_check.py checks whether each trace has exactly its own executions. */
#include "../../../examples/check.h"

#include <cuspan/cuspan.h>

#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

__global__ void add(unsigned long long *sum, unsigned long long by)
{
    atomicAdd(sum, by);
}

static cuspan_context context_of(uint64_t n)
{
    cuspan_context context = {};
    memcpy(context.trace_id, "request!", 8);
    for (int i = 0; i < 8; i++)
        context.trace_id[8 + i] = context.span_id[i] = (uint8_t)(n >> (56 - 8 * i));
    context.span_id[0] = 0xff;
    context.flags = n % 10 == 9 ? 0 : 1;
    return context;
}

struct shared_graph {
    std::mutex lock; /* CUDA does not lock graphs */
    cudaGraphExec_t exec;
    unsigned long long *sum, *scratch, *host, *own_sum;
};

static cudaGraphExec_t end_capture(cudaStream_t stream)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return exec;
}

static void make_shared(shared_graph &shared)
{
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc((void **)&shared.sum, 3 * sizeof *shared.sum));
    CHECK(cudaMemset(shared.sum, 0, 3 * sizeof *shared.sum));
    CHECK(cudaMallocHost((void **)&shared.host, sizeof *shared.host));
    shared.scratch = shared.sum + 1;
    shared.own_sum = shared.sum + 2;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMemsetAsync(shared.scratch, 0, sizeof *shared.scratch, stream));
    for (int i = 0; i < 4; i++)
        add<<<1, 1, 0, stream>>>(shared.sum, 1);
    CHECK(cudaMemcpyAsync(shared.host, shared.sum, sizeof *shared.host, cudaMemcpyDeviceToHost, stream));
    shared.exec = end_capture(stream);
    CHECK(cudaDeviceSynchronize());
}

static void serve(shared_graph &shared, cudaGraphExec_t own, cudaStream_t stream, uint64_t n)
{
    cuspan_context context = context_of(n);
    uint64_t token = cuspan_attach(&context);
    {
        std::lock_guard<std::mutex> guard(shared.lock);
        CHECK(cudaGraphLaunch(shared.exec, stream));
    }
    for (unsigned i = 0; i < n % 3; i++)
        CHECK(cudaGraphLaunch(own, stream));
    uint64_t stage = cuspan_range("stage", NULL, 0);
    CHECK(cudaGraphLaunch(own, stream));
    cuspan_end(stage);
    cuspan_detach(token);
    if (n % 4 == 0)
        CHECK(cudaStreamSynchronize(stream));
}

static void work(shared_graph *shared, unsigned index, unsigned threads, unsigned requests)
{
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (unsigned i = 0; i < 2 + index; i++)
        add<<<1, 1, 0, stream>>>(shared->own_sum, 1);
    cudaGraphExec_t own = end_capture(stream);
    for (unsigned i = 0; i < requests; i++)
        serve(*shared, own, stream, 1 + (uint64_t)i * threads + index);
    CHECK(cudaStreamSynchronize(stream));
}

int main(int argc, char **argv)
{
    unsigned threads = argc > 1 ? atoi(argv[1]) : 8, requests = argc > 2 ? atoi(argv[2]) : 50;
    unsigned long long got[3], own = 0;
    static shared_graph shared;
    std::vector<std::thread> workers;
    make_shared(shared);
    for (unsigned i = 0; i < threads; i++)
        workers.emplace_back(work, &shared, i, threads, requests);
    for (std::thread &worker : workers)
        worker.join();
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(got, shared.sum, sizeof got, cudaMemcpyDeviceToHost));
    for (unsigned long long n = 1; n <= (unsigned long long)threads * requests; n++)
        own += (1 + n % 3) * (2 + (n - 1) % threads);
    bool is_right = got[0] == 4ull * threads * requests && got[2] == own;
    std::printf("%s: %u requests on %u threads\n", is_right ? "PASS" : "FAIL", threads * requests, threads);
    return !is_right;
}
