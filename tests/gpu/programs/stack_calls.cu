// Two kernels, each launched by a function of its own, one of them in a thread. For code_test.py.
#include <chrono>
#include <cstdio>
#include <thread>

constexpr int LAUNCHES = 300;

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
    std::thread other([=] {
        for (int i = 0; i < LAUNCHES; i++) {
            deep::launch_second<5>(values);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    });
    for (int i = 0; i < LAUNCHES; i++) {
        launch_first(values);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    other.join();
    const cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    cudaFree(values);
    return error != cudaSuccess;
}
