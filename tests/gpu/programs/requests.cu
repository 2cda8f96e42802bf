// Many simultaneous requests of a service: each has its own trace context, which its thread attaches with
// cuspan.h, and makes a known number of launches with a unique grid, and of copies with a unique size.
//   requests [THREADS [REQUESTS-A-THREAD [FIRST [ONE-IN]]]]
// Request n: 1 + n % 7 kernels of 1 + n % 1009 blocks, 1 + n % 3 copies of 64 * (1 + n % 509) bytes, the last
// kernel in a range "stage"; every tenth request is unsampled, or with ONE-IN only one in that many is sampled.
// Its trace ID: 8 bytes "request!", then n. Between requests a thread launches once for no request.
// requests_check.py checks whether each trace has exactly its own work. With REQUESTS_GRAPH in the
// environment, the first thread makes a CUDA graph in the middle, while others launch. Several processes that
// serve the same numbers, starting with FIRST (1), work for the same traces; LOCAL_RANK selects the GPU.
#include <cuspan/cuspan.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <thread>
#include <vector>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        cudaError_t result = (call);                                                                         \
        if (result != cudaSuccess) {                                                                         \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(result));                                  \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

__global__ void work(int *counts, int n)
{
    if (threadIdx.x == 0)
        atomicAdd(&counts[n], 1);
}

static unsigned one_in;

static cuspan_context context_of(uint64_t n)
{
    cuspan_context context = {};
    memcpy(context.trace_id, "request!", 8);
    for (int i = 0; i < 8; i++)
        context.trace_id[8 + i] = context.span_id[i] = (uint8_t)(n >> (56 - 8 * i));
    context.span_id[0] = 0xff;
    context.flags = one_in ? n % one_in == 0 : n % 10 != 9;
    return context;
}

struct worker {
    cudaStream_t stream;
    int *counts;
    char *device, *host;
};

static void serve(worker &mine, uint64_t n)
{
    cuspan_context context = context_of(n);
    uint64_t token = cuspan_attach(&context);
    for (unsigned i = 0; i < 1 + n % 3; i++)
        CHECK(cudaMemcpyAsync(mine.device, mine.host, 64 * (1 + n % 509), cudaMemcpyHostToDevice, mine.stream));
    for (unsigned i = 0; i < n % 7; i++)
        work<<<1 + n % 1009, 32, 0, mine.stream>>>(mine.counts, (int)n);
    cuspan_attribute number = cuspan_int("request.number", (int64_t)n);
    uint64_t stage = cuspan_range("stage", &number, 1);
    work<<<1 + n % 1009, 32, 0, mine.stream>>>(mine.counts, (int)n);
    cuspan_end(stage);
    cuspan_detach(token);
    work<<<1, 32, 0, mine.stream>>>(mine.counts, 0); // of no request, whose work may still be running
    if (n % 4 == 0)
        CHECK(cudaStreamSynchronize(mine.stream));
}

// A graph, made while others launch: the agent then enables CUPTI's graph records.
static void make_graph(worker &mine)
{
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CHECK(cudaStreamBeginCapture(mine.stream, cudaStreamCaptureModeThreadLocal));
    work<<<1, 32, 0, mine.stream>>>(mine.counts, 0);
    CHECK(cudaStreamEndCapture(mine.stream, &graph));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
}

int main(int argc, char **argv)
{
    unsigned threads = argc > 1 ? atoi(argv[1]) : 16, each = argc > 2 ? atoi(argv[2]) : 20;
    unsigned first = argc > 3 ? atoi(argv[3]) : 1;
    const char *local_rank = getenv("LOCAL_RANK");
    int *counts, devices = 0;
    one_in = argc > 4 ? atoi(argv[4]) : 0;
    CHECK(cudaGetDeviceCount(&devices));
    int device = (local_rank ? atoi(local_rank) : 0) % devices;
    CHECK(cudaSetDevice(device));
    CHECK(cudaMalloc(&counts, sizeof(int) * (threads * each + first)));
    auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> workers;
    for (unsigned t = 0; t < threads; t++)
        workers.emplace_back([=] {
            worker mine = {};
            CHECK(cudaSetDevice(device));
            mine.counts = counts;
            CHECK(cudaStreamCreateWithFlags(&mine.stream, cudaStreamNonBlocking));
            CHECK(cudaMalloc(&mine.device, 64 * 512));
            CHECK(cudaMallocHost(&mine.host, 64 * 512));
            for (unsigned i = 0; i < each; i++) {
                serve(mine, first + (uint64_t)i * threads + t);
                if (t == 0 && i == each / 4 && getenv("REQUESTS_GRAPH"))
                    make_graph(mine);
            }
            CHECK(cudaStreamSynchronize(mine.stream));
        });
    for (auto &worker : workers)
        worker.join();
    CHECK(cudaDeviceSynchronize());
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    printf("PASS: %u requests on %u threads, GPU %d, in %.0f ms\n", threads * each, threads, device, took.count());
}
