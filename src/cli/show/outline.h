/* Spans as the lines of a picture: a tree in which equal siblings are one line where there are too many to
 * read.
 *
 * Three ways, the first that fits into the number of rows asked for: every span is a line; runs of equal
 * siblings are one line; all equal siblings are one line. If even that is too much, the lines that took the
 * most time stay (and all that failed), and the rest of each family becomes "… 12 more". */
#ifndef CUSPAN_CLI_SHOW_OUTLINE_H
#define CUSPAN_CLI_SHOW_OUTLINE_H

#include "cli/trace/trace.h"

#define OUTLINE_DEPTH_MAX 48 /* children below are not shown but counted with their parent */

enum outline_kind { OUTLINE_SPANS, OUTLINE_THREAD, OUTLINE_MORE };

struct outline_group {
    enum outline_kind kind;
    uint32_t *members; /* spans in order of time; owned */
    size_t count;
    uint64_t total_ns;
    uint64_t weight_ns;             /* the largest total of this line or one below it */
    bool has_error;                 /* in this line or below */
    struct outline_group *children; /* owned */
    size_t child_count, child_capacity;
    size_t hidden; /* MORE: lines that it stands for */
};

struct outline_row {
    const struct outline_group *group;
    uint32_t depth;
    uint64_t guides; /* bit d: at depth d more siblings follow, so its line goes on */
};

struct outline {
    struct outline_group root; /* its children are the trace's roots; it is no row itself */
    struct outline_row *rows;
    size_t row_count, row_capacity;
};

/* rows_max 0: a row for each span. */
void outline_build(struct outline *outline, const struct trace *trace, size_t rows_max);
void outline_deinit(struct outline *outline);

#endif
