/* Walks stacks of native code for the callbacks of CUDA calls: collects the return addresses of the calling
 * thread.
 *
 * A walk reads only the thread's own stack and a table of ours with the unwind rule of each return address,
 * and never a library's tables, which a dlclose() could unmap meanwhile. It takes no lock, allocates nothing
 * and makes no system call. If it meets an address without a rule, it copies the rest of the stack (1 us) and
 * ends with a ticket. A thread of ours then finds the rules in the library's .eh_frame, and completes the
 * stack from the copy. It does so inside dl_iterate_phdr(), since glibc unmaps libraries under the same lock
 * (musl never unmaps them).
 *
 * Cost for 18 frames, cached: 113 ns and 1,630 instructions; for the caller behind 6 frames of tools 25 ns.
 *
 * libunwind is as fast, but on a miss it takes the loader's lock and makes system calls on the host's thread,
 * it keeps rules of unloaded libraries, and has 45 KB of code and 43 KB of variables (this: 13 and 0.7 MB,
 * when in use). glibc's backtrace() takes 15 times as long.
 *
 * After a dlclose() the library's rules are dropped at the next poll. Until then a walk gives a wrong frame
 * only if another library has a return address at the same place.
 *
 * Frames of signal handlers are followed, but not onto another stack. On arm64, the signature of return
 * addresses is removed. */
#pragma once

#include "base/status.h"
#include "agent/capture/threads/native_stack.h"
#include "agent/frames/unwind_step.h"

#include <stdbool.h>
#include <stdint.h>

#define NATIVE_COPY_BYTES (32 * 1024) /* copied of a stack that is completed later */
#define NATIVE_COPIES     64          /* at most 256; only memory that was used is resident */
/* A copy that nobody finishes is free again after so many polls. A stack waits up to 250 ms for the names of
 * those before it, with a poll each millisecond. */
#define NATIVE_COPY_POLLS 256

/* Which frames a walk collects. */
enum native_from {
    NATIVE_FROM_HERE,        /* all frames */
    NATIVE_FROM_CALLER,      /* without the leading ones in cuspan, CUPTI and the libraries of CUDA */
    NATIVE_EACH_FROM_CALLER, /* FROM_CALLER for rare calls: any number of copies may wait for one address */
    NATIVE_CALLER            /* FROM_CALLER with max 1, without a ticket: a copy only serves to learn rules */
};

struct native_walk {
    uint64_t ticket; /* not 0: native_frames_finish() returns the remaining frames */
    uint32_t count;
    /* Changes when a library was unloaded: equal addresses may then be other functions. */
    uint32_t generation;
    enum native_end end;
};

/* Allocates the tables (2.5 MiB, of which a part is used; kept for the rest of the process). Fails with
 * NO_MEMORY only. Thread of ours. */
enum status native_frames_start(void) MUST_CHECK;

/* Writes the calling thread's frames, innermost first, at most `max` (at least 1). A frame is a return
 * address, or for a function that a signal has interrupted, the instruction's address plus 1. Subtract 1 to
 * look up a frame. `stack` may be NULL. */
void native_frames_walk(struct native_stack *stack, enum native_from from, uint64_t *frames, uint32_t max,
                        struct native_walk *walk);

/* Writes the frames that follow those of the walk with this ticket, and gives the copy back.
 * NATIVE_END_UNKNOWN: the copy is gone. Takes the loader's lock for at most some 100 us. The thread of ours
 * that polls. */
void native_frames_finish(uint64_t ticket, uint64_t *frames, uint32_t max, struct native_walk *walk);

/* Whether the frames of a walk are still in the same libraries. False: since the walk's generation, a library
 * was unloaded and another one may have taken its place; or this is not known now. The thread of ours that
 * polls. */
bool native_frames_are_current(uint32_t generation, const uint64_t *frames, uint32_t count);

/* Follows loaded and unloaded libraries, and learns the rules of all copies. A thread of ours, every few
 * milliseconds. A copy that nobody finishes is free again after NATIVE_COPY_POLLS, and that of a
 * NATIVE_CALLER at once. */
void native_frames_poll(void);
