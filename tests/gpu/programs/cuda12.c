/* A program built with CUDA 12: its headers and its runtime (libcudart.so.12), on any driver. The kernel is
 * PTX, so no nvcc of CUDA 12 is needed. run.sh fetches CUDA 12.9 with tools/get-cuda.sh runtime12 and builds
 * it: gcc -I$CUDA12/include tests/gpu/programs/cuda12.c -o cuda12 -L$CUDA12/lib -l:libcudart.so.12
 * -Wl,-rpath,$CUDA12/lib */
#include <cuda_runtime_api.h>

#include <stdio.h>

#define N 4096

static const char ptx[] =
    ".version 8.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry twice(.param .u64 p)\n{\n"
    ".reg .b32 %r<6>; .reg .b64 %rd<4>;\n"
    "ld.param.u64 %rd1, [p]; cvta.to.global.u64 %rd1, %rd1;\n"
    "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"
    "mad.lo.s32 %r4, %r1, %r2, %r3; mul.wide.s32 %rd2, %r4, 4; add.s64 %rd3, %rd1, %rd2;\n"
    "ld.global.u32 %r5, [%rd3]; shl.b32 %r5, %r5, 1; st.global.u32 [%rd3], %r5; ret;\n}\n";

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        cudaError_t error = (call);                                                                          \
        if (error != cudaSuccess) {                                                                          \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));                                   \
            return 1;                                                                                        \
        }                                                                                                    \
    } while (0)

int main(void)
{
    static int host[N];
    int *device;
    cudaLibrary_t library;
    cudaKernel_t kernel;
    void *arguments[] = {&device};
    for (int i = 0; i < N; i++)
        host[i] = i;
    CHECK(cudaMalloc((void **)&device, sizeof host));
    CHECK(cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cudaLibraryGetKernel(&kernel, library, "twice"));
    CHECK(cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice));
    for (int i = 0; i < 3; i++)
        CHECK(cudaLaunchKernel((const void *)kernel, (dim3){N / 256, 1, 1}, (dim3){256, 1, 1}, arguments, 0,
                               0));
    CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device));
    for (int i = 0; i < N; i++)
        if (host[i] != 8 * i)
            return fprintf(stderr, "wrong at %d: %d\n", i, host[i]), 1;
    puts("PASS: built with CUDA 12");
    return 0;
}
