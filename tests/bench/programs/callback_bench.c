/* Measures the cost of one kernel launch's callbacks for the host's thread: the enter and exit of
 * cudaLaunchKernel and, inside it, of the driver's cuLaunchKernel, which are skipped at once. In between and
 * around them the thread works on its own memory, as in a launch, and another thread drains the ring every
 * millisecond, like ours. Without CUPTI and a GPU, this is cuspan's own part of a launch's cost, as the
 * median over alternating blocks with and without callbacks. Then it measures what finding the call's parent
 * adds: with a context attached with cuspan.h, with one that an SDK publishes, and with another context for
 * each launch (attached and detached in the block, which is included).
 *
 *   callback_bench [BLOCKS] [KiB OF THE HOST'S OWN MEMORY]
 *   callback_bench --counted LAUNCHES [names]
 *                                          only the callbacks of this many launches, and draining their ring,
 *                                          in one thread: to count instructions in callbacks_handle; prints
 *                                          losses. names: with the record that a launch writes with a CUPTI
 *                                          that does not keep names (launch_names.h)
 *   callback_bench --sample [BLOCKS]       only the first figure, and the estimate of callback_time.h's
 *                                          sample for the same callbacks
 */
#include "measured.h"
#include "base/clock.h"
#include "base/accounting/counters.h"
#include "agent/capture/callbacks/callback_time.h"
#include "agent/capture/callbacks/callbacks.h"
#include "agent/capture/callbacks/launch_names.h"
#include "agent/capture/context/context.h"
#include "agent/abi/params.h"
#include "agent/capture/context/publish.h"
#include "agent/capture/context/sdk_context.h"
#include "agent/capture/threads/threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RING_BYTES  (256 * 1024)
#define TOTAL_BYTES (8 * 1024 * 1024)
#define TOUCHES     64  /* lines of its memory that the host touches before a launch, and again inside it */
#define BLOCK       200 /* launches between two readings of the clock */

static atomic_bool is_done;
static uint8_t *own_memory;
static size_t own_bytes;

static void drain_thread(struct host_thread *thread, void *sum)
{
    uint64_t end = ring_published(&thread->ring);
    const uint64_t *record;
    while ((record = ring_peek(&thread->ring, end)) != NULL) {
        const struct record_head *head = (const struct record_head *)record;
        for (uint32_t i = 0; i < head->bytes / 8; i++)
            *(uint64_t *)sum += record[i];
        ring_release(&thread->ring);
    }
}

static void *drain(void *sum)
{
    const struct timespec pause = {.tv_nsec = NS_PER_MS};
    while (!atomic_load(&is_done)) {
        threads_visit(drain_thread, sum);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static uint32_t find(enum call_domain domain, const char *name)
{
    uint32_t count = domain == CALL_RUNTIME ? call_count_runtime : call_count_driver;
    for (uint32_t cbid = 1; cbid < count; cbid++) {
        const struct call_info *info = call_info(domain, cbid);
        if (info && strcmp(call_name(info), name) == 0)
            return cbid;
    }
    abort();
}

/* The host's own work. */
static void work(void)
{
    static size_t at;
    for (int i = 0; i < TOUCHES; i++) {
        own_memory[at] = (uint8_t)(own_memory[at] + 1);
        at = (at + 4160) % own_bytes; /* a page and a line: no prefetcher follows */
    }
}

static void call(enum call_domain domain, uint32_t cbid, struct cupti_callback_data *data, uint32_t site)
{
    data->callbackSite = site;
    callbacks_handle(NULL, domain, cbid, data);
}

static struct cupti_callback_data launch, inner;
static uint32_t runtime_cbid, driver_cbid;

enum parent { PARENT_SESSION, PARENT_ATTACHED, PARENT_SDK, PARENT_CHANGING, PARENTS };

/* Published like by an SDK: found in the program's dynamic symbols. */
struct sdk_record {
    uint8_t trace_id[16], span_id[8], valid, flags;
    uint16_t attrs_bytes;
};
__attribute__((visibility("default"))) extern __thread struct sdk_record *otel_thread_ctx_v1;
__thread struct sdk_record *otel_thread_ctx_v1;

static bool has_sdk;
static struct trace_context request = {.trace_id = {1}, .span_id = {2}, .flags = 1};

static uint64_t block_ns(bool has_callbacks, enum parent parent)
{
    static struct sdk_record record = {.trace_id = {3}, .span_id = {4}, .valid = 1, .flags = 1};
    uint64_t token = parent == PARENT_ATTACHED && has_callbacks ? context_attach(&request, true) : 0;
    atomic_store(&sdk_context_is_there, parent == PARENT_SDK && has_sdk);
    otel_thread_ctx_v1 = &record;
    uint64_t begin_ns = clock_monotonic_ns();
    for (int i = 0; i < BLOCK; i++) {
        work();
        if (has_callbacks) {
            if (parent == PARENT_CHANGING)
                token = context_attach(&request, true);
            inner.correlationId = ++launch.correlationId;
            call(CALL_RUNTIME, runtime_cbid, &launch, CUPTI_SITE_ENTER);
            call(CALL_DRIVER, driver_cbid, &inner, CUPTI_SITE_ENTER);
        }
        work();
        if (has_callbacks) {
            call(CALL_DRIVER, driver_cbid, &inner, CUPTI_SITE_EXIT);
            call(CALL_RUNTIME, runtime_cbid, &launch, CUPTI_SITE_EXIT);
            if (parent == PARENT_CHANGING)
                context_detach(token);
        }
    }
    uint64_t took_ns = clock_monotonic_ns() - begin_ns;
    if (parent == PARENT_ATTACHED && has_callbacks)
        context_detach(token);
    return took_ns;
}

static void prepare_call(void)
{
    static int32_t result;
    static uint8_t params[256];
    static uint64_t launch_word, inner_word;
    launch = (struct cupti_callback_data){.functionParams = params,
                                          .functionReturnValue = &result,
                                          .contextUid = 1,
                                          .correlationData = &launch_word};
    inner = launch;
    inner.correlationData = &inner_word;
    runtime_cbid = find(CALL_RUNTIME, "cudaLaunchKernel");
    driver_cbid = find(CALL_DRIVER, "cuLaunchKernel");
}

static void take_names(void)
{
    static _Atomic uint64_t known[LAUNCH_NAMES_BYTES / sizeof(uint64_t)];
    launch_names_start(known);
    callbacks_add_flags(CALL_RUNTIME, runtime_cbid, PLAN_TAKES_NAME);
    callbacks_add_flags(CALL_DRIVER, driver_cbid, PLAN_TAKES_NAME);
    launch.symbolName = inner.symbolName = "_Z10vector_addPfS_S_i";
}

static void run_counted(size_t launches)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < launches; i++) {
        inner.correlationId = ++launch.correlationId;
        call(CALL_RUNTIME, runtime_cbid, &launch, CUPTI_SITE_ENTER);
        call(CALL_DRIVER, driver_cbid, &inner, CUPTI_SITE_ENTER);
        call(CALL_DRIVER, driver_cbid, &inner, CUPTI_SITE_EXIT);
        call(CALL_RUNTIME, runtime_cbid, &launch, CUPTI_SITE_EXIT);
        if (i % BLOCK == 0)
            threads_visit(drain_thread, &sum);
    }
    printf("{\"launches\":%zu,\"lost\":%llu}\n", launches,
           (unsigned long long)counter_get(COUNTER_lost_ring_full));
}

