// One fault of each kind that `cuspan stat --findings` detects, and a program without any. Run by
// findings_test.py.
//   faults FAULT|clean
// FAULT is the finding's name; low-occupancy takes a reason after a colon: registers, shared, block or grid.
// Prints the fault's name and exits 0.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <thread>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        cudaError_t result = (call);                                                                         \
        if (result != cudaSuccess) {                                                                         \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(result));                                  \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static const size_t mib = 1 << 20;
static const long long us_ns = 1000;
static const int n = 32 << 20; // floats of the clean program's arrays
static cudaStream_t stream;
static int multiprocessors;

// Waits for time, not cycles: an idle GPU starts at a fraction of its clock, and kernels would then take
// several times what the thresholds of findings assume.
static __device__ long long now_ns()
{
    long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

// Each block takes that long.
__global__ void spin(long long ns)
{
    long long start = now_ns();
    while (now_ns() - start < ns)
        ;
}

__global__ void add(const float *a, const float *b, float *c, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        c[i] = a[i] + b[i];
}

template <int part> __global__ void step(int *values)
{
    if (threadIdx.x == 0 && blockIdx.x == 0)
        values[part] += part;
}

// So many values are live at once that a thread needs more than 128 registers: a multiprocessor holds only
// one block of 256 threads.
__global__ void __launch_bounds__(256, 1) many_registers(float *values, int rounds)
{
    const int count = 120;
    float v[count];
#pragma unroll
    for (int i = 0; i < count; i++)
        v[i] = values[i * blockDim.x + threadIdx.x];
    for (int round = 0; round < rounds; round++) {
#pragma unroll
        for (int i = 0; i < count; i++)
            v[i] = v[i] * v[(i + 7) % count] + v[(i + 31) % count];
    }
#pragma unroll
    for (int i = 0; i < count; i++)
        values[i * blockDim.x + threadIdx.x] = v[i];
}

__global__ void much_shared(int *values, long long ns)
{
    extern __shared__ int shared[];
    long long start = now_ns();
    shared[threadIdx.x] = values[threadIdx.x];
    while (now_ns() - start < ns)
        ;
    values[threadIdx.x] = shared[threadIdx.x];
}

// A whole wave of blocks.
static void work(int us, cudaStream_t on = stream)
{
    spin<<<multiprocessors, 256, 0, on>>>(us * us_ns);
    CHECK(cudaGetLastError());
}

static void host_works(int us)
{
    auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(us);
    while (std::chrono::steady_clock::now() < until)
        ;
}

template <typename T> static T *on_device(size_t bytes)
{
    void *address;
    CHECK(cudaMalloc(&address, bytes));
    return (T *)address;
}

template <typename T> static T *on_host(size_t bytes)
{
    void *address;
    CHECK(cudaHostAlloc(&address, bytes, cudaHostAllocDefault));
    memset(address, 0, bytes);
    return (T *)address;
}

static void wait()
{
    CHECK(cudaStreamSynchronize(stream));
}

static void get(void *to, const void *from, size_t bytes)
{
    CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream));
}

static void put(void *to, const void *from, size_t bytes)
{
    CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream));
}

static void clean(const char *)
{
    const size_t bytes = n * sizeof(float);
    float *in = on_host<float>(bytes), *out = on_host<float>(bytes);
    float *a = on_device<float>(bytes), *b = on_device<float>(bytes), *c = on_device<float>(bytes);
    CHECK(cudaMemsetAsync(b, 0, bytes, stream));
    for (int batch = 0; batch < 30; batch++) {
        put(a, in, bytes);
        for (int i = 0; i < 3; i++)
            add<<<n / 256, 256, 0, stream>>>(a, b, c, n);
        get(out, c, bytes);
        wait();
    }
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(c));
    CHECK(cudaFreeHost(in));
    CHECK(cudaFreeHost(out));
}

static void launch_bound(const char *)
{
    for (int i = 0; i < 1000; i++) {
        work(20);
        host_works(60);
    }
}

static void tiny_launches(const char *)
{
    for (int i = 0; i < 5000; i++)
        work(0);
}

static void graph_candidate(const char *)
{
    int *values = on_device<int>(64);
    for (int round = 0; round < 500; round++) {
        step<0><<<1, 32, 0, stream>>>(values);
        step<1><<<1, 32, 0, stream>>>(values);
        step<2><<<1, 32, 0, stream>>>(values);
        step<3><<<1, 32, 0, stream>>>(values);
        step<4><<<1, 32, 0, stream>>>(values);
        step<5><<<1, 32, 0, stream>>>(values);
        wait();
    }
    CHECK(cudaFree(values));
}

// Two alternating threads, each with kernels that use an eighth of the multiprocessors.
static void serialized_kernels(const char *)
{
    std::atomic<int> turn{0};
    work(5000); // so that the others queue up
    auto worker = [&](int mine) {
        for (int i = 0; i < 200; i++) {
            while (turn.load() % 2 != mine)
                ;
            spin<<<multiprocessors / 8 + 1, 256, 0, stream>>>(50 * us_ns);
            turn++;
        }
    };
    std::thread first(worker, 0), second(worker, 1);
    first.join();
    second.join();
}

