#include "analysis/show/gpu_work.h"

#include "cli/util/xalloc.h"

#include <stdlib.h>

/* Sorts the items by group, by counting them. Items of other groups, such as TRACE_NONE, are left out. */
static struct gpu_groups group(const uint32_t *group_of, size_t count, size_t group_count)
{
    struct gpu_groups groups = {xcalloc(count, sizeof(uint32_t)), xcalloc(group_count + 2, sizeof(uint32_t))};
    uint32_t *next = groups.first + 1; /* while items are placed, a group's end moves on */
    for (size_t i = 0; i < count; i++)
        if (group_of[i] < group_count)
            next[group_of[i] + 1]++;
    for (size_t i = 0; i < group_count; i++)
        next[i + 1] += next[i];
    for (size_t i = 0; i < count; i++)
        if (group_of[i] < group_count)
            groups.items[next[group_of[i]]++] = (uint32_t)i;
    return groups;
}

void gpu_work_init(struct gpu_work *work, const struct trace *trace)
{
    size_t most = trace->span_count > trace->lane_count ? trace->span_count : trace->lane_count;
    uint32_t *group_of = xcalloc(most, sizeof *group_of);
    for (size_t i = 0; i < trace->span_count; i++)
        group_of[i] = trace->spans[i].lane != TRACE_NONE ? trace->spans[i].resource : TRACE_NONE;
    work->of_resource = group(group_of, trace->span_count, trace->resource_count);
    for (size_t i = 0; i < trace->span_count; i++)
        group_of[i] = trace->spans[i].lane;
    work->of_lane = group(group_of, trace->span_count, trace->lane_count);
    for (size_t i = 0; i < trace->lane_count; i++)
        group_of[i] = trace->lanes[i].resource;
    work->lanes = group(group_of, trace->lane_count, trace->resource_count);
    free(group_of);
}

void gpu_work_deinit(struct gpu_work *work)
{
    struct gpu_groups *all[] = {&work->of_resource, &work->of_lane, &work->lanes};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        free(all[i]->items);
        free(all[i]->first);
        *all[i] = (struct gpu_groups){0};
    }
}
