/* Spans as the lines of a picture: a tree in which equal siblings share a line if there are too many to read.
 *
 * Uses the first of three ways that fits the requested number of rows: one line per span, one line per run of
 * equal siblings, one line for all equal siblings. If none fits, it keeps the lines that took the most time
 * and all that failed, and shows the rest of each family as "… 12 more". */
#pragma once

#include "analysis/trace/trace.h"

#define OUTLINE_DEPTH_MAX 48 /* the children are not shown but counted with their parent */

enum outline_kind { OUTLINE_SPANS, OUTLINE_THREAD, OUTLINE_MORE };

struct outline_group {
    enum outline_kind kind;
    uint32_t *members; /* spans in order of time; owned */
    size_t count, capacity;
    uint64_t total_ns;
    uint64_t weight_ns;             /* the largest total of this line or of one below it */
    bool has_error;                 /* in this line or below */
    struct outline_group *children; /* owned */
    size_t child_count, child_capacity;
    size_t hidden; /* MORE: the number of lines that it stands for */
};

struct outline_row {
    const struct outline_group *group;
    uint32_t depth;
    uint64_t guides; /* bit d: at depth d more siblings follow, so its line continues */
};

struct outline {
    struct outline_group root; /* its children are the trace's roots; it is not a row */
    struct outline_row *rows;
    size_t row_count, row_capacity;
};

/* rows_max 0: one row per span. */
void outline_build(struct outline *outline, const struct trace *trace, size_t rows_max);
void outline_deinit(struct outline *outline);
