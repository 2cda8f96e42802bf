// A service whose sampled requests are rare: THREADS copy and launch all the time for no request, and one request in PAUSE ms is sampled, so
// that cuspan wakes up for it, falls asleep after it and flushes, several hundred times a second over all processes.
//   naps THREADS SECONDS PAUSE-MS
#include <cuspan/cuspan.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <thread>
#include <unistd.h>
#include <vector>

__global__ void work() {}

static std::atomic<bool> is_over;

struct worker {
    cudaStream_t stream;
    char *device, *host;
    worker()
    {
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        cudaMalloc(&device, 4096);
        cudaMallocHost(&host, 4096);
    }
    void run()
    {
        cudaMemcpyAsync(device, host, 1344, cudaMemcpyHostToDevice, stream);
        work<<<1, 32, 0, stream>>>();
        cudaMemsetAsync(device, 0, 64, stream);
    }
};

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 8, seconds = argc > 2 ? atoi(argv[2]) : 4, pause_ms = argc > 3 ? atoi(argv[3]) : 6;
    unsigned requests = 0;
    double waited_us = 0, longest_us = 0;
    cudaFree(nullptr);
    alarm(seconds + 20); // of a run that hangs
    std::vector<std::thread> threads;
    for (int t = 0; t < count; t++)
        threads.emplace_back([] {
            worker mine;
            for (unsigned i = 0; !is_over; i++) {
                mine.run();
                if (i % 8 == 0)
                    cudaStreamSynchronize(mine.stream);
            }
            cudaStreamSynchronize(mine.stream);
        });
    worker mine;
    auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < std::chrono::seconds(seconds)) {
        cuspan_context context = {};
        memcpy(context.trace_id, "a nap...", 8);
        memcpy(context.trace_id + 8, &++requests, sizeof requests);
        memcpy(context.span_id, &requests, sizeof requests);
        context.flags = 1;
        auto before = std::chrono::steady_clock::now();
        uint64_t token = cuspan_attach(&context);
        std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - before;
        waited_us += took.count();
        longest_us = took.count() > longest_us ? took.count() : longest_us;
        mine.run();
        cuspan_detach(token);
        usleep(pause_ms * 1000);
    }
    is_over = true;
    for (auto &thread : threads)
        thread.join();
    cudaDeviceSynchronize();
    printf("%u requests, attached in %.0f us, at most %.0f\n", requests, waited_us / requests, longest_us);
}
