/* Which spans belong together, for `stat --by`: every span is in exactly one group, so that what is counted
 * by group adds up to what is counted without. */
#ifndef CUSPAN_CLI_STAT_GROUPS_H
#define CUSPAN_CLI_STAT_GROUPS_H

#include "cli/trace/trace.h"

/* In the order of STAT_BY_WORDS. */
enum stat_by {
    STAT_BY_RANGE,   /* the innermost range, or span of another program, around it: all of one name */
    STAT_BY_STREAM,  /* on which it ran; of a call: on which its work ran */
    STAT_BY_THREAD,  /* that called; of GPU work: that of its call */
    STAT_BY_DEVICE,  /* on which it ran; of a call: its work's, else its context's */
    STAT_BY_REQUEST, /* its trace, unless it belongs to a session */
    STAT_BY_PROCESS,
    STAT_BY_COUNT,
    STAT_BY_NOTHING = STAT_BY_COUNT
};

#define STAT_BY_WORDS "range stream thread device request process"

struct stat_groups {
    uint32_t *of; /* of each span, in the trace's order */
    struct stat_group {
        uint32_t name;    /* string of the trace; "(no range)" and so on where there is none */
        uint32_t spans;   /* how many */
        uint64_t gpu_ns;  /* of all its GPU work, added up */
        uint64_t call_ns; /* of all its calls */
        uint32_t counted; /* how many of them are calls or GPU work */
    } * list;
    size_t count, capacity;
};

/* Adds the groups' names to the trace's strings: what was borrowed of them before is void. */
void stat_groups_init(struct stat_groups *groups, struct trace *trace, enum stat_by by);
/* Safe on a zeroed one. */
void stat_groups_deinit(struct stat_groups *groups);

/* "range", "stream"... */
const char *stat_by_name(enum stat_by by);

#endif
