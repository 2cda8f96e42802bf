/* The live state of a process: what its ranks have enqueued at their communicators, and which calls are in
 * progress. A reader in another process sees it while this one hangs, is stopped, or is deadlocked.
 *
 * Where what is stored, and by which thread:
 *
 *   what                                  thread                       where
 *   a collective begins                   the program's, in NVTX hook  communicators[], its entries[]
 *   any call of NCCL begins or returns    the program's, in NVTX hook  nccl_calls[]
 *   a step begins                         the program's, steps_begin() header
 *   a collective's launch, its line       pipeline                     entries[], lines[]
 *   a collective has ended on the GPU     pipeline                     communicators[].completed
 *   an end of work of the GPU             pipeline                     header
 *   a forced flush, and what it shows     pipeline                     header
 *   CUDA calls in progress, entries that
 *   have ended, times, stalls             cuspan/watch, once a second  cuda_calls[], flags, header
 *   lines of threads                      cuspan/watch, see exact_ns   lines[]
 *   the same, shortened to 64 KiB         cuspan/watch, once a second  a file, by pwrite
 * (agent/watch/live_file.h)
 *
 * A collective is stored before NCCL's call does anything, because NCCL pushes its range first. So it is
 * there if the call never returns, if the pipeline thread is stuck in CUPTI, and while capture sleeps. The
 * range's record in the thread's ring could not serve: only the pipeline thread reads rings.
 *
 * Ends come from CUPTI's records, which are up to a second late, and one kernel that does not end withholds
 * others. So once nothing has moved for hang.after_ms, the pipeline thread forces a flush. Then the ends are
 * exact as of `exact_ns`: a collective that was LIVE_TRACED by then, and is not LIVE_ENDED, has not ended.
 *
 * CUDA's callbacks store one more word, the plan of the call in progress, in the thread's private state: one
 * instruction of the 400 of a launch. While capture sleeps, only calls that wait for the GPU store it.
 *
 * The memory is a memfd of LIVE_STATE_BYTES, sealed against shrinking and growing, so that no reader can make
 * the writer fault. Others open it by /proc/PID/fd (a link to "/memfd:cuspan.live"), as the process's user or
 * root. The agent owns it until the process ends. The mapping is inherited by forked children, which never
 * write to it; the header has the PID that it belongs to.
 *
 * Writers do not wait for each other or for readers. Each part has a sequence: odd or changed means that it
 * was being written, and a reader tries again or gives it up (live_reader.h). All numbers are in the
 * machine's byte order. Times are CLOCK_MONOTONIC in ns; with realtime_offset_ns they are ns since 1970. */
#pragma once

#include "model/collective.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIVE_STATE_NAME    "cuspan.live"
#define LIVE_STATE_MAGIC   "cuspanLV"
#define LIVE_FILE_SUFFIX   ".live" /* of a file with a state: PID.live */
#define LIVE_OVER_S        3600    /* how long the file of a process counts that has ended as it should */
#define LIVE_STATE_VERSION 1
#define LIVE_COMMUNICATORS 64 /* per process; calls of further ones are counted only */
#define LIVE_ENTRIES       64 /* the latest calls of a communicator; a power of two */
#define LIVE_NCCL_CALLS    64 /* threads that call NCCL */
#define LIVE_CUDA_CALLS    64 /* CUDA calls in progress */
#define LIVE_NAME_BYTES    32 /* of a function, NUL-terminated, truncated */
#define LIVE_NO_PEER       (-1)
#define LIVE_THREAD_LINES  16 /* threads whose line is known */
#define LIVE_CODE_LINES    32 /* the latest stacks of calls of collectives */
#define LIVE_LINES         (LIVE_THREAD_LINES + LIVE_CODE_LINES)
#define LIVE_LINE_BYTES    184 /* NUL-terminated UTF-8; longer ones lose their start */

enum live_flags {
    LIVE_RETURNED = 1, /* NCCL's call has returned; in a group, it has only been noted for the group's end */
    LIVE_ENDED = 2,    /* known to have ended on the GPU; without it, that is unknown */
    LIVE_TRACED = 4    /* its launch was captured, so that its end will be known */
};

