/* For the programs that measure CUPTI: ends them at the first call of CUDA that fails. */
#pragma once

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        cudaError_t result_ = (call);                                                                        \
        if (result_ != cudaSuccess) {                                                                        \
            printf("%s: %s\n", #call, cudaGetErrorString(result_));                                          \
            exit(3);                                                                                         \
        }                                                                                                    \
    } while (0)
