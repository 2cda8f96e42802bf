// Two kernels, each launched by a function of its own, below threads and a library call. For code_test.py.
#include <cstdio>
#include <cstdlib>
#include <thread>

__global__ void first_kernel(int *values) { values[threadIdx.x] += 1; }
__global__ void second_kernel(int *values) { values[threadIdx.x] *= 3; }

__attribute__((noinline)) void launch_first(int *values) {
    first_kernel<<<1, 64>>>(values);
    asm volatile("");
}

namespace deep {
template <int DEPTH> __attribute__((noinline)) void launch_second(int *values) {
    if constexpr (DEPTH > 0)
        launch_second<DEPTH - 1>(values);
    else
        second_kernel<<<1, 64>>>(values);
    asm volatile("");
}
} // namespace deep

int main() {
    int *values;
    if (cudaMalloc(&values, 64 * sizeof *values) != cudaSuccess)
        return 1;
    for (int i = 0; i < 10; i++) {
        launch_first(values);
        std::thread([=] { deep::launch_second<5>(values); }).join();
    }
    const cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    cudaFree(values);
    return error != cudaSuccess;
}
