/* The counts of calls and GPU work besides their spans: one list for each. */
#ifndef CUSPAN_AGENT_CORRELATE_OBSERVERS_H
#define CUSPAN_AGENT_CORRELATE_OBSERVERS_H

#include "agent/correlate/join/gpu_work.h"
#include "model/cuda/calls.h"
#include "model/record.h"

struct correlate;

/* Before the call's span, sampled or not: errors of contexts, memory, statistics. */
void observers_add_call(struct correlate *correlate, const struct call_info *info,
                        const struct call_record *call);
/* Before the work's span. Sampled or not: statistics, profiles, steps. If it is sampled: the totals of its
 * ranges and its request or session, from `account` on. */
void observers_add_work(struct correlate *correlate, const struct gpu_work *work, bool is_sampled,
                        uint32_t account);

#endif
