/* The peak rate of a copy or fill: that of the GPU's memory, or of the link in one direction, from the
 * device's attributes (cuda.device.pcie.*, cuda.device.nvlink.*). */
#pragma once

#include "analysis/stat/base/stat.h"

struct peak {
    char name[32];      /* "memory", "PCIe 5.0 x16", "NVLink x18"; "": unknown path */
    double bytes_per_s; /* 0: unknown */
    bool is_link;       /* the copy leaves the GPU's memory, over a link */
};

/* Caches the last result: consecutive copies often use the same device. `last` must be NULL at the start of a
 * segment. */
struct peaks {
    const struct trace_span *last;
    struct peak answer;
};

/* Returns the peak rate of a span of CLASS_COPY or CLASS_FILL. */
struct peak peak_of(struct peaks *peaks, const struct stat *stat, const struct trace_span *span);
bool peak_is(const struct peak *peak, const struct peak *other);
