/* What the examples share: every CUDA call is checked, and a failure says where and why. */
#ifndef EXAMPLES_CHECK_H
#define EXAMPLES_CHECK_H

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        cudaError_t check_error = (call);                                                                    \
        if (check_error != cudaSuccess) {                                                                    \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,                               \
                         cudaGetErrorString(check_error));                                                   \
            std::exit(1);                                                                                    \
        }                                                                                                    \
    } while (0)

#endif
