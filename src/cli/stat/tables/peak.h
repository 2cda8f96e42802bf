/* What a copy or fill could have moved at best: the peak of the GPU's memory, or of the link that it takes in
 * one direction, as the device's attributes have it (cuda.device.pcie.*, cuda.device.nvlink.*). */
#ifndef CUSPAN_CLI_STAT_TABLES_PEAK_H
#define CUSPAN_CLI_STAT_TABLES_PEAK_H

#include "cli/stat/stat.h"

struct peak {
    char name[32];      /* "memory", "PCIe 5.0 x16", "NVLink x18"; "": what the copy takes isn't known */
    double bytes_per_s; /* 0: unknown, and nothing is guessed */
    bool is_link;       /* it leaves the GPU's memory */
};

/* Remembers the last answer: copies of one device come one after the other. */
struct peaks {
    const struct stat *stat;
    const struct trace_span *last;
    struct peak answer;
};

/* Of a span of CLASS_COPY or CLASS_FILL. */
struct peak peak_of(struct peaks *peaks, const struct trace_span *span);
bool peak_is(const struct peak *peak, const struct peak *other);

#endif
