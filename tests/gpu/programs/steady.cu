// A program that does the same work in each of its rounds and prints how much that was, for comparisons with
// its own figures.
//   steady [--rounds N | --seconds S] [--slower PERCENT] [--times N] [--mib N]
// A round: a copy of 1 MiB to the GPU, a memset, the kernels first, second and third, a copy back, and the
// wait for it; all host memory is pinned. The kernels count for some 20 us each, so their time depends only
// on the GPU's clock. --slower makes third count that much longer, --times makes all of them count N times as
// long (1). --mib allocates this much additional GPU memory (0). Prints
//   rounds N seconds S kernels K copies C copied BYTES filled BYTES
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        cudaError_t result = (call);                                                                         \
        if (result != cudaSuccess) {                                                                         \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(result));                                  \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static const size_t bytes = 1 << 20;
static const int steps = 10000; // each depends on the previous one: four cycles

static __device__ void count(float *values, int rounds)
{
    float value = values[threadIdx.x];
    for (int i = 0; i < rounds; i++)
        value = value * 0.999f + 0.5f;
    if (value == 12345.0f) // never true, but the compiler cannot know
        values[threadIdx.x] = value;
}

__global__ void first(float *values, int rounds)
{
    count(values, rounds);
}

__global__ void second(float *values, int rounds)
{
    count(values, rounds);
}

__global__ void third(float *values, int rounds)
{
    count(values, rounds);
}

static double number_after(int argc, char **argv, const char *name, double otherwise)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], name) == 0)
            return atof(argv[i + 1]);
    }
    return otherwise;
}

int main(int argc, char **argv)
{
    double seconds = number_after(argc, argv, "--seconds", 0);
    long rounds = (long)number_after(argc, argv, "--rounds", seconds > 0 ? 1e9 : 1000), done = 0;
    int all = (int)(steps * number_after(argc, argv, "--times", 1));
    int slower = (int)(all * (1 + number_after(argc, argv, "--slower", 0) / 100));
    size_t held = (size_t)number_after(argc, argv, "--mib", 0) << 20;
    int multiprocessors;
    float *device, *host;
    void *ballast = nullptr;
    cudaStream_t stream;
    CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&device, bytes));
    CHECK(cudaMallocHost(&host, bytes));
    memset(host, 0, bytes);
    if (held)
        CHECK(cudaMalloc(&ballast, held));

    auto begin = std::chrono::steady_clock::now();
    double took = 0;
    for (; done < rounds && (seconds <= 0 || took < seconds); done++) {
        CHECK(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream));
        CHECK(cudaMemsetAsync(device, 0, bytes, stream));
        first<<<multiprocessors, 256, 0, stream>>>(device, all);
        second<<<multiprocessors, 256, 0, stream>>>(device, all);
        third<<<multiprocessors, 256, 0, stream>>>(device, slower);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    CHECK(cudaFree(device));
    CHECK(cudaFree(ballast));
    CHECK(cudaFreeHost(host));
    CHECK(cudaStreamDestroy(stream));
    printf("rounds %ld seconds %.3f kernels %ld copies %ld copied %zu filled %zu\n", done, took, 3 * done, 2 * done,
           2 * done * bytes, done * bytes);
    return 0;
}
