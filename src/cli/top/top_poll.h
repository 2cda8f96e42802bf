/* The agents, as `cuspan top` sees them: asked now and again, and what has happened in between. */
#ifndef CUSPAN_CLI_TOP_TOP_POLL_H
#define CUSPAN_CLI_TOP_TOP_POLL_H

#include "cli/agents/agents.h"
#include "cli/top/top_sample.h"

struct top_agent {
    long pid;
    char socket[sizeof((struct agent *)0)->name]; /* with the folder, who it is */
    char folder[CONTROL_PATH_BYTES];
    char program[TOP_NAME_BYTES], state[32], why[TOP_NAME_BYTES];
    uint64_t lost;
    bool is_there; /* it was found in the look that is being taken */
    bool has_before, has_figures;
    struct top_sample before;  /* its last answer */
    struct top_sample figures; /* what has happened between the last two */
};

struct top_poll {
    struct top_agent *agents; /* by PID */
    size_t count, capacity;
};

/* Asks all that are meant; those that are gone are forgotten. */
void top_poll_take(struct top_poll *look, const struct agents_choice *choice);
void top_poll_deinit(struct top_poll *look);

#endif
