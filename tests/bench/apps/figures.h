// Shared by the applications of the benchmark: timing rounds, and printing figures as lines "name value
// unit".
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <string>
#include <unistd.h>
#include <vector>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        cudaError_t result = (call);                                                                         \
        if (result != cudaSuccess) {                                                                         \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(result));                                  \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static inline double now_ns()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

// Tells the harness, through the file that BENCH_READY names, that CUDA is in use and the measured part
// follows, and waits: anything to be disabled before that part is disabled now. The same for each
// configuration.
static inline void ready_to_measure()
{
    const char *path = getenv("BENCH_READY");
    if (path) {
        FILE *file = fopen(path, "w");
        if (file)
            fclose(file);
    }
    usleep(200000);
}

// Loads the library that BENCH_LOAD names, like the driver would at the start. Processes differ in their
// memory layout and processors by more than the cost of a sleeping library; one process before and after the
// load does not.
static inline void load_late()
{
    const char *path = getenv("BENCH_LOAD");
    if (!path)
        return;
    void *library = dlopen(path, RTLD_NOW);
    int (*begin)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : nullptr;
    if (!begin || !begin()) {
        fprintf(stderr, "%s: %s\n", path, library ? "no InitializeInjection" : dlerror());
        exit(1);
    }
}

static inline double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

static inline double least(const std::vector<double> &values)
{
    return *std::min_element(values.begin(), values.end());
}

static inline void print_figure(const char *name, double value, const char *unit)
{
    printf("%s %.6g %s\n", name, value, unit);
}

// The minimum and the median of several rounds.
static inline void print_rounds(const std::string &name, const std::vector<double> &rounds, const char *unit)
{
    print_figure((name + ".min").c_str(), least(rounds), unit);
    print_figure((name + ".median").c_str(), median(rounds), unit);
}
