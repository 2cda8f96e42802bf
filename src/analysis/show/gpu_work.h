/* The GPU work of a trace by device and by stream, so that each of them is drawn without a search through all
 * spans. */
#pragma once

#include "analysis/trace/trace.h"

/* Items of group i: items[first[i]] to items[first[i + 1] - 1], in their original order. */
struct gpu_groups {
    uint32_t *items, *first; /* owned */
};

struct gpu_work {
    struct gpu_groups of_resource; /* spans */
    struct gpu_groups of_lane;     /* spans */
    struct gpu_groups lanes;       /* of each resource */
};

void gpu_work_init(struct gpu_work *work, const struct trace *trace);
void gpu_work_deinit(struct gpu_work *work);

static inline const uint32_t *gpu_group(const struct gpu_groups *groups, uint32_t group, size_t *count)
{
    *count = groups->first[group + 1] - groups->first[group];
    return groups->items + groups->first[group];
}
