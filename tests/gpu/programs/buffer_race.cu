// Does CUPTI crash while threads copy and launch, and another thread flushes its buffers or switches its records? No cuspan: a bare
// client of CUPTI with the classic calls. Each trial is a process of its own, because a crash ends it.
//   buffer_race SECONDS PROCESSES THREADS SWITCHES FLUSHES BUFFERS ORDER LIBRARY
// SWITCHES: "never", or the pause in us between two switches (copies, fills and kernels, in the order that cuspan uses)
// FLUSHES:  "never", the pause in us between two flushes, or "own": CUPTI flushes, every millisecond
// BUFFERS:  "thread" or "shared": a buffer of each thread, or one for all
// ORDER:    "beside", "turns" (no switch runs during a flush), or "waiting" (and callbacks in the program's calls wait for that, too)
// It is worth most where threads are interrupted often: give it fewer cores than threads (taskset -c 0-3).
//   nvcc -O2 -std=c++17 -arch=native -o buffer_race buffer_race.cu
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

__global__ void nop() {}

// The little of CUPTI's interface that is needed, by its documentation.
enum { KIND_COPY = 1, KIND_FILL = 2, KIND_KERNEL = 10, ATTRIBUTE_PER_THREAD = 9, DOMAIN_DRIVER = 1, DOMAIN_RUNTIME = 2 };
static const size_t BUFFER_BYTES = 65536;
static const double TRIAL_SECONDS = 4;

static std::mutex turns; // of switches and flushes
static bool in_turns, callbacks_wait;

static void on_call(void *, int, uint32_t, const void *)
{
    static thread_local unsigned calls;
    if (callbacks_wait && ++calls % 64 == 0)
        std::lock_guard<std::mutex> turn(turns);
}
// Buffers are used again, oldest first, and never freed: what CUPTI writes after it has returned one does no harm here.
static std::mutex pool_lock;
static std::deque<uint8_t *> pool;
static void on_request(uint8_t **buffer, size_t *size, size_t *records)
{
    std::lock_guard<std::mutex> guard(pool_lock);
    *size = BUFFER_BYTES;
    *records = 0;
    if (pool.size() < 256) {
        *buffer = (uint8_t *)aligned_alloc(64, BUFFER_BYTES);
    } else {
        *buffer = pool.front();
        pool.pop_front();
    }
    memset(*buffer, 0, BUFFER_BYTES);
}
static void on_complete(void *, uint32_t, uint8_t *buffer, size_t, size_t)
{
    std::lock_guard<std::mutex> guard(pool_lock);
    pool.push_back(buffer);
}

struct Cupti {
    void *library;
    int (*enable)(int), (*disable)(int), (*flush)(uint32_t), (*flush_period)(uint32_t);
    explicit Cupti(const char *path, bool per_thread) : library(dlopen(path, RTLD_NOW))
    {
        if (!library) {
            fprintf(stderr, "%s\n", dlerror());
            exit(2);
        }
        void *subscriber;
        uint8_t flag = per_thread;
        size_t bytes = 1;
        auto subscribe = (int (*)(void **, void (*)(void *, int, uint32_t, const void *), void *))find("cuptiSubscribe");
        auto calls = (int (*)(uint32_t, void *, int))find("cuptiEnableDomain");
        auto attribute = (int (*)(int, size_t *, void *))find("cuptiActivitySetAttribute");
        auto callbacks = (int (*)(void (*)(uint8_t **, size_t *, size_t *), void (*)(void *, uint32_t, uint8_t *, size_t, size_t)))find("cuptiActivityRegisterCallbacks");
        enable = (int (*)(int))find("cuptiActivityEnable");
        disable = (int (*)(int))find("cuptiActivityDisable");
        flush_period = (int (*)(uint32_t))find("cuptiActivityFlushPeriod");
        flush = (int (*)(uint32_t))find("cuptiActivityFlushAll");
        check(subscribe(&subscriber, on_call, nullptr), "subscribe");
        check(attribute(ATTRIBUTE_PER_THREAD, &bytes, &flag), "per-thread buffers");
        check(callbacks(on_request, on_complete), "buffers");
        check(calls(1, subscriber, DOMAIN_DRIVER), "driver calls");
        check(calls(1, subscriber, DOMAIN_RUNTIME), "runtime calls");
    }
    void *find(const char *name) { return dlsym(library, name); }
    static void check(int result, const char *what)
    {
        if (result)
            printf("%s: CUPTI's result %d\n", what, result);
    }
    void records(bool on)
    {
        static const int order[] = {KIND_KERNEL, KIND_COPY, KIND_FILL};
        for (int i = 0; i < 3; i++)
            on ? enable(order[i]) : disable(order[2 - i]);
    }
};

