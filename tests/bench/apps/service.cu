// A service in a closed loop: each of 16 threads answers one request after the other. A request attaches its
// own W3C trace context (cuspan.h), copies 4 KiB to the GPU, launches, waits for its stream, and detaches.
//   service [PERCENT-SAMPLED [SECONDS [THREADS [LAUNCHES]]]]      100, 1.5, 16, 100
// A share of the contexts has the sampled flag, evenly over threads and time. Without an agent, attaching
// costs almost nothing, as in any program with cuspan.h.
#include <cuspan/cuspan.h>

#include "figures.h"

#include <atomic>
#include <cstring>
#include <thread>

__global__ void nothing() {}

struct alignas(128) worker {
    unsigned number, launches, percent;
    cudaStream_t stream;
    char *device, *host;
    std::vector<double> took_ns;
};

static cuspan_context context_of(const worker &mine, uint64_t n)
{
    cuspan_context context = {};
    memcpy(context.trace_id, "benchmrk", 8);
    for (int i = 0; i < 8; i++)
        context.trace_id[8 + i] = context.span_id[i] = (uint8_t)(n >> (56 - 8 * i));
    context.trace_id[8] = context.span_id[0] = (uint8_t)(mine.number + 1);
    // Threads start at different positions of the hundred, so that their sampled requests do not coincide.
    context.flags = (n + 37 * mine.number) % 100 < mine.percent;
    return context;
}

static void serve(worker &mine, uint64_t n)
{
    cuspan_context context = context_of(mine, n);
    uint64_t token = cuspan_attach(&context);
    CHECK(cudaMemcpyAsync(mine.device, mine.host, 4096, cudaMemcpyHostToDevice, mine.stream));
    for (unsigned i = 0; i < mine.launches; i++)
        nothing<<<1, 32, 0, mine.stream>>>();
    CHECK(cudaStreamSynchronize(mine.stream));
    cuspan_detach(token);
}

static void prepare(worker &mine)
{
    CHECK(cudaStreamCreateWithFlags(&mine.stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&mine.device, 4096));
    CHECK(cudaMallocHost(&mine.host, 4096));
    mine.took_ns.reserve(1 << 20);
    for (uint64_t n = 0; n < 100; n++)
        serve(mine, n);
}

static void work(worker &mine, double end_ns)
{
    double begin = now_ns();
    for (uint64_t n = 100; begin < end_ns; n++) {
        serve(mine, n);
        double done = now_ns();
        mine.took_ns.push_back(done - begin);
        begin = done;
    }
}

static std::vector<double> all_times(const std::vector<worker> &workers)
{
    std::vector<double> all;
    for (auto &worker : workers)
        all.insert(all.end(), worker.took_ns.begin(), worker.took_ns.end());
    std::sort(all.begin(), all.end());
    return all;
}

template <typename Part> static void on_all(std::vector<worker> &workers, Part part)
{
    std::vector<std::thread> threads;
    for (auto &worker : workers)
        threads.emplace_back([&] { part(worker); });
    for (auto &thread : threads)
        thread.join();
}

int main(int argc, char **argv)
{
    unsigned percent = argc > 1 ? atoi(argv[1]) : 100;
    double seconds = argc > 2 ? atof(argv[2]) : 1.5;
    std::vector<worker> workers(argc > 3 ? atoi(argv[3]) : 16);
    unsigned launches = argc > 4 ? atoi(argv[4]) : 100;
    CHECK(cudaFree(0));
    for (unsigned i = 0; i < workers.size(); i++) {
        workers[i].number = i;
        workers[i].launches = launches;
        workers[i].percent = percent;
    }
    on_all(workers, prepare);
    ready_to_measure();
    double begin = now_ns();
    on_all(workers, [=](worker &mine) { work(mine, begin + seconds * 1e9); });
    double took = now_ns() - begin;
    std::vector<double> times = all_times(workers);
    print_figure("requests", times.size() / took * 1e9, "1/s");
    print_figure("request-time", took * workers.size() / times.size() / 1e3, "us");
    print_figure("request-p50", times[times.size() / 2] / 1e3, "us");
    print_figure("request-p99", times[times.size() * 99 / 100] / 1e3, "us");
    return 0;
}