/* The oldest launch of a kernel without a record of its end, after a forced flush. Work of a GPU waits only
 * for work that was launched before, so nothing that is known of holds this kernel up. */
enum live_work {
    LIVE_WORK_UNKNOWN, /* no flush, or launches or records are missing: CUDA graphs, sleep, losses */
    LIVE_WORK_NONE,    /* all have ended */
    LIVE_WORK_KERNEL,
    LIVE_WORK_COLLECTIVE, /* launched by NCCL */
    LIVE_WORK_COUNT
};

/* A call of a collective, 64 bytes. `sequence` is 0 (never used), 2n + 1 while call n of the communicator is
 * being written, and 2n + 2 after that. Call n is at entries[n % LIVE_ENTRIES]. */
struct live_entry {
    _Atomic uint64_t sequence;
    _Atomic uint64_t enqueued_ns;
    _Atomic uint64_t ordinal;  /* among those of its operation (and peer), collective.ordinal of spans */
    _Atomic uint64_t bytes;    /* what this rank contributes; UINT64_MAX: unknown */
    _Atomic uint64_t code;     /* ID of the stack of its launch, as in spans; 0: unknown */
    _Atomic uint32_t thread;   /* the kernel's thread ID; 0: unknown */
    _Atomic int32_t peer;      /* of Send and Recv, else LIVE_NO_PEER */
    _Atomic uint8_t operation; /* enum collective_operation */
    _Atomic uint8_t datatype;  /* ncclDataType_t + 1; 0: unknown. From NCCL's profiler plugin, not NVTX */
    _Atomic uint8_t flags;     /* enum live_flags */
    uint8_t reserved[13];
};

/* A communicator of this process. All counts are of calls by this process; with several ranks of the
 * communicator in it, each counts its own calls, so the number of a call is divided by local_ranks. */
struct live_communicator {
    _Atomic uint64_t id;               /* NCCL's hash, collective.communicator of spans; 0: free */
    _Atomic uint64_t enqueued;         /* calls that have started, of all operations */
    _Atomic uint64_t completed;        /* calls known to have ended on the GPU. A lower limit: ends are known
                                          while capture is awake, and up to a second late */
    _Atomic uint64_t last_enqueued_ns; /* 0: never */
    _Atomic uint64_t last_ended_ns;    /* when the pipeline thread learned of it; 0: never */
    _Atomic uint32_t ranks;            /* 0: unknown */
    _Atomic uint32_t rank;             /* of this process, if `ranks` is known and local_ranks is 1 */
    _Atomic uint32_t local_ranks;      /* ranks in this process; 0: unknown, probably 1 */
    uint32_t reserved[19];
    struct live_entry entries[];
};

/* A thread's outermost call of NCCL in progress. The slot belongs to the thread during the call. */
struct live_nccl_call {
    _Atomic uint64_t since_ns; /* 0: none. Written last, and first cleared */
    _Atomic uint64_t communicator;
    _Atomic uint32_t thread; /* the kernel's thread ID; 0: the slot is free */
    uint32_t reserved;
    _Atomic uint64_t name[LIVE_NAME_BYTES / 8]; /* such as "ncclGroupEnd" */
};

/* A CUDA call in progress, as of the last look. */
struct live_cuda_call {
    uint64_t since_ns; /* when a look first saw it: up to a second late */
    uint32_t thread;
    uint32_t cbid;              /* CUPTI's */
    char name[LIVE_NAME_BYTES]; /* such as "cudaStreamSynchronize" */
};

/* Where a thread is, or a collective was launched, such as "/srv/train.py:88 Trainer.step". */
struct live_line {
    _Atomic uint64_t key; /* the thread's ID, and in later places the code's; 0: none. Written last */
    _Atomic uint64_t text[LIVE_LINE_BYTES / 8];
};