static std::atomic<bool> is_over;

struct Counts {
    std::atomic<long> count{0}, us{0}, longest_us{0};
};
static Counts switches, flushes;
static std::atomic<long> launches;

static void repeat(int pause_us, Counts &counts, void (*act)(Cupti &, bool), Cupti &cupti)
{
    for (bool on = false; pause_us && !is_over; on = !on) {
        usleep(pause_us);
        std::unique_lock<std::mutex> turn(turns, std::defer_lock);
        if (in_turns)
            turn.lock();
        auto begin = std::chrono::steady_clock::now();
        act(cupti, on);
        long us = (std::chrono::steady_clock::now() - begin) / std::chrono::microseconds(1);
        counts.count++;
        counts.us += us;
        if (us > counts.longest_us)
            counts.longest_us = us;
    }
}

static void tell(const char *when)
{
    auto mean = [](const Counts &counts) { return counts.count ? counts.us / counts.count : 0; };
    fprintf(stderr, "%s: %ld launches, %ld switches of %ld us (at most %ld), %ld flushes of %ld us (at most %ld)\n", when,
            launches.load(), switches.count.load(), mean(switches), switches.longest_us.load(), flushes.count.load(), mean(flushes),
            flushes.longest_us.load());
}

static void work()
{
    cudaStream_t stream;
    char *device, *host;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaMalloc(&device, 4096);
    cudaMallocHost(&host, 4096);
    for (long i = 0; !is_over; i++) {
        cudaMemcpyAsync(device, host, 1344, cudaMemcpyHostToDevice, stream);
        nop<<<1, 32, 0, stream>>>();
        launches++;
        cudaMemsetAsync(device, 0, 64, stream);
        if (i % 8 == 0)
            cudaStreamSynchronize(stream);
    }
    cudaStreamSynchronize(stream);
}

static int trial(char **argv)
{
    callbacks_wait = strcmp(argv[7], "waiting") == 0;
    in_turns = callbacks_wait || strcmp(argv[7], "turns") == 0;
    Cupti cupti(argv[8], strcmp(argv[6], "thread") == 0);
    if (strcmp(argv[5], "own") == 0)
        Cupti::check(cupti.flush_period(1), "flush period");
    cupti.records(true);
    cudaFree(nullptr);
    std::vector<std::thread> threads;
    for (int i = 0; i < atoi(argv[3]); i++)
        threads.emplace_back(work);
    threads.emplace_back([&] { repeat(atoi(argv[4]), switches, [](Cupti &c, bool on) { c.records(on); }, cupti); });
    threads.emplace_back([&] { repeat(atoi(argv[5]), flushes, [](Cupti &c, bool) { c.flush(0); }, cupti); });
    usleep(TRIAL_SECONDS * 1e6);
    is_over = true;
    std::thread([] { // if the end takes that long, it hangs
        for (int i = 0; i < 2; i++) {
            sleep(4);
            tell("not over");
        }
    }).detach();
    for (auto &thread : threads)
        thread.join();
    tell("over");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 9) {
        fprintf(stderr, "usage: buffer_race SECONDS PROCESSES THREADS SWITCHES FLUSHES BUFFERS ORDER LIBRARY\n");
        return 2;
    }
    auto begin = std::chrono::steady_clock::now();
    std::map<std::string, int> ends;
    int running = 0, status;
    for (;;) {
        bool is_time = std::chrono::steady_clock::now() - begin < std::chrono::seconds(atoi(argv[1]));
        for (; is_time && running < atoi(argv[2]); running++)
            if (fork() == 0) {
                alarm(20); // of a trial that hangs
                _exit(trial(argv));
            }
        if (running == 0)
            break;
        wait(&status);
        running--;
        ends[WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : WEXITSTATUS(status) ? "failed" : "passed"]++;
    }
    printf("switches %s, flushes %s, buffers %s, %s:", argv[4], argv[5], argv[6], argv[7]);
    for (auto &end : ends)
        printf(" %d %s", end.second, end.first.c_str());
    printf("\n");
}
