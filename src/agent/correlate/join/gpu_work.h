/* A record of GPU work, or of CUPTI's work on the host, joined with its call: all that the functions after
 * gpu_join.h know about it. */
#pragma once

#include "agent/correlate/join/pending.h"
#include "model/record.h"

#include <stdbool.h>
#include <stdint.h>

struct context_error;
struct kernel_name;

struct gpu_work {
    const struct activity_record *record;
    const struct pending_call *call;   /* NULL: unknown, and the session becomes the parent */
    const struct context_error *error; /* the error that stopped the work; NULL: none */
    const struct kernel_name *name;    /* the kernel's, for statistics and steps; NULL: none */
    uint64_t call_start_ns;            /* 0: unknown */
    uint64_t bytes;                    /* bytes moved by a copy or fill; 0: other work */
    uint32_t copy_kind;                /* CUpti_ActivityMemcpyKind; 0: not a copy */
    bool is_on_gpu;       /* false: CUPTI's own work, or work whose end is not known: it is in no sum */
    bool is_time_unknown; /* an execution of a graph without times (activity_times.h) */
    bool communicates;    /* it runs a collective; only for step_stats.h */
};
