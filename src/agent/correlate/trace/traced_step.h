/* A step of a training job: its IDs in the traces, and the limits of its spans. */
#pragma once

#include "agent/correlate/trace/step_budget.h"
#include "model/iteration.h"

#include <stdbool.h>
#include <stdint.h>

struct step {
    struct step_boundary at; /* the boundary that starts it; `time` is in ns since 1970 */
    uint64_t index;          /* number of boundaries before it */
    uint64_t gpu_until_ns;   /* end of the GPU work of calls that started in it, so far; 0: none */
    struct step_identity identity;
    bool is_sampled, is_joint;
    bool is_iteration, is_recorded; /* of a serving engine; at.kind is STEP_NONE */
    uint32_t iteration;             /* the open iteration (engine_spans.h); 0: none */
    bool is_used;                   /* it has had a session */
    bool is_full_turn;              /* as in struct step_share */
    uint64_t first_part;            /* index of its first part: an evaluation divides a step */
    struct step_load load;
    struct step_budget budget; /* for the trace of all ranks; only the first part's is used */
    bool is_detailed; /* all spans go to a trace of their own, and the selected ones also to the step's */
    uint8_t detail_trace_id[16], detail_span_id[8];
    struct step_budget detail_budget;
    uint8_t span_id[8];      /* of the step's session span */
    struct session *session; /* its open session; NULL: none is open */
    char trace_state[48];
};