enum live_watch {
    LIVE_NOT_WATCHED,
    LIVE_MOVING,
    LIVE_STILL, /* nothing has moved for hang.after_ms, which is no stall yet (stall.h) */
    LIVE_STALLED,
    LIVE_OVER
};

struct live_header {
    char magic[8]; /* LIVE_STATE_MAGIC, written last */
    uint32_t version, header_bytes;
    uint32_t communicator_count, communicator_bytes; /* with its entries */
    uint32_t entry_count, entry_bytes;               /* of each communicator */
    uint32_t nccl_call_count, nccl_call_bytes, cuda_call_count, cuda_call_bytes;
    uint32_t communicators_at, nccl_calls_at, cuda_calls_at; /* offsets in bytes from the header's start */
    uint32_t total_bytes;
    int32_t pid; /* in the process's own PID namespace */
    int32_t reserved0;
    uint64_t started_ticks;     /* field 22 of /proc/PID/stat, against a reused PID; 0: unknown */
    int64_t rank, world_size;   /* of the job; -1: unknown */
    int64_t realtime_offset_ns; /* to add to a time here to get ns since 1970 */

    /* Written by the threads of the program. */
    _Atomic uint64_t left_out_calls; /* of communicators beyond LIVE_COMMUNICATORS */
    _Atomic uint64_t steps;          /* boundaries of steps so far */
    _Atomic uint64_t step_began_ns;  /* 0: no step so far */
    _Atomic int64_t step_number;
    _Atomic uint32_t step_kind; /* enum step_kind */

    /* Written by the watch thread. `sequence` is odd while it writes, and guards also cuda_calls[]. */
    _Atomic uint32_t sequence;
    uint32_t watch; /* enum live_watch */
    uint32_t cuda_calls_used;
    uint64_t looked_ns;    /* the last look */
    uint64_t moved_ns;     /* when something moved last (stall.h) */
    uint64_t stalls;       /* so far, this one included */
    uint64_t stalled_ns;   /* since when, if LIVE_STILL or LIVE_STALLED */
    uint64_t gpu_ended_ns; /* the latest known end of work of the GPU; 0: none */
    uint64_t exact_ns;     /* ends up to this time are known; 0: no forced flush so far */

    uint32_t line_count, line_bytes, thread_line_count, lines_at;

    /* Written by the pipeline thread. */
    _Atomic uint64_t flush_began_ns; /* the latest forced flush that has ended; 0: none */
    _Atomic uint64_t gpu_end_ns;     /* the latest known end of work of the GPU, in ns since 1970; 0: none */
    _Atomic uint64_t work_began_ns;  /* launch of the oldest work */
    _Atomic uint32_t work;           /* enum live_work */
    uint32_t reserved1;
};

/* Copies whole words, which the writer may change meanwhile. */
static inline void live_copy(void *to, const void *from, size_t bytes)
{
    uint64_t *words = to;
    const uint64_t *source = from;
    for (size_t i = 0; i < bytes / sizeof *words; i++)
        words[i] = __atomic_load_n(&source[i], __ATOMIC_RELAXED);
}

#define LIVE_COMMUNICATOR_BYTES(entries)                                                                     \
    (sizeof(struct live_communicator) + (entries) * sizeof(struct live_entry))
#define LIVE_NCCL_CALLS_AT    ((sizeof(struct live_header) + 63) & ~(size_t)63)
#define LIVE_CUDA_CALLS_AT    (LIVE_NCCL_CALLS_AT + LIVE_NCCL_CALLS * sizeof(struct live_nccl_call))
#define LIVE_LINES_AT         (LIVE_CUDA_CALLS_AT + LIVE_CUDA_CALLS * sizeof(struct live_cuda_call))
#define LIVE_COMMUNICATORS_AT (LIVE_LINES_AT + LIVE_LINES * sizeof(struct live_line))
#define LIVE_STATE_BYTES      (LIVE_COMMUNICATORS_AT + LIVE_COMMUNICATORS * LIVE_COMMUNICATOR_BYTES(LIVE_ENTRIES))

