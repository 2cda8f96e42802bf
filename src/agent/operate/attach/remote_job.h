/* An attach puts these into the target: data, code, and a stack for one call of pthread_create().
 *
 * The code (machine_*.c) reads the data by these offsets. It has two parts:
 * - On the thread that was stopped: pthread_create(), pthread_detach(), a short wait for this process to
 *   restore the thread, and then a return as from a signal handler, to a frame with all that the thread had
 *   before (machine.h).
 * - On the new thread: dlopen(), dlsym(), and the call of the agent's function. */
#pragma once

#include "base/status.h"

#include <assert.h>
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

#define JOB_WORK       40
#define JOB_THREAD     48
#define JOB_CREATED    56
#define JOB_STAGE      60
#define JOB_RESULT     64
#define JOB_IS_CREATED 68
#define JOB_LIMIT      72
#define JOB_MESSAGE    88
#define JOB_SYMBOL     600
#define JOB_PATH       632
#define JOB_SETTINGS   1656

static_assert(offsetof(struct remote_job, work) == JOB_WORK &&
                  offsetof(struct remote_job, thread) == JOB_THREAD &&
                  offsetof(struct remote_job, created) == JOB_CREATED &&
                  offsetof(struct remote_job, stage) == JOB_STAGE &&
                  offsetof(struct remote_job, result) == JOB_RESULT &&
                  offsetof(struct remote_job, is_created) == JOB_IS_CREATED &&
                  offsetof(struct remote_job, limit) == JOB_LIMIT &&
                  offsetof(struct remote_job, message) == JOB_MESSAGE &&
                  offsetof(struct remote_job, symbol) == JOB_SYMBOL &&
                  offsetof(struct remote_job, path) == JOB_PATH &&
                  offsetof(struct remote_job, settings) == JOB_SETTINGS && ERROR_TEXT_MAX == 512,
              "the code has these offsets");
