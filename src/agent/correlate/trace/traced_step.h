/* A step of a training job: its place in the traces, and what of it is sent. */
#ifndef CUSPAN_AGENT_CORRELATE_TRACE_TRACED_STEP_H
#define CUSPAN_AGENT_CORRELATE_TRACE_TRACED_STEP_H

#include "agent/correlate/trace/step_budget.h"
#include "model/step.h"

#include <stdbool.h>
#include <stdint.h>

struct step {
    struct step_boundary at; /* time in ns since 1970 */
    uint64_t index;          /* boundaries before it */
    uint64_t gpu_until_ns;   /* end of the GPU work of calls that started in it, so far; 0: none */
    struct step_identity identity;
    bool is_sampled, is_joint;
    bool is_used;        /* has had a session */
    bool is_full_turn;   /* struct step_share's */
    uint64_t first_part; /* index of the boundary where it first began: an evaluation divides a step */
    struct step_load load;
    struct step_budget budget; /* of the trace of all ranks; that of the first part counts */
    bool is_detailed; /* all spans go to a trace of their own, and the selected ones also to the step's */
    uint8_t detail_trace_id[16], detail_span_id[8];
    struct step_budget detail_budget;
    uint8_t span_id[8];      /* of that session's span */
    struct session *session; /* while it is open; else NULL */
    char trace_state[48];
};

#endif
