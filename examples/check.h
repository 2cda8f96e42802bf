/* Shared by the examples: checks every CUDA call and reports where and why one fails. */
#pragma once

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