/* The sample's error is the difference. */
static void compare_sample(size_t blocks)
{
    double *costs = calloc(blocks, sizeof *costs);
    if (!costs)
        return;
    for (size_t i = 0; i < blocks; i++) {
        double without = (double)block_ns(false, PARENT_SESSION) / BLOCK;
        costs[i] = (double)block_ns(true, PARENT_SESSION) / BLOCK - without;
    }
    sort(costs, blocks);
    struct callback_time_sum sum = callback_time_get();
    printf("callbacks of a launch: %.0f ns (quartiles %.0f to %.0f); by the sample %llu ns (%llu calls)\n",
           costs[blocks / 2], costs[blocks / 4], costs[blocks / 4 * 3], (unsigned long long)sum.call_ns,
           (unsigned long long)sum.timed_calls);
    free(costs);
}

static bool start(void)
{
    clock_init();
    if (threads_init(RING_BYTES, TOTAL_BYTES) != STATUS_OK || callbacks_init(true) != STATUS_OK)
        return false;
    atomic_store(&mode_now, MODE_ON);
    prepare_call();
    return true;
}

int main(int argc, char **argv)
{
    if (argc >= 3 && strcmp(argv[1], "--counted") == 0) {
        if (!start())
            return 1;
        if (argc > 3 && strcmp(argv[3], "names") == 0)
            take_names();
        run_counted(strtoul(argv[2], NULL, 10));
        return 0;
    }
    bool is_sample = argc > 1 && strcmp(argv[1], "--sample") == 0;
    argc -= is_sample;
    argv += is_sample;
    size_t blocks = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000;
    own_bytes = (argc > 2 ? strtoul(argv[2], NULL, 10) : 512) * 1024;
    double *works = calloc(blocks, sizeof *works), *costs[PARENTS];
    for (int p = 0; p < PARENTS; p++)
        if (!(costs[p] = calloc(blocks, sizeof **costs)))
            return 1;
    own_memory = calloc(1, own_bytes);
    pthread_t drainer;
    uint64_t sum = 0;
    if (!blocks || !works || !own_memory || !start() || pthread_create(&drainer, NULL, drain, &sum) != 0)
        return 1;
    if (is_sample) {
        compare_sample(blocks);
        atomic_store(&is_done, true);
        return pthread_join(drainer, NULL);
    }
    sdk_context_poll(publish_variable);
    has_sdk = atomic_load(&sdk_context_is_there);
    for (size_t i = 0; i < blocks; i++) {
        works[i] = (double)block_ns(false, PARENT_SESSION) / BLOCK;
        for (int p = 0; p < PARENTS; p++)
            costs[p][i] = (double)block_ns(true, (enum parent)p) / BLOCK - works[i];
    }
    atomic_store(&is_done, true);
    pthread_join(drainer, NULL);
    for (int p = 0; p < PARENTS; p++)
        sort(costs[p], blocks);
    sort(works, blocks);
    size_t half = blocks / 2;
    printf("callbacks of a launch: %.0f ns (quartiles %.0f to %.0f) beside %.0f ns of the host's own; %llu "
           "lost\n",
           costs[0][half], costs[0][blocks / 4], costs[0][blocks / 4 * 3], works[half],
           (unsigned long long)counter_get(COUNTER_lost_ring_full));
    printf("with a context attached: %+.1f ns; ", costs[PARENT_ATTACHED][half] - costs[0][half]);
    if (has_sdk)
        printf("an SDK's: %+.1f ns; ", costs[PARENT_SDK][half] - costs[0][half]);
    printf("attached and detached anew each time: %+.1f ns\n", costs[PARENT_CHANGING][half] - costs[0][half]);
    return sum == 1;
}
