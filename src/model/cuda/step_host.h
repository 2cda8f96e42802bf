/* How long the host works for a step of a training job: the one definition, for the agent, which measures it,
 * and for the command, which computes it from spans.
 *
 * The host works in its calls, without those that wait for the GPU, and between them. A call that takes long
 * blocks. After a collective that the host seems to have waited for without a call, little of the gap is
 * work. Overlapping calls of several threads count once. */
#pragma once

#include "model/cuda/calls.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Whether a call of this group waits for the GPU. */
static inline bool step_host_waits(uint32_t group, const char *name)
{
    return group == CALL_GROUP_SYNC && strstr(name, "Synchronize");
}

struct step_host {
    uint64_t worked_ns;
    uint64_t until_ns; /* end of the calls so far; 0: none */
};

/* In the order of the start times. `begin_ns`: where the step begins on the host. `communicated_ns`: the end
 * of its collectives that started before the call; 0: none. */
void step_host_add_call(struct step_host *host, uint64_t begin_ns, uint64_t start_ns, uint64_t end_ns,
                        bool waits, uint64_t communicated_ns);
