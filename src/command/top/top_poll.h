/* Polls the agents for `cuspan top` and computes the differences between polls. */
#pragma once

#include "agent/operate/agents/agents.h"
#include "command/top/top_sample.h"

struct top_agent {
    long pid;
    char socket[sizeof((struct agent *)0)->name]; /* with the folder, who it is */
    char folder[CONTROL_PATH_BYTES];
    char program[TOP_NAME_BYTES], state[32], why[TOP_NAME_BYTES];
    uint64_t lost; /* since the agent began */
    bool is_there; /* found by the current poll */
    bool has_before, has_figures;
    struct top_sample before;  /* its last response */
    struct top_sample figures; /* difference of the last two responses */
};

struct top_poll {
    struct top_agent *agents; /* by PID */
    size_t count, capacity;
};

/* Polls all selected agents and removes those that have exited. */
void top_poll_take(struct top_poll *poll, const struct agents_choice *choice);
void top_poll_deinit(struct top_poll *poll);
