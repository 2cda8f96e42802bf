// A program that limits its tracing itself, while other threads launch continuously.
//   control AGENT     with cuspan_start(AGENT) and cuspan_stop(), after CUDA has started; nothing is injected
//   control profiler  with cudaProfilerStart() and cudaProfilerStop(), with the agent injected and
//                     capture.cuda_profiler
// `wanted` is launched while it traces, `unwanted` while it does not, `other` by the other threads. Prints
// how often wanted was launched: each launch has its span below its call, and unwanted has none.
#include <cuspan/cuspan.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <thread>
#include <vector>

// cuda_profiler_api.h comes in a separate package; the functions are in the runtime.
extern "C" cudaError_t cudaProfilerStart(void);
extern "C" cudaError_t cudaProfilerStop(void);

#define CYCLES  300
#define THREADS 4

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        if ((call) != 0) {                                                                                   \
            fprintf(stderr, "%s failed\n", #call);                                                           \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

__global__ void wanted() {}
__global__ void unwanted() {}
__global__ void other() {}

static const char *agent;

static void begin()
{
    if (agent)
        CHECK(cuspan_start(agent));
    else
        CHECK(cudaProfilerStart());
}

static void end()
{
    if (agent)
        CHECK(cuspan_stop());
    else
        CHECK(cudaProfilerStop());
}

int main(int argc, char **argv)
{
    std::atomic<bool> is_over{false};
    std::vector<std::thread> others;
    int launched = 0;
    if (argc != 2)
        return 2;
    agent = strcmp(argv[1], "profiler") == 0 ? nullptr : argv[1];
    for (int i = 0; i < THREADS; i++)
        others.emplace_back([&] {
            cudaStream_t stream;
            CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
            while (!is_over) {
                for (int k = 0; k < 50; k++)
                    other<<<1, 32, 0, stream>>>();
                CHECK(cudaStreamSynchronize(stream));
            }
        });
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        unwanted<<<1, 32, 0, stream>>>();
        begin();
        for (int k = 0; k < 1 + cycle % 5; k++, launched++)
            wanted<<<1, 32, 0, stream>>>();
        if (cycle % 2) // else they still run, or have not started, when the tracing ends
            CHECK(cudaStreamSynchronize(stream));
        end();
        if (agent && cycle == 10)
            CHECK(cuspan_flush(5000));
    }
    is_over = true;
    for (auto &thread : others)
        thread.join();
    CHECK(cudaDeviceSynchronize());
    printf("PASS: wanted %d\n", launched);
}
