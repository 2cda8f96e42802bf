/* A host thread's trace context as its callbacks see it: two words to compare per call, and a record for the
 * ring after a change. context.c writes it; only the thread itself accesses it. */
#pragma once

#include "agent/capture/threads/threads.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct thread_context {
    uint32_t version;                 /* changes with each attach and detach; 0: never attached */
    uint32_t written;                 /* version last written to the ring */
    uint64_t written_to;              /* serial of that ring's thread */
    uint64_t since_ticks;             /* when the context changed; 0: before capture started */
    struct trace_id_pair ids;         /* all zero: none */
    struct trace_id_pair written_ids; /* IDs last written to the ring */
    uint8_t flags;
    const char *state;  /* tracestate; NULL: none */
    bool has_lost_ends; /* ends of ranges to write. The context then counts as new, and `written` is in
                           `written_before` */
    uint32_t written_before;
};

/* The calling thread's context; NULL until the thread attaches one or opens a range. */
extern __thread struct thread_context *thread_context_self __attribute__((tls_model("initial-exec")));

/* Whether the attached context is not yet in this thread's ring. `context` may be NULL. */
static inline bool thread_context_is_new(const struct host_thread *thread,
                                         const struct thread_context *context)
{
    return context && context->version &&
           (context->written != context->version || context->written_to != thread->serial);
}

/* Writes the context that the thread's SDK publishes if it has changed, as of `ticks`, unless cuspan.h has
 * attached one. False: the ring is full. */
bool thread_context_follow_sdk(struct host_thread *thread, uint64_t ticks);

/* Whether any CUDA context has a name. Calls then record the handle of their context ID. */
extern _Atomic bool thread_context_has_names;

/* Writes the handle of the CUDA context that a call at `ticks` used, once per thread and for context IDs 1 to
 * 64. */
void thread_context_write_handle(struct host_thread *thread, uint32_t context_id, const void *handle,
                                 uint64_t ticks);

/* Writes the context to the ring, and the ends of ranges that did not fit before. False: the ring is full,
 * and the context stays new. The caller must then not write its own record, whose parent would be wrong. */
bool thread_context_write(struct host_thread *thread, struct thread_context *context);
