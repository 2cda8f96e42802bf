/* Keeps capture's state of the host threads. Each thread has a ring that its callbacks write and the pipeline
 * thread reads.
 *
 * All memory is allocated at start and divided into slots: half of it into rings of the configured size, the
 * rest into smaller ones for programs with hundreds of threads. A thread claims a slot at its first traced
 * call (the only system calls made in a callback) and returns it at exit. If no slot is left, its calls are
 * counted as lost. */
#pragma once

#include "base/buffers/ring.h"
#include "base/status.h"
#include "agent/capture/threads/native_stack.h"
#include "model/record.h"

#include <stdbool.h>

/* A trace ID and a span ID; all zero: none. */
struct trace_id_pair {
    uint8_t trace_id[16];
    uint8_t span_id[8];
};

struct call_plan;

enum host_thread_state { THREAD_FREE, THREAD_CLAIMED, THREAD_LIVE, THREAD_DEAD };

/* State of the graphs that the thread is creating (graph_nodes.h). */
struct host_thread_graphs {
    bool has_runs;
    uint32_t cloned; /* nodes cloned since the current instantiation started */
    struct resource_record created_run, cloned_run;
    uint32_t code_call; /* correlation ID of the runtime call in progress whose code is known; 0: none */
    uint64_t code;      /* ID of that code; 0: unknown */
};

/* Per-thread state of the callback timing (callback_time.h). */
struct callback_time {
    uint32_t interval;   /* calls that the timed one stands for; 0: new thread */
    uint32_t mean_calls; /* current mean of the intervals */
    uint32_t random;
    bool is_over, is_interrupted;
    uint64_t ticks; /* ticks of the call being timed, so far */
};

struct host_thread {
    struct ring ring;
    uint64_t serial; /* serial of the slot's current thread, as in info */
    /* Written by the host thread. */
    _Atomic uint32_t runtime_correlation; /* correlation ID of the runtime call in progress; 0: none */
    uint32_t calls_until_turn;            /* countdown to the next timed call (callback_time.h); at least 1 */
    _Atomic bool is_in_driver_call; /* a driver call that is not nested in a runtime call is in progress */
    /* Plan of the latest call that began, for the hang watch. Valid while one of the two above is set. */
    const struct call_plan *_Atomic call;
    /* Plan of a call that waits for the GPU and began while capture slept, until it returns; or NULL. */
    const struct call_plan *_Atomic call_asleep;
    _Atomic uint64_t lost;        /* calls lost because the ring was full */
    _Atomic uint64_t notes_lost;  /* other records lost because the ring was full */
    struct trace_id_pair sdk_ids; /* the SDK's context last written to the ring; zero: none */
    uint8_t sdk_flags;
    _Atomic uint32_t launch; /* correlation ID of the launch in progress, with counters on (gpu_counters.h) */
    bool is_counted;         /* the launch in progress is counted */
    uint64_t handles_written; /* bit i: the ring has the handle of context i + 1 (thread_context.h) */
    struct host_thread_graphs graphs;
    struct callback_time time;
    uint32_t calls_until_code; /* countdown to the next call whose code is recorded; 0: new thread */
    uint32_t code_random;
    uint32_t code_table; /* of the slot: number of the table of known stacks (launch_stacks.c); 0: none yet */
    struct native_stack native;
    struct thread_info info;
    _Atomic uint64_t tid; /* as in info, for the hang watch, which may read while the slot changes hands */
    _Atomic int state;
    /* Written by the pipeline thread. */
    uint64_t lost_seen, notes_lost_seen;
    uint64_t drain_end; /* where the current round of draining ends */
    /* The call state when capture last woke. While it is unchanged, the call in progress will have no record.
     */
    _Atomic uint32_t old_correlation;
    _Atomic bool was_in_driver_call;
    _Atomic uint64_t old_end;
};

/* The calling thread's slot; NULL until its first traced call, and while a call is timed. Initial-exec TLS
 * makes an access one instruction instead of a call. Every libc reserves room for the few words that such
 * libraries need. */
extern __thread struct host_thread *thread_self __attribute__((tls_model("initial-exec")));
/* The thread while one of its calls is timed and thread_self is NULL (callback_time.h). */
extern __thread struct host_thread *thread_timed __attribute__((tls_model("initial-exec")));
/* Set on cuspan's own threads, whose CUDA work is not the host's. */
extern __thread bool thread_is_ours __attribute__((tls_model("initial-exec")));

/* Correlation ID of the runtime call that a thread without a ring is in; 0: none. */
extern __thread uint32_t thread_runtime_without_ring __attribute__((tls_model("initial-exec")));

/* Allocates the slots. NO_MEMORY, or UNAVAILABLE if no thread-exit hook can be installed. */
enum status threads_init(uint32_t ring_bytes, uint32_t total_bytes) MUST_CHECK;

/* Replaces the kernel's thread ID and name (for a replay); NULL: use the kernel's. */
void threads_set_identity(int (*identity)(uint64_t *tid, char name[THREAD_NAME_BYTES]));

/* Claims a slot for the calling thread. NULL: none is free, and the caller counts the loss. */
struct host_thread *thread_register(void);

static inline struct host_thread *thread_current(void)
{
    struct host_thread *self = thread_self;
    return __builtin_expect(self != NULL, 1) ? self : thread_register();
}

/* Returns the calling thread's slot, also while a call is timed; NULL: it has none. */
static inline struct host_thread *thread_known(void)
{
    struct host_thread *self = thread_self;
    return __builtin_expect(self != NULL, 1) ? self : thread_timed;
}

/* Counts a call that was lost because the thread's ring was full. */
static inline void thread_count_lost(struct host_thread *thread)
{
    uint64_t lost = atomic_load_explicit(&thread->lost, memory_order_relaxed);
    atomic_store_explicit(&thread->lost, lost + 1, memory_order_relaxed);
}

/* Counts another lost record, which would not have become a span but would have added to others. */
static inline void thread_count_note_lost(struct host_thread *thread)
{
    uint64_t lost = atomic_load_explicit(&thread->notes_lost, memory_order_relaxed);
    atomic_store_explicit(&thread->notes_lost, lost + 1, memory_order_relaxed);
}

/* Pipeline thread: calls `visit` for every slot in use and frees slots of exited threads once they are
 * drained. */
void threads_visit(void (*visit)(struct host_thread *, void *), void *context);

/* Whether another thread is inside a launch, according to `launch`. Any thread. */
bool threads_launch_besides(const struct host_thread *thread);

/* Returns the fill level of the fullest ring, in percent. Pipeline thread, also during a visit. */
uint32_t threads_fullest_ring(void);

/* Return the number of calls in progress that will get a record, of all threads or of one. Any thread. They
 * exclude calls that started before capture last woke: callbacks do not track calls while asleep, so those
 * may have ended. */
uint32_t threads_in_call(void);
uint32_t thread_calls(const struct host_thread *thread);

/* A CUDA call in progress. Two looks at the same one have the same thread, plan and `id`. */
struct thread_call {
    uint64_t tid;
    const struct call_plan *plan;
    uint64_t id;
};
/* Returns the calls in progress, at most `max`. While capture sleeps, only those that wait for the GPU, on
 * threads that made a call while it was awake. A thread of ours, also while the pipeline thread is stuck. */
uint32_t threads_calls_in_progress(bool is_asleep, struct thread_call *calls, uint32_t max);
/* Call it when capture is about to wake: calls in progress now will get no record. */
void threads_wake(void);

/* Pipeline thread: reads the names of live threads again because some programs set them late. */
void threads_refresh_names(void);
