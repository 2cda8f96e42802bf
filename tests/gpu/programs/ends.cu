// A program that launches kernels and then ends in one of several ways. ends_test.py checks the spans.
//   ends HOW [SECONDS]
// It launches `work` a thousand times, or slowly for SECONDS, prints the number of launches, and ends by HOW; see `ways`.
// (After pthread_exit in main, the driver's threads keep the process alive, traced or not.)
#include <cassert>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <stdexcept>
#include <thread>
#include <unistd.h>

#define LAUNCHES       1000
#define GENTLE         20 // launches in a row
#define QUEUED         5  // kernels behind the one that asserts
#define GENTLE_REST_US 2000

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        if ((call) != 0) {                                                                                   \
            fprintf(stderr, "%s failed\n", #call);                                                           \
            exit(9);                                                                                         \
        }                                                                                                    \
    } while (0)

__global__ void work() {}
__global__ void wild(int *nowhere)
{
    *nowhere = 1;
}

// Runs for a millisecond first, so that other kernels queue up behind it.
__global__ void asserts(int zero)
{
    for (int i = 0; i < 1000; i++)
        __nanosleep(1000);
    assert(zero != 0);
}

static long launched;

static void launch(int count)
{
    for (int i = 0; i < count; i++)
        work<<<1, 32>>>();
    launched += count;
    CHECK(cudaDeviceSynchronize());
}

static void launch_for(double seconds)
{
    auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (std::chrono::steady_clock::now() < end) {
        launch(GENTLE);
        usleep(GENTLE_REST_US);
    }
}

static void say()
{
    printf("%ld\n", launched);
    fflush(stdout);
}

static void exit_in_thread()
{
    std::thread([] { exit(3); }).join();
}

static void quick()
{
    quick_exit(4);
}

static void leave_at_once()
{
    _exit(5);
}

static void throw_uncaught()
{
    throw std::runtime_error("nobody catches this");
}

// The program continues to use CUDA after the reset.
static void reset()
{
    CHECK(cudaDeviceReset());
    launch(LAUNCHES);
    say();
}

// The driver's function by dlsym: the build machine may have no libcuda.
template <typename Function> static Function driver(const char *name)
{
    static void *library = dlopen("libcuda.so.1", RTLD_NOW);
    void *found = library ? dlsym(library, name) : nullptr;
    CHECK(!found);
    return (Function)found;
}
#define DRIVER(function) driver<decltype(&function)>(DRIVER_NAME(function))
#define DRIVER_NAME(function) DRIVER_TEXT(function)
#define DRIVER_TEXT(function) #function

// Work in a second context, which is then destroyed, beside the runtime's context.
static void context()
{
    CUcontext own;
    CUdeviceptr memory;
#if CUDA_VERSION >= 13000
    CHECK(DRIVER(cuCtxCreate)(&own, nullptr, 0, 0));
#else
    CHECK(DRIVER(cuCtxCreate)(&own, 0, 0));
#endif
    CHECK(DRIVER(cuMemAlloc)(&memory, 4096));
    CHECK(DRIVER(cuMemsetD8)(memory, 1, 4096));
    CHECK(DRIVER(cuCtxSynchronize)());
    CHECK(DRIVER(cuCtxDestroy)(own));
    launch(LAUNCHES);
    say();
}

// After a fatal error every later call in the context fails.
static void end_broken()
{
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    work<<<1, 32>>>();
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    exit(7);
}

static void fatal()
{
    wild<<<1, 1>>>((int *)16);
    end_broken();
}

static void device_assert()
{
    asserts<<<1, 1>>>(0);
    for (int i = 0; i < QUEUED; i++)
        work<<<1, 32>>>();
    end_broken();
}

static const struct {
    const char *name;
    void (*leave)();
} ways[] = {{"return", [] {}},
            {"exit-in-thread", exit_in_thread},
            {"quick-exit", quick},
            {"_exit", leave_at_once},
            {"exception", throw_uncaught},
            {"abort", [] { abort(); }},
            {"segv", [] { raise(SIGSEGV); }},
            {"term", [] { raise(SIGTERM); }},
            {"int", [] { raise(SIGINT); }},
            {"kill", [] { raise(SIGKILL); }},
            {"reset", reset},
            {"context", context},
            {"fatal", fatal},
            {"assert", device_assert}};

int main(int argc, char **argv)
{
    double seconds = argc > 2 ? atof(argv[2]) : 0;
    for (auto &way : ways) {
        if (argc < 2 || strcmp(way.name, argv[1]) != 0)
            continue;
        if (seconds > 0)
            launch_for(seconds);
        else
            launch(LAUNCHES);
        say();
        way.leave();
        return 0;
    }
    fprintf(stderr, "usage: ends HOW [SECONDS]\n");
    return 2;
}
