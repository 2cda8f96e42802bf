/* Finds the jobs, and which of their steps count.
 *
 * Files may hold several jobs: two runs in one folder, or a job that was started again. Ranks belong to one
 * job if their steps have the same trace, or if they share a communicator, whose ID is new at each start.
 *
 * A step counts if it is a whole training step. The first step in the files may lack the GPU's earlier work,
 * or be the one in which a program compiles and allocates. The last step ends with the program. */
#include "analysis/ranks/ranks.h"

#include "analysis/ranks/ranks_data.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

uint32_t ranks_set_find(uint32_t *sets, uint32_t rank)
{
    while (sets[rank] != rank)
        rank = sets[rank] = sets[sets[rank]];
    return rank;
}

void ranks_set_join(uint32_t *sets, uint32_t a, uint32_t b)
{
    a = ranks_set_find(sets, a);
    b = ranks_set_find(sets, b);
    if (a < b)
        sets[b] = a;
    else
        sets[a] = b;
}

static void join_by_trace(struct ranks *ranks, uint32_t *sets)
{
    static const uint8_t unknown[RANKS_ID_BYTES];
    struct int_map owners = {0};
    for (size_t i = 0; i < ranks->step_count; i++) {
        const struct rank_step *step = &ranks->steps[i];
        uint64_t halves[2];
        memcpy(halves, step->step.trace_id, sizeof halves);
        if (!memcmp(step->step.trace_id, unknown, sizeof unknown))
            continue;
        uint64_t key = ranks_pair_key(halves[0], halves[1]);
        uint32_t owner = int_map_get(&owners, key);
        if (owner == MAP_NONE)
            int_map_set(&owners, key, step->rank);
        else
            ranks_set_join(sets, owner, step->rank);
    }
    int_map_deinit(&owners);
}

static void join_by_communicator(const struct ranks *ranks, uint32_t *sets)
{
    for (size_t i = 0; i < ranks->communicator_count; i++)
        for (size_t j = 1; j < ranks->communicators[i].member_count; j++)
            ranks_set_join(sets, ranks->communicators[i].members[0].rank,
                           ranks->communicators[i].members[j].rank);
}

/* Numbers the jobs in the order of their first ranks. */
static void number_jobs(struct ranks *ranks, uint32_t *sets)
{
    ranks->jobs = xcalloc(ranks->rank_count + 1, sizeof *ranks->jobs);
    for (uint32_t i = 0; i < ranks->rank_count; i++) {
        uint32_t first = ranks_set_find(sets, i);
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

/* Whether the step is a training step, also a divided one. */
static bool is_training(const struct rank_step *step)
{
    return step->step.kind == RANKS_TRAIN || step->step.kind == RANKS_DIVIDED;
}

static void bound_jobs(struct ranks *ranks)
{
    for (size_t i = 0; i < ranks->step_count; i++) {
        const struct rank_step *step = &ranks->steps[i];
        struct job *job = &ranks->jobs[ranks->ranks[step->rank].job];
        if (!is_training(step))
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

bool ranks_is_inner(const struct ranks *ranks, uint32_t at, uint64_t step)
{
    const struct job *job = &ranks->jobs[at];
    return (!job->is_first_partial || step != job->first_step) &&
           (!job->is_last_partial || step != job->last_step);
}

void ranks_find_jobs(struct ranks *ranks)
{
    uint32_t *sets = xcalloc(ranks->rank_count + 1, sizeof *sets);
    for (uint32_t i = 0; i < ranks->rank_count; i++)
        sets[i] = i;
    join_by_trace(ranks, sets);
    join_by_communicator(ranks, sets);
    number_jobs(ranks, sets);
    free(sets);
    bound_jobs(ranks);
    for (size_t i = 0; i < ranks->step_count; i++)
        ranks->steps[i].partial = partial_of(ranks, &ranks->steps[i]);
}

const char *ranks_partial_word(enum ranks_partial partial)
{
#define RANKS_PARTIAL_WORD(id, word) [id] = word,
    static const char *const words[] = {RANKS_PARTIALS(RANKS_PARTIAL_WORD)};
#undef RANKS_PARTIAL_WORD
    return words[partial];
}
