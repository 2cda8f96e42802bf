/* An attach puts these into the target: data, code, and a stack for one call of pthread_create().
 *
 * The code (machine_*.c) has two parts:
 * - On the thread that was stopped: pthread_create(), pthread_detach(), a short wait for this process to
 *   restore the thread, and then a return as from a signal handler, to a frame with all that the thread had
 *   before (machine.h).
 * - On the new thread: dlopen(), dlsym(), and the call of the agent's function. */
#pragma once

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* The addresses of functions in the target are in the order of remote_functions. */
enum remote_function {
    REMOTE_DLOPEN,
    REMOTE_DLSYM,
    REMOTE_DLERROR,
    REMOTE_CREATE,
    REMOTE_DETACH,
    REMOTE_FUNCTIONS
};

enum remote_stage {
    STAGE_NOTHING,
    STAGE_LOADING, /* in dlopen() */
    STAGE_CALLING, /* in the agent's function */
    STAGE_DONE,
    STAGE_NOT_LOADED = -1, /* `message` says why */
    STAGE_NO_SYMBOL = -2
};

#define REMOTE_SETTINGS_BYTES (16 * 1024)
#define REMOTE_STACK_BYTES    (64 * 1024)
#define NOT_CREATED           (-1)

struct remote_job {
    uint64_t functions[REMOTE_FUNCTIONS];
    uint64_t work;      /* the start of the new thread */
    uint64_t thread;    /* the pthread_t */
    int32_t created;    /* the result of pthread_create(), or NOT_CREATED */
    int32_t stage;      /* enum remote_stage */
    int32_t result;     /* of the agent's function */
    int32_t is_created; /* the stopped thread now waits to be restored, for `limit` */
    int64_t limit[2];   /* struct timespec */
    char message[ERROR_TEXT_MAX];
    char symbol[32];
    char path[1024];
    char settings[REMOTE_SETTINGS_BYTES]; /* last, because only what is used of it is written */
};

/* The operands of the code, %c[stage] for `stage`. */
#define JOB_PLACE(field) [field] "i"(offsetof(struct remote_job, field))
#define JOB_PLACES                                                                                           \
    JOB_PLACE(work), JOB_PLACE(thread), JOB_PLACE(created), JOB_PLACE(stage), JOB_PLACE(result),             \
        JOB_PLACE(is_created), JOB_PLACE(limit), JOB_PLACE(message), JOB_PLACE(symbol), JOB_PLACE(path),     \
        JOB_PLACE(settings), [bytes] "i"(ERROR_TEXT_MAX)
