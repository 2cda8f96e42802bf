/* Finds the jobs, which of their steps count, and the stages of pipelines.
 *
 * Files may hold several jobs: two runs in one folder, or a job that was started again. Ranks belong to one
 * job if their steps have the same trace, or if they share a communicator, whose ID is new at each start.
 *
 * A step counts if it is a whole training step. The first step in the files may lack the GPU's earlier work,
 * or be the one in which a program compiles and allocates. The last step ends with the program.
 *
 * Ranks that send to each other form a pipeline. If no two ranks of a communicator are in one pipeline, all
 * its members have the same stage: they hold other parts, or other copies, of the same layers. Ranks of
 * different stages have different work, and must not be compared with each other. */
#include "analysis/ranks/ranks_data.h"

#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

/* Returns sets of one rank each. */
static uint32_t *new_sets(size_t count)
{
    uint32_t *sets = xcalloc(count + 1, sizeof *sets);
    for (size_t i = 0; i < count; i++)
        sets[i] = (uint32_t)i;
    return sets;
}

/* Returns the representative of the rank's set. */
static uint32_t set_of(uint32_t *sets, uint32_t rank)
{
    while (sets[rank] != rank)
        rank = sets[rank] = sets[sets[rank]];
    return rank;
}

/* Joins the sets of two ranks. The smaller representative becomes that of both. */
static void join(uint32_t *sets, uint32_t a, uint32_t b)
{
    a = set_of(sets, a);
    b = set_of(sets, b);
    if (a < b)
        sets[b] = a;
    else
        sets[a] = b;
}

static void join_by_trace(struct ranks *ranks, uint32_t *sets)
{
    struct int_map owners = {0};
    for (size_t i = 0; i < ranks->step_count; i++) {
        const struct rank_step *step = &ranks->steps[i];
        const struct ranks_id *id = &step->step.trace_id;
        if (!id->high && !id->low)
            continue;
        uint64_t key = ranks_pair_key(id->high, id->low);
        uint32_t owner = int_map_get(&owners, key);
        if (owner == MAP_NONE)
            int_map_set(&owners, key, step->rank);
        else
            join(sets, owner, step->rank);
    }
    int_map_deinit(&owners);
}

static void join_members(const struct communicator *communicator, uint32_t *sets)
{
    for (size_t i = 1; i < communicator->member_count; i++)
        join(sets, communicator->members[0].rank, communicator->members[i].rank);
}

/* Numbers the jobs in the order of their first ranks. */
static void number_jobs(struct ranks *ranks, uint32_t *sets)
{
    ranks->jobs = xcalloc(ranks->rank_count + 1, sizeof *ranks->jobs);
    for (uint32_t i = 0; i < ranks->rank_count; i++) {
        uint32_t first = set_of(sets, i);
        if (first == i) {
            ranks->ranks[i].job = (uint32_t)ranks->job_count;
            ranks->jobs[ranks->job_count++] = (struct job){.first_step = UINT64_MAX};
        }
        struct process_rank *rank = &ranks->ranks[i];
        rank->job = ranks->ranks[first].job;
        struct job *job = &ranks->jobs[rank->job];
        job->rank_count++;
        job->world = rank->world > job->world ? rank->world : job->world;
    }
}

static void bound_jobs(struct ranks *ranks)
{
    for (size_t i = 0; i < ranks->step_count; i++) {
        const struct rank_step *step = &ranks->steps[i];
        struct job *job = &ranks->jobs[ranks->ranks[step->rank].job];
        if (step->step.kind != RANKS_TRAIN && step->step.kind != RANKS_DIVIDED)
            continue;
        job->first_step = step->step.number < job->first_step ? step->step.number : job->first_step;
        job->last_step = step->step.number > job->last_step ? step->step.number : job->last_step;
    }
    for (size_t i = 0; i < ranks->job_count; i++)
        ranks->jobs[i].is_first_partial = ranks->jobs[i].first_step <= 1;
    /* Without the backlog, it is unknown when the GPU began with the first step of the files. */
    for (size_t i = 0; i < ranks->step_count; i++) {
        const struct rank_step *step = &ranks->steps[i];
        struct job *job = &ranks->jobs[ranks->ranks[step->rank].job];
        job->is_first_partial |= step->step.number == job->first_step && !step->step.has_backlog;
        job->is_last_partial |= step->step.number == job->last_step && step->step.end != RANKS_END_STEP;
    }
}

