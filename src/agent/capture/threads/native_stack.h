/* The limits of a host thread's stack, so that a walk reads nothing else.
 *
 * The thread notes its stack pointer, which takes a few stores. A thread of ours then looks the mapping up in
 * /proc/self/maps: pthread_getattr_np() would allocate, and for the main thread read that file on the host's
 * thread. Until then, and on stacks that are not the thread's own (fibers, alternate signal stacks), a walk
 * reads the page that the stack pointer is in and nothing beyond it, except on the main stack,
 * which is recognized by the random bytes (AT_RANDOM) that the kernel stores above it. */
#ifndef CUSPAN_AGENT_CAPTURE_THREADS_NATIVE_STACK_H
#define CUSPAN_AGENT_CAPTURE_THREADS_NATIVE_STACK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One per host thread; all zero for a new thread. */
struct native_stack {
    /* Written by the host's thread. */
    _Atomic uint32_t noted; /* number of the last note; 0: none */
    uint32_t notes_left;
    _Atomic uint64_t noted_sp, noted_thread_pointer;
    /* Written by a thread of ours. */
    _Atomic uint32_t answered;  /* the note that the limits belong to */
    _Atomic uint64_t low, high; /* high 0: not a thread's own stack */
};

/* Host's thread: at its registration, for a slot that another thread may have had. Makes no system call. */
void native_stack_begin(struct native_stack *stack);

/* Host's thread: the end of the readable part above `sp`. `stack` may be NULL. */
uint64_t native_stack_end(struct native_stack *stack, uint64_t sp);

/* Thread of ours: whether the thread waits for its limits. */
bool native_stack_is_waiting(const struct native_stack *stack);

/* Thread of ours: looks up the limits of all these stacks, by one pass over /proc/self/maps (about 0.3 us per
 * mapping). False: the file could not be read. */
bool native_stacks_find(struct native_stack *const stacks[], size_t count);

#endif
