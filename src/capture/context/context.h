/* Annotations from the host threads: the trace context a thread works for, and names of CUDA objects. They
 * come from cuspan.h (agent/api.c) and NVTX (nvtx.c) and are written to the thread's ring between its calls,
 * in order.
 *
 * All functions run on the host thread, in a call that the host made for this purpose. A thread's first call
 * may allocate. While nothing is captured, they only keep the thread's context. */
#ifndef CUSPAN_CAPTURE_CONTEXT_CONTEXT_H
#define CUSPAN_CAPTURE_CONTEXT_CONTEXT_H

#include "base/trace_context.h"
#include "model/record.h"

#include <stdbool.h>
#include <stdint.h>

/* Attaches a context to the thread. If its work may be sampled, capture is awake on return. Returns a token,
 * 0 if out of memory. */
uint64_t context_attach(const struct trace_context *context, bool may_be_sampled);
/* Restores the context that preceded this token's. False: not a token of this thread, or already detached. */
bool context_detach(uint64_t token);
/* The innermost open range that belongs to the current context, else the attached context, else the
 * session's. False: none. */
bool context_current(struct trace_context *context);

/* The tracestate of the attached context, valid until that changes; NULL: none. */
const char *context_trace_state(void);

/* Starts or stops publishing the calling thread's context, as publish_is_on says (publish.h). */
void context_publish(void);

/* Pipeline thread: sets the session's span, the context of threads that have none. */
void context_set_session(const uint8_t trace_id[16], const uint8_t span_id[8], uint8_t flags);

/* Text of a range, mark or name; borrowed. */
struct range_text {
    const char *name;
    uint32_t name_bytes;
    uint32_t
        domain; /* 0: cuspan.h; otherwise NVTX's, numbered from 1 by nvtx.c. Each domain nests separately */
    uint32_t attr_count;
    uint32_t attrs_dropped;         /* attributes the caller already dropped */
    const struct range_attr *attrs; /* model/record.h */
    bool is_loop;                   /* the program repeats it when asked to (range_again) */
};

/* Details given when a range ends; borrowed. */
struct range_end {
    uint8_t status; /* enum span_status */
    uint32_t message_bytes;
    uint32_t attr_count;
    uint32_t attrs_dropped;
    const char *message; /* NULL: none */
    const struct range_attr *attrs;
};

/* Opens a range on this thread, the parent of the calls and ranges that follow. Returns its span ID; 0: not
 * captured. */
uint64_t range_push(const struct range_text *text);
/* Ends the innermost range of this thread in this domain. Returns its span ID; 0: none is open. */
uint64_t range_pop(uint32_t domain);
/* The same with details. */
uint64_t range_pop_with(uint32_t domain, const struct range_end *end);
/* Number of open ranges of this domain on this thread. */
uint32_t range_depth(uint32_t domain);
/* Starts a span that may end on any thread and is nobody's parent. 0: not captured. */
uint64_t range_start(const struct range_text *text);

/* Ends a range or span by its ID, on any thread. `end` may be NULL. False: the ID is 0. */
bool range_end(uint64_t id, const struct range_end *end);
/* Whether this loop range must run again because the counters need another pass. */
bool range_again(uint64_t id);

/* A point event. False: not captured. */
bool range_mark(const struct range_text *text);
/* Names the object in attributes from now on. */
void range_name_object(enum named_object object, uint64_t handle, const char *name, uint32_t name_bytes);

#endif
