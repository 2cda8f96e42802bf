/* The child processes of the program, such as those that load its data: what they do, and which have ended.
 * Only children that the main thread has made. Allocates nothing. */
#pragma once

#include <stdint.h>

#define CHILDREN_MAX 32 /* further ones are left out; of those that have ended, the latest are kept */

struct children {
    uint32_t count;
    struct child {
        int32_t pid;
        char state;    /* as in /proc/PID/stat: Z ended, and the program does not know it yet; 0: unknown */
        char name[16]; /* sanitized; as of children_describe() or its end */
        uint64_t ended_ns; /* CLOCK_MONOTONIC: a look no longer found it; 0: it is there */
    } list[CHILDREN_MAX];
};

/* Once a second: one file, and two more for each change. */
void children_look(struct children *children, uint64_t now_ns);
/* Sets the states of those that are there. */
void children_describe(struct children *children);
