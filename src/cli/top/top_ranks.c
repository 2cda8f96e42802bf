#include "cli/top/top_ranks.h"

#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

#define LATE_SHARE 100 /* the last rank is named if it is late by more than 1/100 of the step */

static int by_job_and_rank(const void *a, const void *b)
{
    const struct top_rank *one = a, *other = b;
    int order = strcmp(one->steps->job, other->steps->job);
    if (order)
        return order;
    if (one->steps->rank != other->steps->rank)
        return one->steps->rank < other->steps->rank ? -1 : 1;
    return one->pid < other->pid ? -1 : one->pid > other->pid;
}

static const struct top_step *find_step(const struct top_steps *steps, int64_t number)
{
    for (size_t i = 0; i < steps->sampled_count; i++)
        if (steps->sampled[i].number == number)
            return &steps->sampled[i];
    return NULL;
}

static bool have_all(const struct top_rank *ranks, size_t count, int64_t number)
{
    for (size_t i = 0; i < count; i++)
        if (!find_step(ranks[i].steps, number))
            return false;
    return true;
}

/* Each rank lists its steps from the latest on. */
static const struct top_step *latest_of_all(const struct top_rank *ranks, size_t count)
{
    for (size_t i = 0; i < ranks[0].steps->sampled_count; i++)
        if (have_all(ranks, count, ranks[0].steps->sampled[i].number))
            return &ranks[0].steps->sampled[i];
    return NULL;
}

static uint64_t duration_of(const struct top_step *step)
{
    return step->compute_ns + step->exposed_ns + step->copies_ns + step->idle_ns;
}

/* The ranks of one job. */
static void compare(struct top_rank *ranks, size_t count)
{
    const struct top_step *common = count > 1 ? latest_of_all(ranks, count) : NULL;
    struct top_rank *last = NULL;
    uint64_t longest_ns = 0;
    for (size_t i = 0; i < count; i++) {
        const struct top_steps *steps = ranks[i].steps;
        ranks[i].sampled = common                 ? find_step(steps, common->number)
                           : steps->sampled_count ? steps->sampled
                                                  : NULL;
        ranks[i].is_compared = common != NULL;
        if (common && ranks[i].sampled->communication_ns > longest_ns)
            longest_ns = ranks[i].sampled->communication_ns;
    }
    for (size_t i = 0; common && i < count; i++) {
        ranks[i].late_ns = longest_ns - ranks[i].sampled->communication_ns;
        if (!last || ranks[i].late_ns > last->late_ns)
            last = &ranks[i];
    }
    if (last)
        last->is_last = last->late_ns > duration_of(last->sampled) / LATE_SHARE;
}

static uint64_t step_time(const struct top_steps *steps)
{
    return steps->count ? steps->total_ns / steps->count : steps->last_ns;
}

size_t top_ranks_find(const struct top_sample *const *figures, const long *pids, size_t count,
                      struct top_rank **ranks)
{
    size_t found = 0, end;
    *ranks = xcalloc(count ? count : 1, sizeof **ranks);
    for (size_t i = 0; i < count; i++)
        if (figures[i] && figures[i]->steps.is_there)
            (*ranks)[found++] = (struct top_rank){
                .steps = &figures[i]->steps, .pid = pids[i], .step_ns = step_time(&figures[i]->steps)};
    if (found)
        qsort(*ranks, found, sizeof **ranks, by_job_and_rank);
    for (size_t begin = 0; begin < found; begin = end) {
        for (end = begin + 1; end < found; end++)
            if (strcmp((*ranks)[begin].steps->job, (*ranks)[end].steps->job) != 0)
                break;
        compare(*ranks + begin, end - begin);
    }
    return found;
}