static void synchronous_copies(const char *)
{
    char *host = on_host<char>(4 * mib), *device = on_device<char>(4 * mib);
    for (int i = 0; i < 100; i++) {
        CHECK(cudaMemcpy(device, host, 4 * mib, cudaMemcpyHostToDevice));
        work(50);
    }
    wait();
    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(host));
}

static void pageable_copies(const char *)
{
    const size_t bytes = 16 * mib;
    char *host = (char *)calloc(bytes, 1), *device = on_device<char>(bytes);
    memset(host, 1, bytes);
    for (int i = 0; i < 40; i++) {
        put(device, host, bytes);
        work(50);
    }
    wait();
    CHECK(cudaFree(device));
    free(host);
}

static void tiny_copies(const char *)
{
    char *host = on_host<char>(mib), *device = on_device<char>(mib);
    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < 50; i++)
            put(device + 256 * i, host + 256 * i, 256);
        work(50);
        wait();
    }
    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(host));
}

static void round_trips(const char *)
{
    char *host = on_host<char>(32 * mib), *device = on_device<char>(32 * mib);
    for (int i = 0; i < 40; i++) {
        work(100);
        get(host, device, 32 * mib);
        wait();
        put(device, host, 32 * mib);
    }
    wait();
    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(host));
}

static void needless_sync(const char *)
{
    int *host = on_host<int>(4096), *device = on_device<int>(4096);
    for (int i = 0; i < 300; i++) {
        work(50);
        get(host, device, 4096);
        for (int again = 0; again < 6; again++)
            CHECK(cudaDeviceSynchronize());
    }
    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(host));
}

static void sync_between_launches(const char *)
{
    for (int i = 0; i < 500; i++) {
        work(30);
        CHECK(cudaDeviceSynchronize());
    }
}

static void low_occupancy(const char *reason)
{
    float *values = on_device<float>(mib);
    int shared_max;
    CHECK(cudaDeviceGetAttribute(&shared_max, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    CHECK(cudaFuncSetAttribute(much_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_max));
    for (int i = 0; i < 50; i++) {
        if (strcmp(reason, "registers") == 0)
            many_registers<<<4 * multiprocessors, 256, 0, stream>>>(values, 200);
        else if (strcmp(reason, "shared") == 0)
            much_shared<<<4 * multiprocessors, 64, shared_max, stream>>>((int *)values, 50 * us_ns);
        else if (strcmp(reason, "block") == 0)
            spin<<<64 * multiprocessors, 8, 0, stream>>>(50 * us_ns);
        else
            spin<<<multiprocessors / 8, 256, 0, stream>>>(200 * us_ns);
        CHECK(cudaGetLastError());
    }
    wait();
    CHECK(cudaFree(values));
}

static void steady_allocation(const char *)
{
    for (int i = 0; i < 300; i++) {
        int *device = on_device<int>(4 * mib);
        work(50);
        CHECK(cudaFree(device));
    }
}

static void leak(const char *)
{
    for (int i = 0; i < 300; i++) {
        on_device<int>(mib);
        work(50);
    }
    wait();
}

static void wrong_free(const char *)
{
    int *device = on_device<int>(mib);
    work(1000);
    wait();
    CHECK(cudaFree(device));
    if (cudaFree(device) == cudaSuccess)
        fprintf(stderr, "a second cudaFree of one address succeeded\n");
    cudaGetLastError();
}

static const struct {
    const char *name;
    void (*run)(const char *reason);
} faults[] = {{"clean", clean},
              {"launch-bound", launch_bound},
              {"tiny-launches", tiny_launches},
              {"graph-candidate", graph_candidate},
              {"serialized-kernels", serialized_kernels},
              {"synchronous-copies", synchronous_copies},
              {"pageable-copies", pageable_copies},
              {"tiny-copies", tiny_copies},
              {"round-trips", round_trips},
              {"needless-sync", needless_sync},
              {"sync-between-launches", sync_between_launches},
              {"low-occupancy:registers", low_occupancy},
              {"low-occupancy:shared", low_occupancy},
              {"low-occupancy:block", low_occupancy},
              {"low-occupancy:grid", low_occupancy},
              {"steady-allocation", steady_allocation},
              {"leak", leak},
              {"wrong-free", wrong_free}};

int main(int argc, char **argv)
{
    for (auto &fault : faults) {
        if (argc != 2 || strcmp(fault.name, argv[1]) != 0)
            continue;
        const char *reason = strchr(fault.name, ':');
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
        fault.run(reason ? reason + 1 : "");
        CHECK(cudaDeviceSynchronize());
        puts(fault.name);
        return 0;
    }
    fprintf(stderr, "usage: faults FAULT\nFAULT:");
    for (auto &fault : faults)
        fprintf(stderr, " %s", fault.name);
    fputc('\n', stderr);
    return 2;
}
