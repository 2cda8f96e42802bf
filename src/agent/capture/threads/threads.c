#include "agent/capture/threads/threads.h"

#include "base/accounting/counters.h"
#include "base/files.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RETRY_EVERY 64 /* calls of a thread without a slot between two searches, which scan all slots */

__thread struct host_thread *thread_self __attribute__((tls_model("initial-exec")));
__thread struct host_thread *thread_timed __attribute__((tls_model("initial-exec")));
__thread uint32_t thread_runtime_without_ring __attribute__((tls_model("initial-exec")));
__thread bool thread_is_ours __attribute__((tls_model("initial-exec")));

static struct host_thread slots[THREADS_MAX];
static uint32_t slot_count;
static _Atomic uint32_t slots_used; /* slots from this one on were never claimed */
static _Atomic uint64_t serials;
static pthread_key_t exit_key;
static int (*identity_source)(uint64_t *, char *);

/* Returns the slot, on the exiting thread. Calls made by later exit hooks register the thread again. */
static void on_thread_exit(void *value)
{
    struct host_thread *thread = value;
    thread_self = thread_timed = NULL;
    atomic_store_explicit(&thread->state, THREAD_DEAD, memory_order_release);
}

static uint8_t *add_slots(uint8_t *memory, uint64_t bytes, uint32_t ring_bytes)
{
    for (uint64_t used = 0; used + ring_bytes <= bytes && slot_count < THREADS_MAX; used += ring_bytes) {
        ring_init(&slots[slot_count].ring, memory, ring_bytes);
        slot_count++;
        memory += ring_bytes;
    }
    return memory;
}

/* Divides the memory into rings. With more threads, each makes fewer calls, so later threads get smaller
 * rings: by default 16 of 256 KiB, 24 of 64, 96 of 16 and 128 of 8. */
static void divide(uint8_t *memory, uint32_t total_bytes, uint32_t ring_bytes)
{
    static const struct {
        uint32_t sixteenths; /* cumulative share of the memory */
        uint32_t divisor;
    } sizes[] = {{8, 1}, {11, 4}, {14, 16}, {16, 32}};
    uint8_t *rest = memory;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint32_t bytes = ring_bytes / sizes[i].divisor;
        uint64_t until = (uint64_t)total_bytes * sizes[i].sixteenths / 16;
        if (bytes < RING_BYTES_MIN)
            bytes = ring_bytes < RING_BYTES_MIN ? ring_bytes : RING_BYTES_MIN;
        if (until > (uint64_t)(rest - memory))
            rest = add_slots(rest, until - (uint64_t)(rest - memory), bytes);
    }
}

