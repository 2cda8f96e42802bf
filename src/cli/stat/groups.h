/* Groups of spans for `stat --by`. Every span is in exactly one group, so the groups add up to the whole. */
#ifndef CUSPAN_CLI_STAT_GROUPS_H
#define CUSPAN_CLI_STAT_GROUPS_H

#include "cli/trace/trace.h"

/* In the order of the words of `--by` (args/command_table.c). */
enum stat_by {
    STAT_BY_RANGE,   /* name of the innermost range, or span of another program, around it */
    STAT_BY_STREAM,  /* of GPU work, and of the call that submitted it */
    STAT_BY_THREAD,  /* the calling thread; for GPU work that of its call */
    STAT_BY_DEVICE,  /* of GPU work; for a call that of its work, otherwise of its context */
    STAT_BY_REQUEST, /* its trace, unless it belongs to a session */
    STAT_BY_PROCESS,
    STAT_BY_COUNT,
    STAT_BY_NOTHING = STAT_BY_COUNT
};

struct stat_groups {
    uint32_t *of; /* of each span, in the trace's order */
    struct stat_group {
        uint32_t name;    /* string of the trace; "(no range)" and so on if there is none */
        uint32_t spans;   /* how many */
        uint64_t gpu_ns;  /* sum over all its GPU work */
        uint64_t call_ns; /* of all its calls */
        uint32_t counted; /* number of calls and GPU work */
    } * list;
    size_t count, capacity;
};

/* Adds the groups' names to the trace's strings, which invalidates pointers to strings. */
void stat_groups_init(struct stat_groups *groups, struct trace *trace, enum stat_by by);
/* Safe on a zeroed one. */
void stat_groups_deinit(struct stat_groups *groups);

/* "range", "stream"... */
const char *stat_by_name(enum stat_by by);

#endif
