// What the applications of the benchmark share: timing rounds, and printing figures as lines "name value
// unit".
#ifndef CUSPAN_BENCH_FIGURES_H
#define CUSPAN_BENCH_FIGURES_H

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

// Tells the harness, by the file that BENCH_READY names, that CUDA is used and the measured part comes, and
// waits: what is to be switched off before that part goes off now. Under each configuration alike.
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

// Loads the library that BENCH_LOAD names as the driver would have at the start. Processes differ in how they
// lie in memory and on which processors they run by more than what a sleeping library costs; one process
// before and after doesn't.
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

// Of several rounds: the least, and the median.
static inline void print_rounds(const std::string &name, const std::vector<double> &rounds, const char *unit)
{
    print_figure((name + ".min").c_str(), least(rounds), unit);
    print_figure((name + ".median").c_str(), median(rounds), unit);
}

#endif