static enum ranks_partial partial_of(const struct ranks *ranks, const struct rank_step *step)
{
    const struct job *job = &ranks->jobs[ranks->ranks[step->rank].job];
    if (step->step.kind != RANKS_TRAIN)
        return RANKS_OTHER_KIND;
    if (step->step.end == RANKS_END_CUT)
        return RANKS_CUT;
    if (job->is_first_partial && step->step.number == job->first_step)
        return RANKS_FIRST;
    if (job->is_last_partial && step->step.number == job->last_step)
        return RANKS_LAST;
    return ranks_has_parts(step) ? RANKS_WHOLE : RANKS_SELECTED;
}

void ranks_find_jobs(struct ranks *ranks)
{
    uint32_t *sets = new_sets(ranks->rank_count);
    join_by_trace(ranks, sets);
    for (size_t i = 0; i < ranks->communicator_count; i++)
        join_members(&ranks->communicators[i], sets);
    number_jobs(ranks, sets);
    free(sets);
    bound_jobs(ranks);
    for (size_t i = 0; i < ranks->step_count; i++)
        ranks->steps[i].partial = partial_of(ranks, &ranks->steps[i]);
}

/* --- stages --- */

/* Whether no two members are in one pipeline. `seen`: by pipeline, the index of the communicator in which it
 * was seen last. */
static bool is_within_stage(const struct communicator *communicator, uint32_t *pipelines, uint32_t *seen,
                            uint32_t at)
{
    for (size_t i = 0; i < communicator->member_count; i++) {
        uint32_t pipeline = set_of(pipelines, communicator->members[i].rank);
        if (seen[pipeline] == at + 1)
            return false;
        seen[pipeline] = at + 1;
    }
    return true;
}

/* Whether each rank of a pipeline has another one in its stage. If not, a comparison with ranks of other
 * stages is better than none. */
static bool have_equals(const struct ranks *ranks, uint32_t *stages)
{
    uint32_t *sizes = xcalloc(ranks->rank_count + 1, sizeof *sizes);
    bool result = true;
    for (uint32_t i = 0; i < ranks->rank_count; i++)
        sizes[set_of(stages, i)]++;
    for (uint32_t i = 0; i < ranks->rank_count; i++)
        result &= !ranks->ranks[i].is_in_pipeline || sizes[set_of(stages, i)] > 1;
    free(sizes);
    return result;
}

void ranks_find_stages(struct ranks *ranks)
{
    uint32_t *pipelines = new_sets(ranks->rank_count), *stages = new_sets(ranks->rank_count);
    uint32_t *seen = xcalloc(ranks->rank_count + 1, sizeof *seen);
    for (size_t i = 0; i < ranks->class_count; i++) {
        const struct ranks_collective_row *row = &ranks->classes[i].row;
        bool is_pair = ranks_is_p2p(row->operation) && row->first_rank != row->second_rank;
        ranks->ranks[row->first_rank].is_in_pipeline |= is_pair;
        ranks->ranks[row->second_rank].is_in_pipeline |= is_pair;
        if (is_pair)
            join(pipelines, row->first_rank, row->second_rank);
    }
    for (uint32_t i = 0; i < ranks->communicator_count; i++)
        if (is_within_stage(&ranks->communicators[i], pipelines, seen, i))
            join_members(&ranks->communicators[i], stages);
    free(seen);
    bool is_known = have_equals(ranks, stages);
    for (uint32_t i = 0; i < ranks->rank_count; i++) {
        ranks->ranks[i].pipeline = set_of(pipelines, i);
        ranks->ranks[i].stage = is_known ? set_of(stages, i) : i;
        if (is_known)
            ranks->ranks[i].role += int_map_mix(ranks->ranks[i].stage + 1);
    }
    free(pipelines);
    free(stages);
}
