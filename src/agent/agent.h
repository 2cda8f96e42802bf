/* The agent's life: loaded by the CUDA driver, started once, stopped at exit, dead in a forked child. */
#ifndef CUSPAN_AGENT_AGENT_H
#define CUSPAN_AGENT_AGENT_H

#include <stdbool.h>

/* What the driver calls in the library that CUDA_INJECTION64_PATH names, on the thread that initializes CUDA.
 * Always answers 1, well or not: a host never fails because of us. */
__attribute__((visibility("default"))) int InitializeInjection(void);

/* What is done at exit: delivers what there is within exit_deadline_ms, and traces no further. False: no
 * agent runs in this process (a forked child has none of its parent's), or it has ended already. Any thread.
 */
bool agent_finish(void);

#endif
