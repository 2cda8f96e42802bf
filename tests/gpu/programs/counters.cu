// Kernels whose bytes and operations are known by construction, for tests/gpu/counters_test.py.
//   counters copy|fma|mixed|nccl|range|loop|threads|samples [MIB]
// samples: copies without pause for four seconds, and prints their bytes per second.
// Prints what each kind of kernel must count, the sum of the result, and the time of a launch, one line each.
#include "cuspan/cuspan.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        cudaError_t result_ = (call);                                                                        \
        if (result_ != cudaSuccess) {                                                                        \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(result_));                                 \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

__global__ void copy_floats(float4 *to, const float4 *from, size_t count)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < count)
        to[i] = from[i];
}

// Each thread: `rounds` fused multiply-adds, one after the other.
__global__ void multiply_add(float *to, int rounds, float factor)
{
    float value = (float)threadIdx.x;
#pragma unroll 1
    for (int i = 0; i < rounds; i++)
        value = __fmaf_rn(value, factor, 0.5f);
    to[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

// Its name is one of those that are never counted.
__global__ void ncclDevKernel_made_up(float *to)
{
    to[threadIdx.x] = 1;
}

static const int BLOCKS = 1024, THREADS = 256, ROUNDS = 1000, LAUNCHES = 20;
static float *from, *to;
static size_t bytes;

static double now_us()
{
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static void launch_copy()
{
    size_t count = bytes / sizeof(float4);
    copy_floats<<<(unsigned)((count + 255) / 256), 256>>>((float4 *)to, (const float4 *)from, count);
}

static void launch_fma()
{
    multiply_add<<<BLOCKS, THREADS>>>(to, ROUNDS, 0.5f);
}

static void launch(const char *what, int i)
{
    if (strcmp(what, "copy") == 0 || (strcmp(what, "mixed") == 0 && i % 2 == 0))
        launch_copy();
    else if (strcmp(what, "nccl") == 0)
        ncclDevKernel_made_up<<<1, 32>>>(to);
    else
        launch_fma();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "mixed";
    bytes = (argc > 2 ? strtoull(argv[2], nullptr, 10) : 4096) << 20;
    CHECK(cudaMalloc(&from, bytes));
    CHECK(cudaMalloc(&to, bytes));
    CHECK(cudaMemset(from, 0, bytes));
    CHECK(cudaDeviceSynchronize());
    double begin = now_us();
    if (strcmp(what, "threads") == 0) {
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; t++)
            threads.emplace_back([] {
                for (int i = 0; i < LAUNCHES; i++)
                    launch_fma();
                CHECK(cudaDeviceSynchronize());
            });
        for (std::thread &thread : threads)
            thread.join();
    } else if (strcmp(what, "samples") == 0) {
        double end = begin + 4e6;
        long copies = 0;
        for (; now_us() < end; copies++) {
            launch_copy();
            CHECK(cudaDeviceSynchronize());
        }
        fprintf(stderr, "rate %.6g\n", copies * (double)bytes / (now_us() - begin) * 1e6);
    } else if (strcmp(what, "loop") == 0) {
        int runs = 0;
        for (cuspan_loop loop = cuspan_loop_begin("looped"); cuspan_loop_next(&loop); runs++) {
            launch_copy();
            launch_fma();
        }
        fprintf(stderr, "runs %d\n", runs);
    } else {
        uint64_t range = strcmp(what, "range") == 0 ? cuspan_range("counted", nullptr, 0) : 0;
        for (int i = 0; i < LAUNCHES; i++)
            launch(what, i);
        if (range)
            cuspan_end(range);
    }
    CHECK(cudaDeviceSynchronize());
    double launch_us = (now_us() - begin) / LAUNCHES;
    std::vector<float> some(THREADS);
    CHECK(cudaMemcpy(some.data(), to, THREADS * sizeof(float), cudaMemcpyDeviceToHost));
    double sum = 0;
    for (float value : some)
        sum += value;
    printf("launches %d\ncopy_bytes %zu\nfma %lld\nsum %.6g\n", LAUNCHES, bytes,
           (long long)BLOCKS * THREADS * ROUNDS, sum);
    fprintf(stderr, "launch_us %.2f\n", launch_us);
    return 0;
}
