/* A record of GPU work, or of CUPTI's work on the host, joined with its call: what all later stages know of
 * it. */
#ifndef CUSPAN_AGENT_CORRELATE_JOIN_GPU_WORK_H
#define CUSPAN_AGENT_CORRELATE_JOIN_GPU_WORK_H

#include "agent/correlate/join/pending.h"
#include "model/record.h"

#include <stdbool.h>
#include <stdint.h>

struct context_error;
struct kernel_name;

struct gpu_work {
    const struct activity_record *record;
    const struct pending_call *call;   /* NULL: unknown; the session becomes the parent */
    const struct context_error *error; /* what stopped the work; NULL: nothing */
    const struct kernel_name *name;    /* only for program_stats.h, of a kernel; NULL: none */
    uint64_t call_start_ns;            /* 0: unknown */
    uint64_t bytes;                    /* copies and fills */
    uint32_t copy_kind;                /* CUPTI's */
    bool is_on_gpu;                    /* false: CUPTI's own work, such as loading a module */
    bool is_time_unknown;              /* of an execution of a graph (activity_times.h) */
    bool communicates;                 /* only for step_stats.h: runs a collective */
};

#endif
