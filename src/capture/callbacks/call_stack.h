/* Call stacks of allocating calls, on request (capture.allocation_stacks). The host thread walks its stack
 * when the call returns and stores bare addresses; a thread of the agent symbolizes them later.
 *
 * Off by default because it weakens the guarantees for callbacks: glibc's backtrace() reads the host's stack
 * by its unwind tables, which takes 0.2 to 0.5 us per frame, and takes the loader's lock before glibc 2.35.
 * Wrong unwind tables can make it read unmapped memory. Other calls are not affected. */
#ifndef CUSPAN_CAPTURE_CALLBACKS_CALL_STACK_H
#define CUSPAN_CAPTURE_CALLBACKS_CALL_STACK_H

#include "base/ring.h"
#include "model/record.h"

#include <stdbool.h>

/* Loads libgcc_s.so.1 now, which backtrace() would otherwise do inside a host call. False: not available. */
bool call_stack_start(void);

/* Writes the calling thread's stack to `record`, which has room for STACK_FRAMES_MAX frames. Returns the
 * record's size in bytes, or 0 if no frame was found. The call's duration does not include this. */
uint32_t call_stack_walk(struct stack_record *record);

#endif
