/* Finds the group of each span for `stat --by`. Every span is in exactly one group, so the groups add up to
 * the whole. */
#pragma once

#include "analysis/stat/base/stat.h"

#define STAT_GROUP_NONE UINT32_MAX

/* In the order of the words of `--by` (src/command/table/command_table.c). */
enum stat_by {
    STAT_BY_RANGE,   /* name of the innermost range, or span of another program, around the span */
    STAT_BY_STREAM,  /* stream of GPU work, and of the call that submitted it */
    STAT_BY_THREAD,  /* the calling thread; for GPU work that of its call */
    STAT_BY_DEVICE,  /* device of GPU work; of a call, that of its work, or else of its context, if known */
    STAT_BY_REQUEST, /* trace of the span, unless it belongs to a session */
    STAT_BY_PROCESS,
    STAT_BY_RANK, /* rank of the span's process in the job */
    STAT_BY_STEP, /* step of the span's trace; an evaluation or a checkpoint is a group of its own */
    STAT_BY_COUNT,
    STAT_BY_NOTHING = STAT_BY_COUNT
};

struct stat_group {
    uint64_t key;     /* identity of the group: several resources, lanes or threads may be one group */
    uint32_t what;    /* depends on `by`: a string, lane, thread, resource, trace, process or step;
                         STAT_GROUP_NONE */
    uint64_t gpu_ns;  /* sum over all its GPU work */
    uint64_t call_ns; /* sum over all its calls */
    uint64_t counted; /* number of calls and GPU work */
};

struct stat_groups {
    enum stat_by by;
    struct int_map numbers; /* identity → number */
    struct stat_group *list;
    size_t count, capacity;
    struct int_map steps_of;    /* trace → step */
    struct int_map step_places; /* hash of number and kind → step */
    const char **steps;         /* names of the steps */
    size_t step_count, step_capacity;
    /* The groups that were left out, only to recognize them: requests as bits by trace, others by identity.
     */
    uint64_t *left_requests;
    size_t left_words;
    struct int_map left;
};

/* Returns the number of the group that a span of the current segment belongs to; STAT_GROUP_NONE: the group
 * was left out, or the span is a margin span of no known group. Margin spans are not counted, and start no
 * group. */
uint32_t stat_groups_take(struct stat_groups *groups, const struct stat *stat, const struct trace_span *span);
/* Leaves out the groups whose entry is true, by their numbers. The others are renumbered, in the same order.
 */
void stat_groups_leave_out(struct stat_groups *groups, const bool *is_left_out);
/* Returns the group's name; "(no range)" and so on: it has none. Valid until the report is deleted. */
const char *stat_groups_name(const struct stat_groups *groups, const struct stat *stat,
                             const struct stat_group *group);
void stat_groups_deinit(struct stat_groups *groups);

/* Returns the word for `by`, such as "range" or "stream". */
const char *stat_by_name(enum stat_by by);
