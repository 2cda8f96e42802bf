/* `cuspan overhead`: runs a program with each level of tracing in turn and reports the cost of each level. */
#pragma once

#include "base/status.h"
#include "agent/operate/run/injection.h"

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

/* --- estimates from repeated measurements --- */

#define ESTIMATE_VALUES_MAX 1000 /* the probabilities below stay exact */

struct estimate {
    size_t count;
    double median;
    /* The exact order-statistic interval of the median: of n values in order the k-th from either end, with
     * the largest k for which it holds the median with at least 95 %, whatever the distribution. With fewer
     * than six values there is none: then the range of all. */
    double low, high;
    bool is_sure;
};

/* For 1 to ESTIMATE_VALUES_MAX values, which it sorts. */
struct estimate estimate_of(double *values, size_t count);

/* --- runs --- */

struct stat_report; /* analysis/stat/base/stat.h, whose struct stat is not the system's */

enum overhead_level {
    LEVEL_NONE, /* without cuspan */
    LEVEL_ASLEEP,
    LEVEL_SUMMARY,
    LEVEL_DEFAULT,
    LEVEL_GRAPH_NODES,
    LEVEL_FULL,
    LEVEL_COUNTERS, /* default with hardware counters; only if selected, since it waits for kernels */
    LEVEL_COUNT
};

const char *overhead_level_name(enum overhead_level level);

struct overhead_options {
    bool is_wanted[LEVEL_COUNT]; /* LEVEL_NONE is, always */
    uint32_t rounds;             /* that count */
    uint32_t warm_up;            /* warm-up rounds before */
    uint32_t seconds_max;        /* no round starts later; 0: no limit */
    bool has_figure, is_rate;    /* more of the figure is better */
    regex_t figure;              /* its first group is the number; owned by the caller */
    bool is_quiet;
};

/* One run of the program that ended as it should. */
struct overhead_run {
    enum overhead_level level;
    uint32_t round;
    uint64_t wall_ns;
    double figure;
    bool has_callbacks;   /* any process has timed its callbacks */
    uint64_t callback_ns; /* of all its processes, as all that follows */
    uint64_t threads_ns;
    uint64_t spans, lost;
    bool has_agent; /* any process has reported */
};

struct overhead {
    struct overhead_options options;
    struct overhead_run *runs;
    size_t count, capacity;
    char *failure[LEVEL_COUNT]; /* why the level was skipped; NULL: it was not */
    bool is_interrupted;
};

/* Runs all levels; `arguments` configure the agents. A failure of one level does not stop the others. Not OK:
 * there is no result, and err has the reason. */
enum status overhead_measure(struct overhead *overhead, const struct injection *injection, char **program,
                             struct error *err) MUST_CHECK;

/* Adds a run (which the tests do by hand). */
void overhead_add(struct overhead *overhead, const struct overhead_run *run);

/* Tables for people, or, with each run, for programs. */
void overhead_tables(const struct overhead *overhead, bool is_for_people, struct stat_report *report);

void overhead_deinit(struct overhead *overhead);
