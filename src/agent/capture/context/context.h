/* Records annotations from the host threads: the trace context that a thread works for, and names of CUDA
 * objects. range.h has ranges and marks. They come from cuspan.h (agent/core/entry/cuspan_api.c) and NVTX
 * (nvtx.c) and are written to the thread's ring between its calls, in order.
 *
 * All functions run on the host thread, in a call that the host made for this purpose. A thread's first call
 * may allocate. While nothing is captured, they only keep the thread's context. */
#pragma once

#include "base/trace_context.h"
#include "model/record.h"

#include <stdbool.h>
#include <stdint.h>

/* Attaches a context to the thread. If its work may be sampled, capture is awake on return. Returns a token
 * for context_detach(); 0: out of memory. */
uint64_t context_attach(const struct trace_context *context, bool may_be_sampled);
/* Restores the context that preceded this token's. False: not a token of this thread, or already detached. */
bool context_detach(uint64_t token);
/* Fills `context` with the innermost open range that belongs to the current context, else the attached
 * context, else the session's. False: none. */
bool context_current(struct trace_context *context);

/* Returns the tracestate of the attached context, a text that outlives the context (lasting_states.h); NULL:
 * none. */
const char *context_trace_state(void);

/* Starts or stops publishing the calling thread's context, according to publish_is_on (publish.h). */
void context_publish(void);

/* Sets the session's span as the context of threads that have none. Pipeline thread. */
void context_set_session(const uint8_t trace_id[16], const uint8_t span_id[8], uint8_t flags);

/* Names the object in attributes from now on. */
void context_name_object(enum named_object object, uint64_t handle, const char *name, uint32_t name_bytes);
