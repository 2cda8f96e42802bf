/* A forced flush of CUPTI while a kernel hangs: whether it returns, whether calls beside it wait, and which records come, and
 * how often.
 *
 *   forced CUPTI classic|subscriber FLUSHES none|launch|memory
 *
 * One kernel waits for the host on a stream of its own, and 100 short ones end on another. Then FLUSHES forced flushes, each after
 * two that are not forced, 0.2 s apart, with records of CUPTI's own work, as the agent has them (classic only).
 * Beside them another thread does nothing, launches short kernels, or allocates memory of the GPU and frees it (which waits for the
 * kernel, as many calls of a job that hangs do). Then the kernel ends, and a last flush brings what is left. */
#include "bare_cupti.h"
#include "check_cuda.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <thread>
#include <unistd.h>

struct kernel {
    int unfinished, finished, finished_again;
};
static std::mutex lock;
static std::map<uint32_t, kernel> kernels;
static int others, came, came_unfinished, came_unstarted;

static void on_record(const bare_record *record)
{
    std::lock_guard<std::mutex> guard(lock);
    if (record->kind != 10 && record->kind != 3) {
        others++;
        return;
    }
    came++;
    came_unfinished += !record->end_ns;
    came_unstarted += !record->start_ns;
    kernel &one = kernels[record->correlation];
    if (!record->end_ns)
        one.unfinished++;
    else if (one.finished++)
        one.finished_again++;
}

static void tell(const char *when)
{
    std::lock_guard<std::mutex> guard(lock);
    int finished = 0, unfinished = 0, both = 0, again = 0, unfinished_again = 0;
    for (auto &one : kernels) {
        finished += one.second.finished > 0;
        unfinished += one.second.unfinished > 0;
        both += one.second.finished && one.second.unfinished;
        again += one.second.finished_again;
        unfinished_again += one.second.unfinished > 1;
    }
    printf("  %s: kernels with an end %d, without %d, first without and then with %d; an end twice %d, none twice %d\n", when, finished,
           unfinished, both, again, unfinished_again);
}

__global__ void wait_for(volatile int *flag)
{
    while (!*flag) {
    }
}
__global__ void nop() {}

static std::atomic<bool> is_over;
static std::atomic<long> calls, longest_us;

static void beside(const char *what)
{
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    while (!is_over) {
        uint64_t begin = bare_now_ns();
        if (!strcmp(what, "launch")) {
            nop<<<1, 1, 0, stream>>>();
        } else {
            void *memory;
            CHECK(cudaMalloc(&memory, 1 << 20));
            CHECK(cudaFree(memory));
        }
        longest_us = std::max(longest_us.load(), (long)((bare_now_ns() - begin) / 1000));
        calls++;
        usleep(1000);
    }
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    const char *what = argv[4];
    bare_options options = {};
    options.library = argv[1];
    options.subscriber_api = !strcmp(argv[2], "subscriber");
    options.on_record = on_record;
    options.on_callback = [](uint32_t, uint32_t, const void *) {};
    bare_start(&options);
    if (!options.subscriber_api) {
        auto enable = (int (*)(int))dlsym(dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD), "cuptiActivityEnable");
        printf("  records of CUPTI's own work: result %d\n", enable(17));
    }
    int *flag;
    CHECK(cudaHostAlloc(&flag, sizeof *flag, cudaHostAllocMapped));
    *flag = 0;
    cudaStream_t waits, ends;
    CHECK(cudaStreamCreateWithFlags(&waits, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&ends, cudaStreamNonBlocking));
    nop<<<1, 1, 0, ends>>>(); /* loads the module: the driver does that while no kernel runs */
    CHECK(cudaDeviceSynchronize());
    *flag = 1;
    wait_for<<<1, 1, 0, waits>>>(flag);
    CHECK(cudaDeviceSynchronize());
    *flag = 0;
    wait_for<<<1, 1, 0, waits>>>(flag);
    for (int i = 0; i < 100; i++)
        nop<<<1, 1, 0, ends>>>();
    CHECK(cudaStreamSynchronize(ends));
    std::thread other;
    if (strcmp(what, "none"))
        other = std::thread(beside, what);
    usleep(100000);
    printf("  CUPTI %u\n", bare_version());
    std::atomic<bool> has_flushed = false;
    std::thread flusher([&] {
        for (int i = 0; i < 3 * atoi(argv[3]); i++) {
            uint64_t begin = bare_now_ns();
            bare_flush(i % 3 == 2);
            double took_ms = (double)(bare_now_ns() - begin) / 1e6;
            usleep(200000);
            std::lock_guard<std::mutex> guard(lock);
            printf("  flush %d%s: %.3f ms, %d records of kernels, %d of them without an end, %d without a start, %d others\n", i, i % 3 == 2 ? ", forced" : "", took_ms,
                   came, came_unfinished, came_unstarted, others);
            came = came_unfinished = came_unstarted = others = 0;
            fflush(stdout);
        }
        has_flushed = true;
    });
    for (int i = 0; i < 100 && !has_flushed; i++)
        usleep(100000);
    printf("  flushes %s while the kernel hangs; beside them %ld calls, the longest %ld us\n", has_flushed ? "return" : "DO NOT RETURN",
           calls.load(), longest_us.load());
    tell("while it hangs");
    *flag = 1;
    CHECK(cudaStreamSynchronize(waits));
    is_over = true;
    if (other.joinable())
        other.join();
    flusher.join();
    bare_flush(false);
    usleep(100000);
    tell("after it, by a flush");
    CHECK(cudaDeviceSynchronize());
    bare_flush(true);
    usleep(100000);
    tell("after it, by a forced flush");
    fflush(stdout);
    _exit(0);
}
