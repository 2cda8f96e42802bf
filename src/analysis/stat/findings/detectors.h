/* The detectors of findings. Each looks for some kinds of findings in the spans that it is given, and offers
 * them at the end. */
#pragma once

#include "analysis/stat/findings/finding.h"

struct detector {
    size_t bytes; /* size of the state, which starts zeroed */
    /* Takes a span of the current segment, which the survey has taken before. NULL: the detector needs no
     * spans. */
    void (*take)(void *state, struct survey *survey, const struct trace_span *span);
    void (*end_segment)(void *state, struct survey *survey); /* NULL: nothing to do */
    /* Offers findings, unless `findings` is NULL, and frees what the state refers to. */
    void (*finish)(void *state, struct findings *findings);
};

extern const struct detector find_launch_bound, find_tiny_launches, find_graph_candidates, find_serialized,
    find_copies, find_needless_waits, find_low_occupancy, find_memory_faults;