enum status threads_init(uint32_t ring_bytes, uint32_t total_bytes)
{
    if (pthread_key_create(&exit_key, on_thread_exit) != 0)
        return STATUS_UNAVAILABLE;
    /* Pages become resident only when a ring first reaches them. */
    uint8_t *memory = mmap(NULL, total_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return STATUS_NO_MEMORY;
    divide(memory, total_bytes, 1u << (31 - __builtin_clz(ring_bytes)));
    return STATUS_OK;
}

void threads_set_identity(int (*identity)(uint64_t *, char *))
{
    identity_source = identity;
}

static void identify(struct thread_info *info)
{
    memset(info, 0, sizeof *info);
    if (identity_source && identity_source(&info->tid, info->name))
        return;
    info->tid = (uint64_t)syscall(SYS_gettid);
    prctl(PR_GET_NAME, info->name);
}

static struct host_thread *claim_slot(void)
{
    for (uint32_t i = 0; i < slot_count; i++) {
        int expected = THREAD_FREE;
        if (atomic_load_explicit(&slots[i].state, memory_order_relaxed) != THREAD_FREE)
            continue;
        if (!atomic_compare_exchange_strong(&slots[i].state, &expected, THREAD_CLAIMED))
            continue;
        identify(&slots[i].info);
        slots[i].serial = slots[i].info.serial = atomic_fetch_add(&serials, 1) + 1;
        slots[i].info.slot = i;
        atomic_store_explicit(&slots[i].tid, slots[i].info.tid, memory_order_relaxed);
        atomic_store_explicit(&slots[i].runtime_correlation, 0, memory_order_relaxed);
        atomic_store_explicit(&slots[i].is_in_driver_call, false, memory_order_relaxed);
        atomic_store_explicit(&slots[i].call_asleep, NULL, memory_order_relaxed);
        memset(&slots[i].sdk_ids, 0, sizeof slots[i].sdk_ids);
        atomic_store_explicit(&slots[i].old_correlation, 0, memory_order_relaxed);
        atomic_store_explicit(&slots[i].was_in_driver_call, false, memory_order_relaxed);
        slots[i].handles_written = 0;
        slots[i].graphs = (struct host_thread_graphs){0};
        slots[i].time = (struct callback_time){.random = slots[i].time.random};
        slots[i].calls_until_turn = 1;
        slots[i].calls_until_code = 0;
        native_stack_begin(&slots[i].native);
        atomic_store_explicit(&slots[i].state, THREAD_LIVE, memory_order_release);
        uint32_t used = atomic_load(&slots_used);
        while (used < i + 1 && !atomic_compare_exchange_weak(&slots_used, &used, i + 1)) {
        }
        return &slots[i];
    }
    return NULL;
}

struct host_thread *thread_register(void)
{
    static __thread uint32_t misses __attribute__((tls_model("initial-exec")));
    int saved_errno = errno;
    if (thread_timed)
        return thread_timed;
    struct host_thread *thread = misses++ % RETRY_EVERY == 0 ? claim_slot() : NULL;
    if (thread) {
        misses = 0;
        counter_add(COUNTER_threads_seen, 1);
        pthread_setspecific(exit_key, thread);
        thread_self = thread;
    }
    errno = saved_errno;
    return thread;
}

void threads_visit(void (*visit)(struct host_thread *, void *), void *context)
{
    uint32_t used = atomic_load_explicit(&slots_used, memory_order_acquire);
    for (uint32_t i = 0; i < used; i++) {
        int state = atomic_load_explicit(&slots[i].state, memory_order_acquire);
        if (state == THREAD_FREE || state == THREAD_CLAIMED)
            continue;
        visit(&slots[i], context);
        if (state == THREAD_DEAD && ring_used(&slots[i].ring) == 0)
            atomic_store_explicit(&slots[i].state, THREAD_FREE, memory_order_release);
    }
}

bool threads_launch_besides(const struct host_thread *thread)
{
    uint32_t used = atomic_load_explicit(&slots_used, memory_order_acquire);
    for (uint32_t i = 0; i < used; i++)
        if (&slots[i] != thread && atomic_load_explicit(&slots[i].launch, memory_order_relaxed) &&
            atomic_load_explicit(&slots[i].state, memory_order_acquire) == THREAD_LIVE)
            return true;
    return false;
}

uint32_t threads_fullest_ring(void)
{
    uint32_t used = atomic_load_explicit(&slots_used, memory_order_acquire), fullest = 0;
    for (uint32_t i = 0; i < used; i++) {
        int state = atomic_load_explicit(&slots[i].state, memory_order_acquire);
        if (state == THREAD_FREE || state == THREAD_CLAIMED)
            continue;
        uint32_t percent = (uint32_t)(ring_used(&slots[i].ring) * 100 / slots[i].ring.bytes);
        fullest = percent > fullest ? percent : fullest;
    }
    return fullest;
}

uint32_t thread_calls(const struct host_thread *thread)
{
    uint32_t runtime = atomic_load_explicit(&thread->runtime_correlation, memory_order_acquire);
    bool is_in_driver = atomic_load_explicit(&thread->is_in_driver_call, memory_order_acquire);
    bool is_quiet =
        atomic_load_explicit(&thread->old_end, memory_order_relaxed) == ring_published(&thread->ring);
    bool is_old_runtime =
        is_quiet && runtime == atomic_load_explicit(&thread->old_correlation, memory_order_relaxed);
    bool is_old_driver = is_quiet && atomic_load_explicit(&thread->was_in_driver_call, memory_order_relaxed);
    return (runtime && !is_old_runtime ? 1u : 0u) + (is_in_driver && !is_old_driver ? 1u : 0u);
}

uint32_t threads_in_call(void)
{
    uint32_t used = atomic_load_explicit(&slots_used, memory_order_acquire), count = 0;
    for (uint32_t i = 0; i < used; i++)
        if (atomic_load_explicit(&slots[i].state, memory_order_acquire) == THREAD_LIVE)
            count += thread_calls(&slots[i]);
    return count;
}

/* The call that a thread is in; its plan is NULL if it is in none. While awake, a thread's ring gets a record
 * at the end of each call, and the runtime's calls have IDs. */
static struct thread_call call_of(const struct host_thread *thread, bool is_asleep)
{
    struct thread_call call = {.tid = atomic_load_explicit(&thread->tid, memory_order_relaxed),
                               .id = ring_published(&thread->ring)};
    if (is_asleep)
        call.plan = atomic_load_explicit(&thread->call_asleep, memory_order_acquire);
    else if (thread_calls(thread))
        call.plan = atomic_load_explicit(&thread->call, memory_order_relaxed);
    call.id = call.id << 32 | atomic_load_explicit(&thread->runtime_correlation, memory_order_relaxed);
    return call;
}

uint32_t threads_calls_in_progress(bool is_asleep, struct thread_call *calls, uint32_t max)
{
    uint32_t used = atomic_load_explicit(&slots_used, memory_order_acquire), count = 0;
    for (uint32_t i = 0; i < used && count < max; i++) {
        if (atomic_load_explicit(&slots[i].state, memory_order_acquire) != THREAD_LIVE)
            continue;
        calls[count] = call_of(&slots[i], is_asleep);
        atomic_thread_fence(memory_order_acquire);
        bool is_same = calls[count].tid == atomic_load_explicit(&slots[i].tid, memory_order_relaxed);
        count += calls[count].plan && is_same;
    }
    return count;
}

void threads_wake(void)
{
    uint32_t used = atomic_load_explicit(&slots_used, memory_order_acquire);
    for (uint32_t i = 0; i < used; i++) {
        struct host_thread *thread = &slots[i];
        if (atomic_load_explicit(&thread->state, memory_order_acquire) != THREAD_LIVE)
            continue;
        atomic_store_explicit(&thread->old_correlation,
                              atomic_load_explicit(&thread->runtime_correlation, memory_order_relaxed),
                              memory_order_relaxed);
        atomic_store_explicit(&thread->was_in_driver_call,
                              atomic_load_explicit(&thread->is_in_driver_call, memory_order_relaxed),
                              memory_order_relaxed);
        atomic_store_explicit(&thread->old_end, ring_published(&thread->ring), memory_order_relaxed);
        atomic_store_explicit(&thread->call_asleep, NULL, memory_order_relaxed); /* its end may be missed */
    }
}

static void refresh_name(struct host_thread *thread, void *context)
{
    char path[64], name[THREAD_NAME_BYTES] = "";
    snprintf(path, sizeof path, "/proc/self/task/%llu/comm", (unsigned long long)thread->info.tid);
    if (files_read_small(path, name, sizeof name) <= 0)
        return; /* the thread has exited, or its ID comes from a recording */
    name[strcspn(name, "\n")] = 0;
    memcpy(thread->info.name, name, sizeof name);
}

void threads_refresh_names(void)
{
    if (!identity_source)
        threads_visit(refresh_name, NULL);
}
