/* Finds the limits of a host thread's stack, so that a walk reads nothing else.
 *
 * The host's thread notes its stack pointer, which takes a few stores. A thread of ours then looks the
 * mapping up in /proc/self/maps. The host's thread cannot do so: pthread_getattr_np() allocates, and for the
 * main thread reads that file. Until then, and on stacks that are not the thread's own (fibers, alternate
 * signal stacks), a walk reads the page that the stack pointer is in and nothing beyond it, except on the
 * main stack, which is recognized by the random bytes (AT_RANDOM) that the kernel stores above it. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the calling thread's thread pointer, where the C library keeps its variables; NULL: unknown. */
static inline char *thread_pointer(void)
{
#if defined(__x86_64__)
    char *at;
    __asm__("mov %%fs:0, %0" : "=r"(at));
    return at;
#elif defined(__aarch64__)
    char *at;
    __asm__("mrs %0, tpidr_el0" : "=r"(at));
    return at;
#else
    return NULL;
#endif
}

/* The stack of one host thread; all zero for a new thread. */
struct native_stack {
    /* Written by the host's thread. */
    _Atomic uint32_t noted; /* number of the last noted stack pointer; 0: none */
    uint32_t notes_left;
    _Atomic uint64_t noted_sp, noted_thread_pointer;
    /* Written by a thread of ours. */
    _Atomic uint32_t answered;  /* number of the note that the limits belong to */
    _Atomic uint64_t low, high; /* high 0: not a thread's own stack */
};

/* Resets a slot's stack, which another thread may have had. Makes no system call. Host's thread, at its
 * registration. */
void native_stack_begin(struct native_stack *stack);

/* Returns the end of the readable part above `sp`. `stack` may be NULL. Host's thread. */
uint64_t native_stack_end(struct native_stack *stack, uint64_t sp);

/* Whether the host's thread waits for its limits. Thread of ours. */
bool native_stack_is_waiting(const struct native_stack *stack);

/* Looks up the limits of all these stacks, by one pass over /proc/self/maps (about 0.3 us per mapping).
 * False: the file could not be read. Thread of ours. */
bool native_stacks_find(struct native_stack *const stacks[], size_t count);
