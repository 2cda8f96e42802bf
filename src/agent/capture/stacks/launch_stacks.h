/* Records the stack of the code that makes a CUDA call, in the callback at the call's end
 * (capture.launch_stacks and capture.allocation_stacks): Python frames, with `all` behind their native
 * caller, or native frames on threads without Python.
 *
 * A thread remembers the stacks that it has described, in a table of 2,048 places. A known stack costs a walk
 * and 24 bytes of the ring. For another one, each frame's file, function and line are copied, which is
 * possible only now: the code object may be gone later. */
#pragma once

#include "agent/abi/cupti_abi.h"
#include "base/status.h"
#include "agent/capture/threads/threads.h"
#include "agent/capture/stacks/native_frames.h"
#include "agent/capture/stacks/python_frames.h"
#include "model/record.h"
#include "model/settings/settings.h"

#include <stdbool.h>
#include <stdint.h>

/* Prepares the settings' stacks. Call it before callbacks are enabled. `replay` returns the recorded code of
 * the call in progress, which replaces that of this process; NULL: no replay. Fails with NO_MEMORY only. */
enum status launch_stacks_start(const struct settings *settings, cuspan_replay_code_fn *replay) MUST_CHECK;

/* Looks for a Python interpreter while none was found. Pipeline thread, now and then. */
void launch_stacks_look(void);
/* With native stacks: follows libraries and threads. Pipeline thread, every few milliseconds. */
void launch_stacks_service(void);

/* Forgets all described stacks, so that they are described again. Pipeline thread, when it has no room for
 * more text. */
void launch_stacks_forget(void);

enum launch_stack_kind { STACK_PYTHON, STACK_NATIVE, STACK_RECORDED };

/* A stack that was walked but not yet written to the ring. */
struct launch_stack {
    enum launch_stack_kind kind;
    uint32_t bytes_max; /* size of its record */
    uint64_t id;
    _Atomic uint64_t *known_set; /* two places in the thread's table; NULL: it is not remembered */
    union {
        struct {
            const struct python *python;
            struct python_walk walk;
            struct code_caller caller; /* address 0: unknown, or not asked for */
            struct python_frame frames[CODE_FRAMES_MAX];
        } python;
        struct {
            struct native_walk walk;
            uint64_t frames[CODE_FRAMES_MAX];
        } native;
        const struct code_record *recorded; /* in a replay */
    };
};

/* Walks the calling thread's frames. `is_asked`: walk whether the call is sampled or not, and native frames,
 * too. False: this call is not sampled, or has no frames to record. */
bool launch_stacks_take(struct host_thread *thread, bool is_asked, struct launch_stack *stack);

/* Whether the record will have the ID alone. */
static inline bool launch_stack_is_known(const struct launch_stack *stack)
{
    return stack->bytes_max == sizeof(struct code_record);
}

/* Writes the record into room for bytes_max, and returns its size. */
uint32_t launch_stacks_write(const struct launch_stack *stack, struct code_record *record);
