/* Reports the steps of a program that does not report any. A step is one period of NCCL's collectives
 * (agent/capture/nccl/collective_period.h) on the communicator with the most ranks that has a period.
 *
 * A communicator's sequence is the same on all its ranks, and each one is observed apart, from its first
 * collective on. So all ranks count the same steps, however their threads and communicators take turns.
 *
 * A collective takes the program's thread about 20 ns more (tests/bench/programs/step_bench.c), also while
 * capture sleeps. It takes a lock only if it starts a step that wakes capture. Once another source has
 * reported a step, it costs one branch. */
#pragma once

#include <stdbool.h>

#define COLLECTIVE_STEPS_BYTES_MIN     1024 /* smaller collectives are losses, norms, flags and barriers */
#define COLLECTIVE_STEPS_COMMUNICATORS 8    /* the first ones of a process; further ones are ignored */

/* Observes collectives from now on. Call it before the program's first collective, because all ranks count
 * from that one. */
void collective_steps_observe(void);

/* Lets steps be reported from now on. Call it after steps_start(). `is_rank` false: the process is no rank of
 * a job, and observing ends. */
void collective_steps_start(bool is_rank);
