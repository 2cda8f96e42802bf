/* Groups of spans for `stat --by`. Every span is in exactly one group, so the groups add up to the whole. */
#ifndef CUSPAN_ANALYSIS_STAT_GROUPS_H
#define CUSPAN_ANALYSIS_STAT_GROUPS_H

#include "analysis/stat/base/stat.h"

#define STAT_GROUP_NONE UINT32_MAX

/* In the order of the words of `--by` (args/command_table.c). */
enum stat_by {
    STAT_BY_RANGE,   /* name of the innermost range, or span of another program, around it */
    STAT_BY_STREAM,  /* of GPU work, and of the call that submitted it */
    STAT_BY_THREAD,  /* the calling thread; for GPU work that of its call */
    STAT_BY_DEVICE,  /* of GPU work; for a call that of its work, otherwise of its context, if its work is
                        known */
    STAT_BY_REQUEST, /* its trace, unless it belongs to a session */
    STAT_BY_PROCESS,
    STAT_BY_RANK, /* of its process in the job */
    STAT_BY_STEP, /* that its trace belongs to; an evaluation or a checkpoint is a group of its own */
    STAT_BY_COUNT,
    STAT_BY_NOTHING = STAT_BY_COUNT
};

struct stat_group {
    uint64_t key;     /* its identity: several resources, lanes or threads may be one group */
    uint32_t what;    /* depends on `by`: a string, lane, thread, resource, trace, process or step;
                         STAT_GROUP_NONE */
    uint64_t gpu_ns;  /* sum over all its GPU work */
    uint64_t call_ns; /* of all its calls */
    uint64_t counted; /* number of calls and GPU work */
};

struct stat_groups {
    enum stat_by by;
    struct int_map numbers; /* identity → number */
    struct stat_group *list;
    size_t count, capacity;
    struct int_map steps_of;    /* trace → step */
    struct int_map step_places; /* hash of number and kind → step */
    const char **steps;         /* their names */
    size_t step_count, step_capacity;
    /* Those that were left out, of which only this is kept: requests as bits by trace, others by identity. */
    uint64_t *left_requests;
    size_t left_words;
    struct int_map left;
};

/* The number of the group that a span of the current segment belongs to. Margin spans are not counted, and
 * start no group: STAT_GROUP_NONE, as for spans of a group that was left out. */
uint32_t stat_groups_take(struct stat_groups *groups, const struct stat *stat, const struct trace_span *span);
/* Leaves out groups by their numbers; the others move up, in order. */
void stat_groups_leave_out(struct stat_groups *groups, const bool *is_left_out);
/* "(no range)" and so on if there is none. Valid until the report is deleted. */
const char *stat_groups_name(const struct stat_groups *groups, const struct stat *stat,
                             const struct stat_group *group);
void stat_groups_deinit(struct stat_groups *groups);

/* "range", "stream"... */
const char *stat_by_name(enum stat_by by);

#endif