/* The state that is written to; NULL: none, and nothing is noted. */
extern struct live_header *_Atomic live_state_now;
static inline bool live_state_is_on(void)
{
    return atomic_load_explicit(&live_state_now, memory_order_relaxed) != NULL;
}

/* Fills in zeroed memory of LIVE_STATE_BYTES, 64-aligned, and writes to it from now on. It is never unmapped.
 */
struct live_identity {
    int32_t pid;
    uint64_t started_ticks;
    int64_t rank, world_size;
};
void live_state_begin(void *memory, const struct live_identity *identity);
/* Writes no more, for example in a forked child. Async-signal-safe. Returns what was written to; NULL: none.
 */
struct live_header *live_state_forget(void);

/* On the program's threads, in NCCL's NVTX ranges: no allocation, lock or system call. */

/* Names the ranks of a communicator. */
void live_note_communicator(uint64_t id, uint32_t ranks, uint32_t rank, uint32_t local_ranks);

struct live_start {
    const char *name; /* of the function, borrowed */
    uint32_t name_bytes;
    uint64_t communicator;               /* 0: the call has none */
    enum collective_operation operation; /* NONE: no collective; the rest is then not read */
    uint64_t ordinal;
    uint64_t bytes; /* UINT64_MAX: unknown */
    int32_t peer;
    uint8_t datatype;
};
/* The calling thread begins a call of NCCL, or returns from the innermost one. Calls may nest. Of nested
 * collectives only the outermost is noted. The thread's first call asks the kernel for its ID. */
void live_begin_call(const struct live_start *start);
void live_return_from_call(void);

/* A step of a training job begins. */
void live_note_step(int64_t number, uint32_t kind);

/* On the pipeline thread. */

/* Names a collective; the ordinal as in struct live_start. */
struct live_name {
    uint64_t communicator, ordinal;
    enum collective_operation operation;
    int32_t peer;
};
/* The collective was launched, and its end will be known. `code`: the ID of the stack; 0: unknown. */
void live_note_launch(const struct live_name *name, uint64_t code);
/* Whether the lines have that of the code. */
bool live_has_code(uint64_t code);
void live_note_code(uint64_t code, const char *line);
void live_note_datatype(const struct live_name *name, uint8_t datatype);

/* Work of the GPU has ended; in ns since 1970. Earlier ends may come later. */
void live_note_gpu_end(uint64_t time_ns);

/* The latest flush took records of work that had not ended, which CUPTI never repeats: of calls before it, no
 * end will be known. */
void live_forget_launches(void);
/* A forced flush has ended, and all its records have been read. */
struct live_flush {
    uint64_t began_ns; /* 0: it did not make the ends known */
    enum live_work work;
    uint64_t work_began_ns;
};
void live_note_flush(const struct live_flush *flush);

/* The collective has ended on the GPU, and with it all earlier ones of its operation. */
void live_note_end(uint64_t communicator, enum collective_operation operation, uint64_t ordinal,
                   int32_t peer);

/* Progress by communicator, calls of each local rank counted once. Any thread. */
struct live_progress {
    uint64_t communicator, enqueued, completed;
    uint32_t ranks; /* 0: unknown */
    uint32_t place; /* below LIVE_COMMUNICATORS; always the same */
};
/* Returns the number of communicators, at most LIVE_COMMUNICATORS. */
uint32_t live_get_progress(struct live_progress progress[LIVE_COMMUNICATORS]);

/* On the watch thread. */

struct live_look {
    enum live_watch watch;
    uint64_t looked_ns, moved_ns, stalls, stalled_ns, gpu_ended_ns;
    int64_t realtime_offset_ns;
    uint32_t cuda_call_count;
    struct live_cuda_call cuda_calls[LIVE_CUDA_CALLS];
};
/* Marks the entries that have ended, and stores a look, with the latest flush. */
void live_note_look(const struct live_look *look);
/* Stores the line of a thread at a place below LIVE_THREAD_LINES; 0: none. */
void live_note_thread(uint32_t place, uint32_t thread, const char *line);

/* For tests. */
void live_state_reset(void);
