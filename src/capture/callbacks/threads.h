/* The host's threads as capture sees them: each has a ring that its callbacks write and the pipeline thread
 * reads.
 *
 * All memory is taken at start and divided into slots: half of it into rings of the configured size, the rest
 * into smaller and smaller ones for programs with hundreds of threads. A thread claims a slot at its first
 * traced call (the one bounded exception to "a callback makes no system call") and gives it back when it
 * dies; with no slot left its calls are counted as lost. */
#ifndef CUSPAN_CAPTURE_CALLBACKS_THREADS_H
#define CUSPAN_CAPTURE_CALLBACKS_THREADS_H

#include "base/ring.h"
#include "base/status.h"
#include "model/record.h"

#include <stdbool.h>

/* A trace's ID and a span's; all zero: none. */
struct trace_id_pair {
    uint8_t trace_id[16];
    uint8_t span_id[8];
};

enum host_thread_state { THREAD_FREE, THREAD_CLAIMED, THREAD_LIVE, THREAD_DEAD };

/* Graphs that the thread is making (graph_nodes.h). */
struct host_thread_graphs {
    bool has_runs;
    uint32_t cloned; /* nodes, since the graph being instantiated was begun */
    struct resource_record created_run, cloned_run;
};

/* What the sample of its callbacks' time needs (callback_time.h). */
struct callback_time {
    uint32_t interval;   /* calls that the timed one stands for; 0: the thread is new */
    uint32_t mean_calls; /* of the intervals at present */
    uint32_t random;
    bool is_over, is_interrupted;
    uint64_t ticks; /* of the call that is being timed, so far */
};

struct host_thread {
    struct ring ring;
    uint64_t serial; /* of who has the slot now, as in info; never changes while it lives */
    /* The producer's. */
    _Atomic uint32_t runtime_correlation; /* of the runtime call that the thread is in; 0: none */
    uint32_t calls_until_turn;            /* of the sample (callback_time.h); at least 1 */
    _Atomic bool is_in_driver_call;       /* of the program's own */
    _Atomic uint64_t lost;                /* calls that found the ring full; written by the thread alone */
    _Atomic uint64_t notes_lost;          /* what says something of calls, and found it full */
    struct trace_id_pair sdk_ids;         /* of the SDK's context that the ring has last; zero: none */
    uint8_t sdk_flags;
    _Atomic uint32_t
        launch;             /* the correlation ID of that under way, while counters are on (gpu_counters.h) */
    bool is_counted;        /* that launch */
    uint64_t contexts_told; /* bit i: the ring has the handle of context i + 1 (thread_context.h) */
    struct host_thread_graphs graphs;
    struct callback_time time;
    struct thread_info info;
    _Atomic int state;
    /* The consumer's. */
    uint64_t lost_seen, notes_lost_seen;
    uint64_t drain_end; /* how far the present round of draining goes */
    /* What it was in when capture last woke, and how far its ring was: has neither changed, that call has no
     * record to come. */
    _Atomic uint32_t old_correlation;
    _Atomic bool was_in_driver_call;
    _Atomic uint64_t old_end;
};

/* NULL until the thread's first traced call, and while one is timed. Initial-exec: an access is one
 * instruction, not a call, and the library needs nothing but libc; three words fit into the room that every
 * libc keeps for such libraries. */
extern __thread struct host_thread *thread_self __attribute__((tls_model("initial-exec")));
/* The thread itself while a call of its is timed, and thread_self is NULL (callback_time.h). */
extern __thread struct host_thread *thread_timed __attribute__((tls_model("initial-exec")));
/* Set on cuspan's own threads: whatever CUDA work they cause is not the host's. */
extern __thread bool thread_is_ours __attribute__((tls_model("initial-exec")));

/* The runtime call, by its correlation ID, that a thread without a ring is in; 0: none. */
extern __thread uint32_t thread_runtime_without_ring __attribute__((tls_model("initial-exec")));

/* NO_MEMORY, or UNAVAILABLE where no thread-exit hook can be had. */
enum status threads_init(uint32_t ring_bytes, uint32_t total_bytes) MUST_CHECK;

/* Tells who the calling thread is, in place of the kernel (a replay); NULL: the kernel. */
void threads_set_identity(int (*identity)(uint64_t *tid, char name[THREAD_NAME_BYTES]));

/* Claims a slot for the calling thread, or returns NULL: the caller counts what is lost. */
struct host_thread *thread_register(void);

static inline struct host_thread *thread_current(void)
{
    struct host_thread *self = thread_self;
    return __builtin_expect(self != NULL, 1) ? self : thread_register();
}

/* NULL: the thread has no slot. */
static inline struct host_thread *thread_known(void)
{
    struct host_thread *self = thread_self;
    return __builtin_expect(self != NULL, 1) ? self : thread_timed;
}

/* A record of the thread's own found its ring full. */
static inline void thread_count_lost(struct host_thread *thread)
{
    uint64_t lost = atomic_load_explicit(&thread->lost, memory_order_relaxed);
    atomic_store_explicit(&thread->lost, lost + 1, memory_order_relaxed);
}

/* The same of a record that would have become no span: what it says is missing in others. */
static inline void thread_count_note_lost(struct host_thread *thread)
{
    uint64_t lost = atomic_load_explicit(&thread->notes_lost, memory_order_relaxed);
    atomic_store_explicit(&thread->notes_lost, lost + 1, memory_order_relaxed);
}

/* Pipeline thread: calls `visit` for every slot that is or was in use; frees slots of dead threads once
 * drained. */
void threads_visit(void (*visit)(struct host_thread *, void *), void *context);

/* Whether another thread than this one is inside a launch, as far as its `launch` says. Any thread. */
bool threads_launch_besides(const struct host_thread *thread);

/* How full the fullest ring is now, in percent. Pipeline thread, also while it visits. */
uint32_t threads_fullest_ring(void);

/* Calls that threads are in, and that began while they were captured: their records are to come. Any thread.
 * The callbacks of sleep say nothing, so of what began before it nobody knows whether it is over. */
uint32_t threads_in_call(void);
uint32_t thread_calls(const struct host_thread *thread);
/* Capture is about to wake: what threads are in now is of before. */
void threads_wake(void);

/* Pipeline thread: reads the names again of threads that live, which some programs set late. */
void threads_refresh_names(void);

/* In a forked child: every slot is abandoned. */
void threads_forget(void);

#endif
