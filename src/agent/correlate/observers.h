/* Counts calls and GPU work besides their spans. Each function lists all counts that see its kind of work. */
#pragma once

#include "agent/correlate/join/gpu_work.h"
#include "model/cuda/calls.h"
#include "model/record.h"

struct correlate;

/* Counts a call, sampled or not, for context errors, allocations and statistics. Call it before the call's
 * span. */
void observers_add_call(struct correlate *correlate, const struct call_info *info,
                        const struct call_record *call);
/* Counts GPU work for statistics, profiles and steps, and if it is sampled, for `account` and the accounts
 * around it. Call it before the work's span. */
void observers_add_work(struct correlate *correlate, const struct gpu_work *work, bool is_sampled,
                        uint32_t account);
