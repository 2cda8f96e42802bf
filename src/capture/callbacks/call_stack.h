/* Call stacks of allocating calls, on request (capture.allocation_stacks): walked at the call's exit on the
 * host's thread, as bare addresses, and made readable on a thread of ours (agent/stacks.c).
 *
 * It bends what the README promises of callbacks, and so is off by default: glibc's backtrace() reads the
 * host's stack by its unwind tables, which takes 0.2 to 0.5 us a frame, and before glibc 2.35 the loader's
 * lock. Of a stack whose tables lie, it reads what isn't there. Nothing of it is on the way of any other
 * call. */
#ifndef CUSPAN_CAPTURE_CALLBACKS_CALL_STACK_H
#define CUSPAN_CAPTURE_CALLBACKS_CALL_STACK_H

#include "base/ring.h"
#include "model/record.h"

#include <stdbool.h>

/* Loads what backtrace() needs (libgcc_s.so.1), which would else happen inside a host's call. False: it can't
 * be had. */
bool call_stack_start(void);

/* Writes the calling thread's stack to `record`, which has room for STACK_FRAMES_MAX frames, and returns the
 * bytes of it; 0: nothing could be walked. The time it takes doesn't count as the call's. */
uint32_t call_stack_walk(struct stack_record *record);

#endif
