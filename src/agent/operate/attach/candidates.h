/* The processes of this machine that `cuspan attach` can be meant for. */
#pragma once

#include "agent/operate/attach/container.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CANDIDATES_EVERY_USER ((uid_t)-1)

struct candidate {
    pid_t pid;
    uid_t user;
    char program[64];                   /* as the agent names it: of "python3 train.py", train.py */
    char container[CONTAINER_ID_BYTES]; /* or empty */
    bool is_readable;                   /* otherwise, the following are unknown */
    bool uses_gpu;                      /* has loaded the CUDA driver, or opened a device of it */
    bool has_agent;                     /* has loaded the agent */
};

struct candidates {
    struct candidate *items;
    size_t count, capacity;
};

/* Whether `cuspan attach --all` means it. */
static inline bool candidate_is_untraced(const struct candidate *candidate)
{
    return candidate->uses_gpu && !candidate->has_agent;
}

/* The user whose processes this one may attach to. */
uid_t candidates_user(void);

/* Reads those of a user, without this process and threads of the kernel, by PID. */
void candidates_find(struct candidates *candidates, uid_t user);
void candidates_deinit(struct candidates *candidates);

/* The program's name from a /proc/PID/cmdline. */
void candidates_name(const char *arguments, size_t length, char *name, size_t size);
