/* Maps times to columns. The scale is linear except for a few long intervals in which nothing starts or ends:
 * each takes CUT_CELLS columns. A CUDA program spends 200 ms creating its context and 300 µs working, so on a
 * linear scale all of its work would share a column. */
#pragma once

#include "analysis/trace/trace.h"

#define SCALE_CUTS_MAX  4
#define SCALE_CUT_CELLS 2

struct scale {
    uint64_t start_ns;
    uint64_t end_ns;
    size_t cells;
    double ns_per_cell; /* outside the cuts */
    size_t cut_count;
    struct scale_cut {
        uint64_t from_ns;
        uint64_t to_ns;
    } cuts[SCALE_CUTS_MAX]; /* in order of time */
};

void scale_init(struct scale *scale, const struct trace *trace, size_t cells, bool is_linear);

/* In cells from the left edge, 0 to cells. */
double scale_position(const struct scale *scale, uint64_t ns);

/* The index of the cut at the cell, or -1. */
int scale_cut_at(const struct scale *scale, size_t cell);

/* The first cell after cut number `cut`; 0 for -1. */
size_t scale_segment_cell(const struct scale *scale, int cut);

/* The smallest of 1, 2 and 5 times a power of ten ns that takes at least `cells` cells. */
uint64_t scale_step_ns(const struct scale *scale, size_t cells);
