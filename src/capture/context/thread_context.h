/* The trace context that a host's thread works for, as its callbacks see it: two words to compare at each
 * call, and a record for the ring when it has changed since. context.c keeps it; only the thread itself
 * touches it. */
#ifndef CUSPAN_CAPTURE_CONTEXT_THREAD_CONTEXT_H
#define CUSPAN_CAPTURE_CONTEXT_THREAD_CONTEXT_H

#include "capture/callbacks/threads.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct thread_context {
    uint32_t version;          /* changes with each attach and detach; 0: there was none */
    uint32_t written;          /* the version that the ring has */
    uint64_t written_to;       /* the serial of that ring's thread */
    uint64_t since_ticks;      /* 0: since before capture began */
    struct trace_id_pair ids;  /* all zero: none */
    struct trace_id_pair told; /* those that the ring has */
    uint8_t flags;
    const char *state; /* the tracestate, NUL-terminated; NULL: none */
};

/* NULL until the thread attaches a context or opens a range. */
extern __thread struct thread_context *thread_context_self __attribute__((tls_model("initial-exec")));

/* What is attached has yet to be written into this thread's ring. */
static inline bool thread_context_is_new(const struct host_thread *thread,
                                         const struct thread_context *context)
{
    return context && context->version &&
           (context->written != context->version || context->written_to != thread->serial);
}

/* Writes what has changed in the context that the thread's SDK publishes, as of `ticks`, unless cuspan.h has
 * attached one. */
void thread_context_follow_sdk(struct host_thread *thread, uint64_t ticks);

/* Whether any of CUDA's contexts has a name: then calls say which handle is whose number. */
extern _Atomic bool thread_context_has_names;

/* Writes, once a thread, the handle of the CUDA context that a call at `ticks` was made in; of the first 64
 * contexts of the process, which are numbered from 1. */
void thread_context_tell_handle(struct host_thread *thread, uint32_t context_id, const void *handle,
                                uint64_t ticks);

/* Writes it, or leaves it new if the ring has no room. */
void thread_context_write(struct host_thread *thread, struct thread_context *context);

#endif
