/* Follows each thread's contexts and names, and chooses the parent of its calls and ranges. */
#pragma once

#include "agent/correlate/trace/parent.h"
#include "model/record.h"

struct correlate;
struct thread_state;

/* The caller passes a thread's contexts, ranges and marks in the order of the thread's calls. */
void thread_events_context(struct correlate *correlate, const struct thread_info *thread,
                           const struct context_record *attached);
void thread_events_range(struct correlate *correlate, const struct thread_info *thread,
                         const struct range_record *range);

/* Returns the thread's state. If the slot's previous thread has ended, closes what it left open. */
struct thread_state *thread_events_state(struct correlate *correlate, const struct thread_info *thread,
                                         uint64_t now_ns);
/* Returns the parent of new spans: the innermost open range, else the thread's context, else the session. */
struct parent thread_events_parent(struct correlate *correlate, struct thread_state *state, uint64_t time_ns);
