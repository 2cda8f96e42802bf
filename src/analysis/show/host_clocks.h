/* Aligns the clocks of the hosts in the trace of a training step.
 *
 * All ranks leave a collective that needs the data of all at nearly the same time. So the median difference
 * of its ends on two hosts is the difference of their clocks. Over many steps, `cuspan stat` estimates drift,
 * too. */
#pragma once

#include "analysis/trace/trace.h"

struct host_clocks {
    size_t aligned;      /* hosts whose spans were shifted to the clock of the first rank's host */
    size_t unknown;      /* hosts without a common collective, left as they are */
    uint64_t largest_ns; /* the largest shift */
};

/* Shifts the spans below the ranks, and sorts them again. */
struct host_clocks host_clocks_align(struct trace *trace);
