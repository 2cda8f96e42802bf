/* What the host's threads say of their work: the trace context that a thread works for, ranges, marks, names
 * of CUDA's objects. It comes by cuspan.h (agent/api.c) and by NVTX (nvtx.c), and goes into the thread's ring
 * between its calls, in the order in which it happened.
 *
 * All functions run on the host's thread, inside a call that the host made for the purpose; a thread's first
 * one may allocate. While nothing is captured they keep the thread's context and no more. */
#ifndef CUSPAN_CAPTURE_CONTEXT_CONTEXT_H
#define CUSPAN_CAPTURE_CONTEXT_CONTEXT_H

#include "base/trace_context.h"
#include "model/record.h"

#include <stdbool.h>
#include <stdint.h>

/* The thread works for this context from now on; if its work may be sampled, capture is awake when this
 * returns. Returns a token, never 0. 0 if there is no memory. */
uint64_t context_attach(const struct trace_context *context, bool may_be_sampled);
/* Back to the context before the one of this token. False: not of this thread, or detached already. */
bool context_detach(uint64_t token);
/* The innermost open range that counts, else the attached context, else the session's. False: none. */
bool context_current(struct trace_context *context);

/* The tracestate of the attached context, until that changes; NULL: none. */
const char *context_trace_state(void);

/* The calling thread publishes what it works for now, or no longer does (publish.h). */
void context_publish(void);

/* Pipeline thread: the session's span, which is the context of threads that have none. */
void context_set_session(const uint8_t trace_id[16], const uint8_t span_id[8], uint8_t flags);

/* The text of a range, mark or name; borrowed. */
struct range_text {
    const char *name;
    uint32_t name_bytes;
    uint32_t domain; /* 0: cuspan.h; else NVTX's, counted by nvtx.c from 1. Each has its own nesting */
    uint32_t attr_count;
    uint32_t attrs_dropped;         /* that there would have been beside them */
    const struct range_attr *attrs; /* model/record.h */
    bool is_loop;                   /* the program runs it again if it is told to (range_again) */
};

/* What is said when a range ends; borrowed. */
struct range_end {
    uint8_t status; /* enum span_status */
    uint32_t message_bytes;
    uint32_t attr_count;
    uint32_t attrs_dropped;
    const char *message; /* NULL: none */
    const struct range_attr *attrs;
};

/* Opens a range on this thread; the parent of the calls and ranges that follow. Returns its span ID, 0: not
 * captured. */
uint64_t range_push(const struct range_text *text);
/* Ends the innermost range of this thread in this domain. Returns its span ID, 0: none is open. */
uint64_t range_pop(uint32_t domain);
/* The same, with more to say of it. */
uint64_t range_pop_with(uint32_t domain, const struct range_end *end);
/* How many ranges of this domain are open on this thread. */
uint32_t range_depth(uint32_t domain);
/* A span that may end on any thread, the parent of nothing. 0: not captured. */
uint64_t range_start(const struct range_text *text);

/* Ends a range or span by its ID, on any thread; `end` NULL: nothing more to say. False: ID 0. */
bool range_end(uint64_t id, const struct range_end *end);
/* Whether the loop that this range is must run once more, for counters that take several passes. */
bool range_again(uint64_t id);

/* Something that happened now. False: not captured. */
bool range_mark(const struct range_text *text);
/* From now on the object bears this name in attributes. */
void range_name_object(enum named_object object, uint64_t handle, const char *name, uint32_t name_bytes);

#endif
