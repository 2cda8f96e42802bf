/* Compares the two sides of `cuspan diff` item by item, and creates the result tables. */
#pragma once

#include "analysis/diff/diff_limits.h"
#include "analysis/diff/runs.h"
#include "analysis/stat/base/stat.h"

enum verdict {
    VERDICT_SAME,       /* no difference beyond noise and threshold */
    VERDICT_REGRESSION, /* slower, more frequent or new, above the threshold */
    VERDICT_IMPROVEMENT,
    VERDICT_NEW,     /* not in the base, and no regression */
    VERDICT_GONE,    /* only in the base, and no improvement */
    VERDICT_TOO_FEW, /* too few runs or executions to tell */
    VERDICT_COUNT
};

struct difference {
    const struct measure *of[SIDE_COUNT]; /* borrowed; NULL: that side has none */
    const struct measure *any;            /* one of them */
    struct limits_of limits;
    struct comparison comparison;
    double count[SIDE_COUNT]; /* of a run, the median */
    enum verdict verdict;
};

struct diff {
    struct difference *items; /* but ignored ones */
    size_t count, capacity;
    enum compare_method method;
    double level;
    size_t run_counts[SIDE_COUNT];
    struct run_item *missing; /* for a side without the item */
};

/* Both sets must be sorted, and outlive the result. */
void diff_init(struct diff *diff, const struct run_set *base, const struct run_set *new,
               const struct diff_limits *limits);
void diff_deinit(struct diff *diff);

/* Adds the tables "headline", "regressions", "limits" (exceeded absolute limits), "improvements", "new",
 * "gone" and, with `with_all`, "items". Returns the number of regressions and exceeded limits. */
size_t diff_report(const struct diff *diff, bool with_all, struct stat_report *report);

/* Adds the table "code", with the largest changes first, if both sides have lines. With `with_all`, it has
 * all rows, also those without a change. */
void diff_code_report(const struct run_set sides[SIDE_COUNT], enum stat_code_by by, bool with_all,
                      struct stat_report *report);
