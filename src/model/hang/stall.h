/* Decides whether a process stands still, from one look at it after the other. Knows nothing of how a look is
 * taken, and keeps no time of its own.
 *
 * A stall: something is in progress, and nothing has moved for `after`, or for four times the longest pause
 * that steps of this kind have had lately, at most 60 times `after`. Before ten such steps, or ten looks that
 * have seen one move, and in the first two steps of a program, which compile and fill caches, six times
 * `after` count instead. Without anything in progress, a process is idle, however long.
 *
 * Such a stall may still end: a slow checkpoint, a compilation, a loader that is late. It is an alarm
 * after ten times `after`, or twice the longest pause ever in steps of this kind, at most 60 times `after`;
 * in the first two steps after 60 times. A day of a healthy job has at most one false alarm
 * (tests/unit/model/stall_healthy_test.c), and 10 to 40 stalls without an alarm.
 *
 * In progress is a call of NCCL or CUDA that has not returned, or a step of a training job. A process moves
 * when a collective or a step begins, and when work of the GPU ends. Its end is known later, so it counts as
 * of its time: records that a forced flush brings are no movement. Nor are those of CUPTI's own work, which
 * each flush makes. Calls that poll, such as cudaEventQuery, do not count.
 *
 * If looks come late, because the process was stopped or starved, the time without a look counts as none. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define STALL_LOOKS   5   /* looks in `after` */
#define STALL_GAPS    4   /* times the longest pause */
#define STALL_LEARNT  10  /* steps, or looks that see something move, before the longest pause counts */
#define STALL_UNKNOWN 6   /* times `after`, before that */
#define STALL_MAX     60  /* times `after` at most */
#define STALL_ALARM   10  /* times `after` at least, for an alarm */
#define STALL_EVER    2   /* times the longest pause ever */
#define STALL_REPEAT  2   /* times `after` between two reports */
#define STALL_OFTEN   30  /* reports at that interval; later ones are six times as rare */
#define STALL_WINDOW  256 /* looks that see something move, after which older pauses are forgotten */
#define STALL_KINDS   5   /* of enum step_kind, and the first steps */
#define STALL_FIRST   (STALL_KINDS - 1)
#define STALL_WARM_UP 2 /* steps */

struct stall_look {
    uint64_t now_ns;          /* CLOCK_MONOTONIC */
    uint64_t enqueued, steps; /* so far */
    uint64_t gpu_ended_ns;    /* the latest known end of work of the GPU; 0: none */
    uint32_t step_kind;       /* enum step_kind; NONE: in no step */
    bool is_in_call;          /* a call of NCCL or CUDA is in progress */
};

struct stall {
    uint64_t after_ns; /* set it; the rest is zero at first */
    struct stall_look last;
    uint64_t moved_ns;   /* when something moved; 0: no look so far */
    uint64_t missed_ns;  /* time without looks, which counts as none: moved_ns is later by it */
    uint64_t busy_ns;    /* since when something is in progress; 0: nothing is */
    uint64_t stalled_ns; /* since when it stands still; 0: it does not */
    uint64_t reported_ns;
    uint32_t reports; /* of this stall */
    bool is_alarm;    /* until it ends */
    uint64_t stalls;  /* so far */
    struct {
        uint32_t looks;            /* that saw something move */
        uint64_t steps;            /* that began, between two looks that saw this kind */
        uint64_t longest, earlier; /* pauses in ns, of the current and the previous window */
        uint64_t ever;
    } kinds[STALL_KINDS];
};

/* All but NOTHING: send a report. ALARMS: it has become an alarm. At the end, `stalled_ns` and `is_alarm` are
 * still those of the stall. */
enum stall_event { STALL_NOTHING, STALL_BEGINS, STALL_REPEATS, STALL_ALARMS, STALL_ENDS };

enum stall_event stall_note(struct stall *stall, const struct stall_look *look);

/* Since when something is in progress and nothing moves; 0: nothing is in progress. */
uint64_t stall_since_ns(const struct stall *stall);
/* How long nothing may move now. */
uint64_t stall_limit_ns(const struct stall *stall);
/* How long nothing may move until it is an alarm. */
uint64_t stall_alarm_ns(const struct stall *stall);
/* The time between two looks. */
uint64_t stall_interval_ns(const struct stall *stall);
