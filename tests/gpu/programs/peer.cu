/* All GPUs of the machine: CUDA's data of each, work on each, and copies between each two of them.
 *
 * Prints a line for each GPU,
 *   device NUMBER UUID MULTIPROCESSORS CLOCK-KHZ MEMORY-BYTES MAJOR.MINOR PCI-ADDRESS
 * a line for each copy between two,
 *   copy HOW FROM TO BYTES
 * with cudaMemcpyPeerAsync (peer) or unified addressing (unified: cudaMemcpyAsync, cudaMemcpyDefault), both
 * if one GPU has access to the other and if it has not (…-access), and PASS. On each GPU one kernel runs on
 * the NULL stream, with 100 + its number of blocks, and one on another stream, with 200 + its number.
 * processes_check.py compares. */
#include "../../../examples/check.h"

#include <cstring>
#include <vector>

static const size_t copy_bytes = 1 << 20;

__global__ void fill(unsigned char *bytes, size_t count, unsigned char value)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += step)
        bytes[i] = value;
}

struct gpu {
    cudaStream_t stream;
    unsigned char *bytes;
};

static int attribute(int device, cudaDeviceAttr which)
{
    int value;
    CHECK(cudaDeviceGetAttribute(&value, which, device));
    return value;
}

static void describe(int device)
{
    cudaDeviceProp properties;
    char pci[32];
    CHECK(cudaGetDeviceProperties(&properties, device));
    CHECK(cudaDeviceGetPCIBusId(pci, sizeof pci, device));
    std::printf("device %d GPU-", device);
    for (int i = 0; i < 16; i++)
        std::printf(i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", (unsigned char)properties.uuid.bytes[i]);
    std::printf(" %d %d %zu %d.%d %s\n", properties.multiProcessorCount, attribute(device, cudaDevAttrClockRate),
                properties.totalGlobalMem, properties.major, properties.minor, pci);
}

static gpu work_on(int device)
{
    gpu made = {};
    CHECK(cudaSetDevice(device));
    CHECK(cudaStreamCreateWithFlags(&made.stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc((void **)&made.bytes, 2 * copy_bytes));
    fill<<<100 + device, 64>>>(made.bytes, 2 * copy_bytes, 0);
    CHECK(cudaDeviceSynchronize());
    fill<<<200 + device, 64, 0, made.stream>>>(made.bytes, copy_bytes, (unsigned char)(1 + device));
    CHECK(cudaStreamSynchronize(made.stream));
    return made;
}

static bool arrived(const gpu &to, size_t bytes, int from)
{
    std::vector<unsigned char> host(bytes);
    CHECK(cudaMemcpy(host.data(), to.bytes + copy_bytes, bytes, cudaMemcpyDeviceToHost));
    for (unsigned char byte : host)
        if (byte != 1 + from)
            return false;
    return true;
}

/* Unique sizes, by which the check recognizes each copy. */
static bool copy_between(const std::vector<gpu> &gpus, int from, int to, const char *how, size_t bytes)
{
    bool is_unified = std::strncmp(how, "unified", 7) == 0;
    const gpu &source = gpus[from], &target = gpus[to];
    CHECK(cudaSetDevice(from));
    if (is_unified)
        CHECK(cudaMemcpyAsync(target.bytes + copy_bytes, source.bytes, bytes, cudaMemcpyDefault, source.stream));
    else
        CHECK(cudaMemcpyPeerAsync(target.bytes + copy_bytes, to, source.bytes, from, bytes, source.stream));
    CHECK(cudaStreamSynchronize(source.stream));
    std::printf("copy %s %d %d %zu\n", how, from, to, bytes);
    CHECK(cudaSetDevice(to));
    return arrived(target, bytes, from);
}

int main()
{
    int count = 0, right = 1;
    size_t bytes = 4096;
    std::vector<gpu> gpus;
    CHECK(cudaGetDeviceCount(&count));
    for (int device = 0; device < count; device++) {
        describe(device);
        gpus.push_back(work_on(device));
    }
    for (int from = 0; from < count; from++)
        for (int to = 0; to < count; to++) {
            int can = 0;
            if (from == to)
                continue;
            right &= copy_between(gpus, from, to, "peer", bytes += 16);
            right &= copy_between(gpus, from, to, "unified", bytes += 16);
            CHECK(cudaDeviceCanAccessPeer(&can, from, to));
            if (!can)
                continue;
            CHECK(cudaSetDevice(from));
            CHECK(cudaDeviceEnablePeerAccess(to, 0));
            right &= copy_between(gpus, from, to, "peer-access", bytes += 16);
            right &= copy_between(gpus, from, to, "unified-access", bytes += 16);
        }
    std::puts(right ? "PASS" : "FAIL: a copy did not arrive");
    return !right;
}
