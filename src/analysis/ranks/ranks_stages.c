/* Finds the stages of pipelines. Ranks that send to each other form a pipeline. If no two ranks of a
 * communicator are in one pipeline, all its members have the same stage: they hold other parts, or other
 * copies, of the same layers. Ranks of different stages have different work, and must not be compared with
 * each other. */
#include "analysis/ranks/ranks.h"

#include "analysis/ranks/ranks_data.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>

static uint32_t *new_sets(size_t count)
{
    uint32_t *sets = xcalloc(count + 1, sizeof *sets);
    for (size_t i = 0; i < count; i++)
        sets[i] = (uint32_t)i;
    return sets;
}

/* Whether no two members are in one pipeline. `seen`: by pipeline, the index of the communicator in which it
 * was seen last. */
static bool is_within_stage(const struct communicator *communicator, uint32_t *pipelines, uint32_t *seen,
                            uint32_t at)
{
    for (size_t i = 0; i < communicator->member_count; i++) {
        uint32_t pipeline = ranks_set_find(pipelines, communicator->members[i].rank);
        if (seen[pipeline] == at + 1)
            return false;
        seen[pipeline] = at + 1;
    }
    return true;
}

static void join_stages(struct ranks *ranks, uint32_t *pipelines, uint32_t *stages)
{
    uint32_t *seen = xcalloc(ranks->rank_count + 1, sizeof *seen);
    for (size_t i = 0; i < ranks->communicator_count; i++) {
        const struct communicator *communicator = &ranks->communicators[i];
        if (is_within_stage(communicator, pipelines, seen, (uint32_t)i))
            for (size_t j = 1; j < communicator->member_count; j++)
                ranks_set_join(stages, communicator->members[0].rank, communicator->members[j].rank);
    }
    free(seen);
}

/* Whether each rank of a pipeline has another one in its stage. If not, a comparison with ranks of other
 * stages is better than none. */
static bool have_equals(const struct ranks *ranks, uint32_t *stages)
{
    uint32_t *sizes = xcalloc(ranks->rank_count + 1, sizeof *sizes);
    bool result = true;
    for (uint32_t i = 0; i < ranks->rank_count; i++)
        sizes[ranks_set_find(stages, i)]++;
    for (uint32_t i = 0; i < ranks->rank_count; i++)
        result &= !ranks->ranks[i].is_in_pipeline || sizes[ranks_set_find(stages, i)] > 1;
    free(sizes);
    return result;
}

static void join_pipeline(struct ranks *ranks, uint32_t *pipelines, uint32_t first, uint32_t second)
{
    ranks_set_join(pipelines, first, second);
    ranks->ranks[first].is_in_pipeline |= first != second;
    ranks->ranks[second].is_in_pipeline |= first != second;
}

void ranks_find_stages(struct ranks *ranks)
{
    uint32_t *pipelines = new_sets(ranks->rank_count), *stages = new_sets(ranks->rank_count);
    for (size_t i = 0; i < ranks->class_count; i++) {
        const struct ranks_collective_row *row = &ranks->classes[i].row;
        if (ranks_is_p2p(row->operation))
            join_pipeline(ranks, pipelines, row->first_rank, row->second_rank);
    }
    join_stages(ranks, pipelines, stages);
    bool is_known = have_equals(ranks, stages);
    for (uint32_t i = 0; i < ranks->rank_count; i++) {
        ranks->ranks[i].pipeline = ranks_set_find(pipelines, i);
        ranks->ranks[i].stage = is_known ? ranks_set_find(stages, i) : i;
        if (is_known)
            ranks->ranks[i].role += int_map_mix(ranks->ranks[i].stage + 1);
    }
    free(pipelines);
    free(stages);
}
