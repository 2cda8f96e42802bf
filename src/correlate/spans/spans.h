/* What spans of all kinds have in common: how one begins, what says where it belongs, and how it leaves. */
#ifndef CUSPAN_CORRELATE_SPANS_SPANS_H
#define CUSPAN_CORRELATE_SPANS_SPANS_H

#include "correlate/trace/parent.h"
#include "model/cuda/calls.h"
#include "model/record.h"
#include "model/span.h"

struct correlate;

/* Scratch for the spans of ranges, marks, sessions and summaries. One of them may leave while a call's span
 * is being made, so they do not share the call's scratch span. */
struct ended_span {
    struct span span;
    struct span_link links[SPAN_LINKS_MAX];
    struct span_event events[SPAN_EVENTS_MAX];
};

/* Empties all but the attributes' places. */
void spans_begin(struct span *span, uint64_t start_ns, uint64_t end_ns);
void spans_put_below(const struct correlate *correlate, struct span *span, const uint8_t *trace_id,
                     const uint8_t *parent_span_id, uint32_t flags, const char *trace_state);
void spans_put_below_parent(const struct correlate *correlate, struct span *span,
                            const struct parent *parent);
/* The thread's ID and name. The name that the program gave goes before the kernel's. */
void spans_put_thread(const struct correlate *correlate, struct span *span, const struct thread_info *thread);
/* The name that the program gave to the context with this CUPTI ID. */
void spans_put_context_name(const struct correlate *correlate, struct span *span, uint32_t context_id);
/* Status, message and error.type by what the call returned. */
void spans_put_error(struct span *span, enum call_domain domain, int32_t result);

/* Counts the span and hands it to the sink. */
void spans_emit(struct correlate *correlate, const struct span *span);

#endif
