/* Threads that launch kernels, before, while and after the agent is attached.
 *
 *   attach THREADS AFTER [AGENT]
 *
 * Prints "ready" when all threads launch, and reads a line. With AGENT (libcuspan.so), it then starts that agent as `cuspan
 * attach` does, on a new thread, with the variables in ATTACH_SETTINGS, and prints "attached RESULT MESSAGE". Otherwise someone
 * has attached it by then. Each thread launches AFTER more kernels. Then it prints "thread NUMBER TID LAUNCHES" for each,
 * "results same" or "results differ", and "done". For each further line it prints "cost NANOSECONDS" of a launch.
 *
 * Thread T launches work_T only, and its launch N has 1 + N % PERIOD blocks, so that a span that belongs to another launch is
 * noticed. */
#include <atomic>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

#define PERIOD   64 /* LAUNCHES_PERIOD of attach_check.py */
#define BURST    20
#define PAUSE_US 300 /* so that files of spans stay small */
#define ROUNDS   200
#define EACH     100

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        cudaError_t result_ = (call);                                                                        \
        if (result_ != cudaSuccess) {                                                                        \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(result_));                                 \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

typedef unsigned long long number;

#define WORK(T)                                                                                              \
    extern "C" __global__ void work_##T(number *sum, unsigned n)                                             \
    {                                                                                                        \
        atomicAdd(sum, 1 + (number)n * (blockIdx.x + 1));                                                    \
    }
WORK(0) WORK(1) WORK(2) WORK(3) WORK(4) WORK(5) WORK(6) WORK(7) WORK(8) WORK(9) WORK(10) WORK(11) WORK(12) WORK(13) WORK(14) WORK(15)
static void (*const works[])(number *, unsigned) = {work_0, work_1, work_2,  work_3,  work_4,  work_5,  work_6,  work_7,
                                                    work_8, work_9, work_10, work_11, work_12, work_13, work_14, work_15};
#define THREADS_MAX (sizeof works / sizeof *works)

struct launcher {
    std::thread thread;
    std::atomic<unsigned> launches{0};
    long tid = 0;
    number expected = 0;
};
static launcher launchers[THREADS_MAX];
static std::atomic<bool> is_attached{false};
static number *sums;

static void launch(size_t which, unsigned n, cudaStream_t stream)
{
    works[which]<<<1 + n % PERIOD, 1, 0, stream>>>(sums + which, n);
    CHECK(cudaGetLastError());
}

static void run(size_t which, unsigned after)
{
    launcher &self = launchers[which];
    unsigned n = 0, end = 0;
    cudaStream_t stream;
    self.tid = syscall(SYS_gettid);
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    while (end == 0 || n < end) {
        if (end == 0 && is_attached)
            end = n + after;
        for (int i = 0; i < BURST && (end == 0 || n < end); i++, n++) {
            number blocks = 1 + n % PERIOD;
            launch(which, n, stream);
            self.expected += blocks + n * (blocks * (blocks + 1) / 2);
            self.launches = n + 1;
        }
        CHECK(cudaStreamSynchronize(stream));
        usleep(PAUSE_US);
    }
}

/* On a thread of its own, as the command's. */
static void attach_itself(const char *agent)
{
    std::thread([=] {
        char message[512] = "";
        void *library = dlopen(agent, RTLD_NOW);
        auto attach = library ? (int (*)(const char *, char *, size_t))dlsym(library, "cuspan_agent_attach") : nullptr;
        const char *settings = getenv("ATTACH_SETTINGS");
        int result = attach ? attach(settings ? settings : "", message, sizeof message) : -2;
        printf("attached %d %s\n", result, attach ? message : dlerror());
    }).join();
}

static bool results_are_same(size_t threads)
{
    number found[THREADS_MAX];
    bool is_same = true;
    CHECK(cudaMemcpy(found, sums, sizeof found, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < threads; i++)
        is_same &= found[i] == launchers[i].expected;
    return is_same;
}

/* The median of rounds. */
static double cost_ns(cudaStream_t stream)
{
    std::vector<double> times;
    for (int round = 0; round < ROUNDS; round++) {
        auto start = std::chrono::steady_clock::now();
        for (unsigned i = 0; i < EACH; i++)
            launch(0, i, stream);
        std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
        times.push_back(took.count() / EACH);
        CHECK(cudaStreamSynchronize(stream));
    }
    std::nth_element(times.begin(), times.begin() + ROUNDS / 2, times.end());
    return times[ROUNDS / 2];
}

static bool read_line()
{
    int byte;
    do
        byte = getchar();
    while (byte != '\n' && byte != EOF);
    return byte == '\n';
}

int main(int argc, char **argv)
{
    size_t threads = argc > 2 ? strtoul(argv[1], nullptr, 10) : 0;
    if (threads == 0 || threads > THREADS_MAX)
        return 2;
    setvbuf(stdout, nullptr, _IOLBF, 0);
    CHECK(cudaMalloc((void **)&sums, THREADS_MAX * sizeof *sums));
    CHECK(cudaMemset(sums, 0, THREADS_MAX * sizeof *sums));
    for (size_t i = 0; i < threads; i++)
        launchers[i].thread = std::thread(run, i, (unsigned)atoi(argv[2]));
    for (size_t i = 0; i < threads; i++)
        while (launchers[i].launches < BURST)
            usleep(1000);
    puts("ready");
    if (!read_line())
        return 1;
    if (argc > 3)
        attach_itself(argv[3]);
    is_attached = true;
    for (size_t i = 0; i < threads; i++)
        launchers[i].thread.join();
    for (size_t i = 0; i < threads; i++)
        printf("thread %zu %ld %u\n", i, launchers[i].tid, (unsigned)launchers[i].launches);
    printf("results %s\n", results_are_same(threads) ? "same" : "differ");
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (puts("done"); read_line();)
        printf("cost %.0f\n", cost_ns(stream));
    return 0;
}
