/* The smallest CUDA program that does something: c = a + b on the GPU, with the result checked.
 *
 *   nvcc -o vector_add examples/vector_add.cu
 *   cuspan run ./vector_add
 *
 * prints PASS, as it does without cuspan. The trace shows, below the session span "vector_add":
 *   cudaMalloc           3 calls
 *   cudaMemcpy           2 calls, each with its copy to the GPU below it (cuda.memcpy.bytes 4194304)
 *   cudaLaunchKernel     1 call, with the kernel add below it (grid 4096, block 256)
 *   cudaDeviceSynchronize
 *   cudaMemcpy           1 call, with the copy back to the host below it
 *   cudaFree             3 calls */
#include "check.h"

#include <cmath>
#include <vector>

__global__ void add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

int main()
{
    const int n = 1 << 20;
    const size_t bytes = n * sizeof(float);

    std::vector<float> a(n), b(n), c(n);
    for (int i = 0; i < n; i++) {
        a[i] = std::sin((float)i);
        b[i] = std::cos((float)i);
    }

    float *device_a, *device_b, *device_c;
    CHECK(cudaMalloc((void **)&device_a, bytes));
    CHECK(cudaMalloc((void **)&device_b, bytes));
    CHECK(cudaMalloc((void **)&device_c, bytes));
    CHECK(cudaMemcpy(device_a, a.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_b, b.data(), bytes, cudaMemcpyHostToDevice));

    const int block = 256;
    add<<<(n + block - 1) / block, block>>>(device_a, device_b, device_c, n);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    CHECK(cudaMemcpy(c.data(), device_c, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device_a));
    CHECK(cudaFree(device_b));
    CHECK(cudaFree(device_c));

    for (int i = 0; i < n; i++) {
        if (c[i] != a[i] + b[i]) {
            std::printf("FAIL: c[%d] is %g and should be %g\n", i, c[i], a[i] + b[i]);
            return 1;
        }
    }
    std::printf("PASS: %d sums are right\n", n);
    return 0;
}
