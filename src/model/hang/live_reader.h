/* Reads a live state (live_state.h) of another process, or of this one: the memfd, or the file that the watch
 * thread writes. The writer is not trusted: it may be an older or newer version, it may write meanwhile, and
 * it may be hostile. Sizes, counts and texts are checked, nothing is mapped, and what is returned is a copy.
 */
#pragma once

#include "base/status.h"
#include "model/hang/live_state.h"

#define LIVE_FILE_BYTES_MAX (1024 * 1024) /* a longer file is not a live state */

/* The numbers are those of live_state.h. */
struct live_call_view {
    uint64_t number; /* among all calls of the communicator, from 0 */
    uint64_t ordinal, enqueued_ns, bytes, code;
    const char *line; /* NULL; for those that keep calls longer than the view: live_view_code_line() */
    uint32_t thread;
    int32_t peer;
    uint8_t operation; /* below COLLECTIVE_COUNT */
    uint8_t datatype, flags;
};

struct live_communicator_view {
    uint64_t id, enqueued, completed, last_enqueued_ns, last_ended_ns;
    uint32_t ranks, rank, local_ranks; /* local_ranks at least 1 */
    uint32_t call_count;
    struct live_call_view calls[LIVE_ENTRIES]; /* the oldest first; without those that were being written */
};

struct live_thread_view {
    uint64_t since_ns;
    uint64_t communicator; /* 0: none */
    uint32_t thread;
    uint32_t cbid;              /* 0: a call of NCCL */
    char name[LIVE_NAME_BYTES]; /* printable ASCII */
};

struct live_line_view {
    uint64_t key;               /* as in struct live_line */
    char text[LIVE_LINE_BYTES]; /* UTF-8, without control characters */
};

/* About 300 KiB. */
struct live_view {
    int32_t pid;
    uint64_t started_ticks;
    int64_t rank, world_size, realtime_offset_ns;
    uint64_t left_out_calls, steps, step_began_ns;
    int64_t step_number;
    uint32_t step_kind; /* enum step_kind, at most STEP_NONE */
    /* The latest look. False if it was being written all the time; then it is zeroed. */
    bool has_look;
    enum live_watch watch;
    uint64_t looked_ns, moved_ns, stalls, stalled_ns, gpu_ended_ns, exact_ns;
    enum live_work work; /* as of exact_ns */
    uint64_t work_began_ns;
    uint32_t communicator_count, nccl_call_count, cuda_call_count, thread_line_count, line_count;
    struct live_communicator_view communicators[LIVE_COMMUNICATORS];
    struct live_thread_view nccl_calls[LIVE_NCCL_CALLS];
    struct live_thread_view cuda_calls[LIVE_CUDA_CALLS];
    struct live_line_view lines[LIVE_LINES]; /* those of threads first */
};

/* The line of a thread, or of a call's `code`; NULL: unknown. */
const char *live_view_thread_line(const struct live_view *view, uint32_t thread);
const char *live_view_code_line(const struct live_view *view, uint64_t code);
/* Whether the thread is in a call of NCCL or CUDA. */
bool live_view_is_in_call(const struct live_view *view, uint32_t thread);
/* Whether it is known of each of the communicator's calls whether it has ended, as of view->exact_ns. */
bool live_view_is_exact(const struct live_view *view, const struct live_communicator_view *communicator);

/* Reads two copies of a state, taken one after the other, `bytes` each and 8-aligned. A part that differs was
 * being written, and is left out. Both may be the writer's memory itself. INVALID: not a live state, or one
 * of a newer version; `err` says what is wrong. */
enum status live_view_of(const void *first, const void *second, size_t bytes, struct live_view *view,
                         struct error *err) MUST_CHECK;

/* Reads the file or memfd. IO, INVALID, NO_MEMORY. Blocks only if reading the file does. */
enum status live_view_read(int fd, struct live_view *view, struct error *err) MUST_CHECK;
