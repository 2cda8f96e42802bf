/* Several threads, each with its own streams: copies in every direction, memsets, and calls that fail.
 *
 *   nvcc -o threads examples/threads.cu
 *   cuspan run ./threads
 *
 * prints PASS. In the trace, each call has the thread that made it (cuspan.thread.id, thread.name "worker-N"), and
 * each piece of GPU work has its stream. The work of different threads overlaps in time, and still each copy,
 * memset and kernel is a child of the call that caused it. Four calls of the main thread fail on purpose:
 * their spans have status Error and the reason in error.type (cudaErrorMemoryAllocation,
 * cudaErrorInvalidValue, ...). */
#include "check.h"

#include <pthread.h>
#include <thread>
#include <vector>

static const int thread_count = 4, stream_count = 2, round_count = 8;
static const int n = 1 << 16;
static const size_t bytes = n * sizeof(int);

__global__ void scale(int *values, int factor, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        values[i] *= factor;
}

__global__ void add_index(int *values, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        values[i] += i;
}

/* One stream's buffers: pinned host memory, so that its copies run asynchronously. */
struct lane {
    cudaStream_t stream;
    cudaEvent_t done;
    int *host;
    int *device;
    int *device_copy;
};

static void lane_open(lane &l)
{
    CHECK(cudaStreamCreateWithFlags(&l.stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&l.done, cudaEventDisableTiming));
    CHECK(cudaHostAlloc((void **)&l.host, bytes, cudaHostAllocDefault));
    CHECK(cudaMalloc((void **)&l.device, bytes));
    CHECK(cudaMallocAsync((void **)&l.device_copy, bytes, l.stream));
}

static void lane_close(lane &l)
{
    CHECK(cudaFreeAsync(l.device_copy, l.stream));
    CHECK(cudaStreamSynchronize(l.stream));
    CHECK(cudaFree(l.device));
    CHECK(cudaFreeHost(l.host));
    CHECK(cudaEventDestroy(l.done));
    CHECK(cudaStreamDestroy(l.stream));
}

/* Host to device, two kernels, device to device, device to host. The memset zeroes the copy's destination. */
static void lane_round(lane &l, int factor)
{
    for (int i = 0; i < n; i++)
        l.host[i] = i;
    CHECK(cudaMemsetAsync(l.device_copy, 0, bytes, l.stream));
    CHECK(cudaMemcpyAsync(l.device, l.host, bytes, cudaMemcpyHostToDevice, l.stream));
    scale<<<(n + 127) / 128, 128, 0, l.stream>>>(l.device, factor, n);
    add_index<<<dim3((n + 255) / 256), dim3(256), 0, l.stream>>>(l.device, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(l.device_copy, l.device, bytes, cudaMemcpyDeviceToDevice, l.stream));
    CHECK(cudaMemcpyAsync(l.host, l.device_copy, bytes, cudaMemcpyDeviceToHost, l.stream));
    CHECK(cudaEventRecord(l.done, l.stream));
}

static bool lane_is_right(const lane &l, int factor)
{
    for (int i = 0; i < n; i++)
        if (l.host[i] != i * factor + i)
            return false;
    return true;
}

static void worker(int index, int *wrong)
{
    char name[16];
    std::snprintf(name, sizeof(name), "worker-%d", index);
    pthread_setname_np(pthread_self(), name);

    std::vector<lane> lanes(stream_count);
    for (lane &l : lanes)
        lane_open(l);
    for (int round = 0; round < round_count; round++) {
        for (lane &l : lanes)
            lane_round(l, index + 2);
        for (lane &l : lanes) {
            CHECK(cudaEventSynchronize(l.done));
            *wrong += !lane_is_right(l, index + 2);
        }
    }
    for (lane &l : lanes)
        lane_close(l);
}

/* Other kinds of copies: two-dimensional, from a symbol, from an array, from host to host. */
__constant__ int table[256];

static int copies_of_other_kinds()
{
    int values[256], back[256] = {0};
    for (int i = 0; i < 256; i++)
        values[i] = 3 * i;
    CHECK(cudaMemcpyToSymbol(table, values, sizeof(values)));
    CHECK(cudaMemcpyFromSymbol(back, table, sizeof(back)));

    int *device;
    size_t pitch;
    CHECK(cudaMallocPitch((void **)&device, &pitch, 16 * sizeof(int), 16));
    CHECK(cudaMemset2D(device, pitch, 0xff, 16 * sizeof(int), 16));
    CHECK(cudaMemcpy2D(device, pitch, values, 16 * sizeof(int), 16 * sizeof(int), 16, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2D(back, 16 * sizeof(int), device, pitch, 16 * sizeof(int), 16, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device));

    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
    CHECK(cudaMallocArray(&array, &format, 16, 16));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, values, 16 * sizeof(int), 16 * sizeof(int), 16, cudaMemcpyHostToDevice));
    CHECK(cudaFreeArray(array));

    CHECK(cudaMemcpy(back, values, sizeof(values), cudaMemcpyHostToHost));

    int *managed;
    CHECK(cudaMallocManaged((void **)&managed, sizeof(values), cudaMemAttachGlobal));
    CHECK(cudaMemset(managed, 0, sizeof(values)));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(managed));

    int wrong = 0;
    for (int i = 0; i < 256; i++)
        wrong += back[i] != values[i];
    return wrong;
}

/* Calls that are wrong on purpose; each must fail with its own error. */
static int failing_calls()
{
    int wrong = 0;
    void *pointer = NULL;
    wrong += cudaMalloc(&pointer, (size_t)1 << 50) != cudaErrorMemoryAllocation;
    wrong += cudaMemcpy(NULL, NULL, 64, cudaMemcpyHostToDevice) != cudaErrorInvalidValue;
    wrong += cudaStreamCreateWithFlags(NULL, cudaStreamDefault) != cudaErrorInvalidValue;
    scale<<<1, 4096>>>(NULL, 1, 0); /* a block has at most 1024 threads */
    wrong += cudaGetLastError() == cudaSuccess;
    return wrong;
}

int main()
{
    CHECK(cudaFree(0)); /* creates the context, so that this does not add to a worker's first call */

    int wrong[thread_count] = {0}, sum = 0;
    std::vector<std::thread> workers;
    for (int i = 0; i < thread_count; i++)
        workers.emplace_back(worker, i, &wrong[i]);
    for (std::thread &w : workers)
        w.join();
    for (int w : wrong)
        sum += w;
    sum += copies_of_other_kinds();
    sum += failing_calls();
    CHECK(cudaDeviceSynchronize());

    if (sum) {
        std::printf("FAIL: %d results are wrong\n", sum);
        return 1;
    }
    std::printf("PASS: %d threads, %d streams each, %d rounds, and the failing calls failed\n", thread_count,
                stream_count, round_count);
    return 0;
}
