/* A CUDA graph: captured once from a stream, launched a hundred times.
 *
 *   nvcc -o graph examples/graph.cu
 *   cuspan run ./graph
 *
 * prints PASS. The trace shows cudaStreamBeginCapture, the captured calls (without GPU work of their own),
 * cudaGraphInstantiate, and 100 times cudaGraphLaunch with one span below it for the whole execution on the
 * GPU. To see the graph's six nodes below each launch instead, kernels by name and at a much higher cost:
 *
 *   cuspan run --set detail=graph-nodes ./graph */
#include "check.h"

static const int launch_count = 100;
static const int n = 1 << 18;

__global__ void increment(float *values, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        values[i] += 1.0f;
}

__global__ void accumulate(float *sums, const float *values, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        sums[i] += values[i];
}

/* values = 0; three increments; sums += values; then the first sum is copied to the host. */
static cudaGraphExec_t capture(cudaStream_t stream, float *values, float *sums, float *host)
{
    const int block = 256, grid = (n + block - 1) / block;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMemsetAsync(values, 0, n * sizeof(float), stream));
    for (int i = 0; i < 3; i++)
        increment<<<grid, block, 0, stream>>>(values, n);
    accumulate<<<grid, block, 0, stream>>>(sums, values, n);
    CHECK(cudaMemcpyAsync(host, sums, sizeof(float), cudaMemcpyDeviceToHost, stream));

    cudaGraph_t graph;
    CHECK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return exec;
}

int main()
{
    cudaStream_t stream;
    float *values, *sums, *host;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc((void **)&values, n * sizeof(float)));
    CHECK(cudaMalloc((void **)&sums, n * sizeof(float)));
    CHECK(cudaHostAlloc((void **)&host, sizeof(float), cudaHostAllocDefault));
    CHECK(cudaMemset(sums, 0, n * sizeof(float)));
    CHECK(cudaDeviceSynchronize()); /* the fill went to the NULL stream, for which ours does not wait */

    cudaGraphExec_t exec = capture(stream, values, sums, host);
    for (int i = 0; i < launch_count; i++)
        CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));

    float sum = *host;
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaFreeHost(host));
    CHECK(cudaFree(sums));
    CHECK(cudaFree(values));
    CHECK(cudaStreamDestroy(stream));

    if (sum != 3.0f * launch_count) {
        std::printf("FAIL: the sum is %g and should be %g\n", sum, 3.0f * launch_count);
        return 1;
    }
    std::printf("PASS: %d launches of the graph\n", launch_count);
    return 0;
}
