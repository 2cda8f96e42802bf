// An application that makes only CUDA calls, to measure what a tracer adds to each of them.
//   calls [calls|graphs|steps|late|start|threads16 SECONDS]
// calls      launches of an empty kernel by 1, 4 and 16 threads, cudaGetDevice, cudaStreamQuery, copies of 4 KiB
// graphs     launches of a CUDA graph of 100 kernels, separately because graph records make other calls slower
// steps      repeated steps of 200 launches that the host waits for, like a PyTorch step that is bound by launches,
//            in a process that takes at most a second, for effects that need many pairs; and the peak resident size
// late       launches before and after a library is loaded (figures.h)
// start      processes of one launch, from their start to the launch's end, and from the end of main to theirs
// threads16  16 threads that launch for SECONDS, for libcuspan-timed.so
// Each figure is the minimum and the median of 25 rounds. A round is so short that its records fit into the tracer's
// buffers, with a pause between rounds: this measures the cost of a call, not of a flood.
#include "figures.h"

#include <atomic>
#include <cstring>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>

static const int ROUNDS = 25, LATE_ROUNDS = 60, GRAPH_NODES = 100, PROCESSES = 5, STEPS = 150, STEP_LAUNCHES = 200;

__global__ void nothing() {}

static void pause_between_rounds()
{
    usleep(3000);
}

// ns for one of `count` operations of `work`, which does all of them.
template <typename Work> static void measure(const char *name, int count, Work work)
{
    std::vector<double> rounds;
    for (int round = 0; round < ROUNDS; round++) {
        double begin = now_ns();
        work(count);
        rounds.push_back((now_ns() - begin) / count);
        CHECK(cudaDeviceSynchronize());
        pause_between_rounds();
    }
    print_rounds(name, rounds, "ns");
}

// The queue of a stream holds some thousand launches; with a full one the host waits for the GPU.
static void launch(cudaStream_t stream, int count)
{
    for (int i = 0; i < count; i++) {
        nothing<<<1, 32, 0, stream>>>();
        if (i % 500 == 499)
            CHECK(cudaStreamSynchronize(stream));
    }
}

// A round of several threads lasts from when the first of them begins until the last is done, by their own clocks: with more
// threads than processors, one that only watches would be late.
static void measure_threads(const char *name, int threads, int count_each)
{
    struct alignas(128) span {
        double begin, end;
    };
    pthread_barrier_t barrier;
    std::vector<std::thread> workers;
    std::vector<span> spans(threads);
    std::vector<double> rounds;
    pthread_barrier_init(&barrier, nullptr, threads + 1);
    for (int t = 0; t < threads; t++)
        workers.emplace_back([&, t] {
            cudaStream_t stream;
            CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
            launch(stream, 100);
            for (int round = 0; round < ROUNDS; round++) {
                pthread_barrier_wait(&barrier);
                spans[t].begin = now_ns();
                launch(stream, count_each);
                spans[t].end = now_ns();
                pthread_barrier_wait(&barrier);
            }
        });
    for (int round = 0; round < ROUNDS; round++) {
        pause_between_rounds();
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
        double begin = spans[0].begin, end = spans[0].end;
        for (auto &span : spans) {
            begin = std::min(begin, span.begin);
            end = std::max(end, span.end);
        }
        rounds.push_back((end - begin) / (threads * count_each));
    }
    for (auto &worker : workers)
        worker.join();
    pthread_barrier_destroy(&barrier);
    print_rounds(name, rounds, "ns");
}

static void measure_calls()
{
    char *device, *host;
    int current;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&device, 4096));
    CHECK(cudaMallocHost(&host, 4096));
    launch(stream, 1000);
    CHECK(cudaMemcpyAsync(device, host, 4096, cudaMemcpyHostToDevice, stream));
    CHECK(cudaDeviceSynchronize());
    ready_to_measure();
    measure("launch", 1500, [&](int count) { launch(stream, count); });
    measure("get-device", 2000, [&](int count) {
        for (int i = 0; i < count; i++)
            cudaGetDevice(&current);
    });
    measure("stream-query", 2000, [&](int count) {
        for (int i = 0; i < count; i++)
            cudaStreamQuery(stream);
    });
    measure("copy-4k", 500, [&](int count) {
        for (int i = 0; i < count; i++)
            cudaMemcpyAsync(device, host, 4096, cudaMemcpyHostToDevice, stream);
    });
    measure_threads("launch-4-threads", 4, 1000);
    measure_threads("launch-16-threads", 16, 500);
}

