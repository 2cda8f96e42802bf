/* Functions for spans of all kinds: begin, place in the trace, common attributes, emit. */
#pragma once

#include "agent/correlate/trace/parent.h"
#include "model/cuda/calls.h"
#include "model/record.h"
#include "model/settings/settings.h"
#include "model/span.h"

struct correlate;

void spans_put_below(const struct correlate *correlate, struct span *span, const uint8_t *trace_id,
                     const uint8_t *parent_span_id, uint32_t flags, const char *trace_state);
void spans_put_below_parent(const struct correlate *correlate, struct span *span,
                            const struct parent *parent);
/* Adds the thread's ID and name: the NVTX name, or else the kernel's. */
void spans_put_thread(const struct correlate *correlate, struct span *span, const struct thread_info *thread);
/* Adds the context's NVTX name, by CUPTI's context ID. */
void spans_put_context_name(const struct correlate *correlate, struct span *span, uint32_t context_id);
/* Sets status, message and error.type by a call's result. */
void spans_put_error(struct span *span, enum call_domain domain, int32_t result);

/* Adds the attributes of the code that made a call, or captured a graph's node. By default only the first
 * span of a stack gets the stack's text, and the others refer to it by its ID. Sets code->is_sent when the
 * text is added. */
struct code_stack;
void spans_put_code(const struct settings *settings, struct span *span, struct code_stack *code);

/* Counts the span and hands it to the sink. */
void spans_emit(struct correlate *correlate, const struct span *span);
/* Returns the profile. One that is nearly full goes to the sink first. Only if profiles are enabled. */
struct code_profile *spans_profile(struct correlate *correlate);