// A graph's launch as the host sees it, and the graph as a whole, for each of its nodes, until the GPU is done.
static void measure_graphs()
{
    const int launches = 10;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    std::vector<double> calls, nodes;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    launch(stream, 1000);
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < GRAPH_NODES; i++)
        nothing<<<1, 32, 0, stream>>>();
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    ready_to_measure();
    for (int round = 0; round < 2 * ROUNDS; round++) {
        double begin = now_ns();
        for (int i = 0; i < launches; i++)
            CHECK(cudaGraphLaunch(executable, stream));
        double called = now_ns();
        CHECK(cudaStreamSynchronize(stream));
        calls.push_back((called - begin) / launches);
        nodes.push_back((now_ns() - begin) / launches / GRAPH_NODES);
        pause_between_rounds();
    }
    print_rounds("graph-launch", calls, "ns");
    print_rounds("graph-node", nodes, "ns");
}

// Resident at most, by the kernel's account of the process.
static double resident_mib()
{
    double kib = 0;
    char line[256];
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        sscanf(line, "VmHWM: %lf", &kib);
    if (file)
        fclose(file);
    return kib / 1024;
}

static void measure_steps()
{
    cudaStream_t stream;
    std::vector<double> steps;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    launch(stream, 5000);
    ready_to_measure();
    for (int step = 0; step < STEPS; step++) {
        double begin = now_ns();
        launch(stream, STEP_LAUNCHES);
        CHECK(cudaStreamSynchronize(stream));
        steps.push_back((now_ns() - begin) / 1e3);
    }
    print_rounds("step", steps, "us");
    print_figure("resident", resident_mib(), "MiB");
}

// How much longer launches take in the second half of a process, at whose beginning the library was loaded, or nothing was.
static void measure_late()
{
    cudaStream_t stream;
    std::vector<double> halves[2];
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    launch(stream, 5000);
    ready_to_measure();
    for (int half = 0; half < 2; half++) {
        if (half == 1)
            load_late();
        for (int round = 0; round < LATE_ROUNDS; round++) {
            double begin = now_ns();
            launch(stream, 1500);
            halves[half].push_back((now_ns() - begin) / 1500);
            pause_between_rounds();
        }
    }
    print_figure("launch-late.median", median(halves[1]) / median(halves[0]), "x");
    print_figure("launch-late.min", least(halves[1]) / least(halves[0]), "x");
}

// A process of one launch says when that was done, and when its main is.
static void run_once()
{
    nothing<<<1, 32>>>();
    CHECK(cudaDeviceSynchronize());
    double launched = now_ns();
    printf("%.0f %.0f\n", launched, now_ns());
    fflush(stdout);
}

// All clocks are one: CLOCK_MONOTONIC is the machine's.
static void measure_start()
{
    std::vector<double> starts, exits;
    char self[] = "/proc/self/exe", once[] = "once", *arguments[] = {self, once, nullptr};
    for (int i = 0; i < PROCESSES; i++) {
        int ends[2], status = -1;
        double launched = 0, ended = 0;
        pid_t child;
        posix_spawn_file_actions_t actions;
        if (pipe(ends) != 0 || posix_spawn_file_actions_init(&actions) != 0 ||
            posix_spawn_file_actions_adddup2(&actions, ends[1], 1) != 0)
            exit(1);
        double begin = now_ns();
        if (posix_spawn(&child, self, &actions, nullptr, arguments, environ) != 0)
            exit(1);
        waitpid(child, &status, 0);
        double gone = now_ns();
        close(ends[1]);
        FILE *said = fdopen(ends[0], "r");
        if (status != 0 || fscanf(said, "%lf %lf", &launched, &ended) != 2) {
            fprintf(stderr, "a process of one launch ended with status %d\n", status);
            exit(1);
        }
        fclose(said);
        posix_spawn_file_actions_destroy(&actions);
        starts.push_back((launched - begin) / 1e6);
        exits.push_back((gone - ended) / 1e6);
    }
    print_rounds("start", starts, "ms");
    print_rounds("exit", exits, "ms");
}

static void run_threads(int threads, double seconds)
{
    std::vector<std::thread> workers;
    std::atomic<long> launches{0};
    double end = now_ns() + seconds * 1e9;
    for (int t = 0; t < threads; t++)
        workers.emplace_back([&] {
            cudaStream_t stream;
            CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
            for (; now_ns() < end; launches += 500)
                launch(stream, 500);
        });
    for (auto &worker : workers)
        worker.join();
    print_figure("launches", (double)launches, "launches");
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "calls";
    if (strcmp(what, "start") == 0) { // before this process uses CUDA itself
        measure_start();
        return 0;
    }
    if (strcmp(what, "once") == 0) {
        run_once();
        return 0;
    }
    nothing<<<1, 32>>>();
    CHECK(cudaDeviceSynchronize());
    if (strcmp(what, "graphs") == 0)
        measure_graphs();
    else if (strcmp(what, "steps") == 0)
        measure_steps();
    else if (strcmp(what, "late") == 0)
        measure_late();
    else if (strcmp(what, "threads16") == 0)
        run_threads(16, argc > 2 ? atof(argv[2]) : 1.5);
    else
        measure_calls();
    return 0;
}
