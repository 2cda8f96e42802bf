#include "command/top/top_ranks.h"

#include "analysis/ranks/ranks.h"
#include "analysis/ranks/ranks_standing.h"
#include "cli/util/sort.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

static int by_job_and_rank(const void *a, const void *b)
{
    const struct top_rank *one = a, *other = b;
    int order = strcmp(one->steps->job, other->steps->job);
    order = order ? order : ORDER(one->steps->rank, other->steps->rank);
    return order ? order : ORDER(one->pid, other->pid);
}

static const struct top_step *find_step(const struct top_steps *steps, int64_t number)
{
    for (size_t i = 0; i < steps->sampled_count; i++)
        if (steps->sampled[i].number == number)
            return &steps->sampled[i];
    return NULL;
}

/* As a whole. */
static bool have_all(const struct top_rank *ranks, size_t count, int64_t number)
{
    for (size_t i = 0; i < count; i++) {
        const struct top_step *step = find_step(ranks[i].steps, number);
        if (!step || !step->is_whole)
            return false;
    }
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

/* Without collectives on GPUs, as with Gloo, a rank waits for others in its host's time. So does one whose
 * collectives are not captured. */
static bool all_communicate(const struct top_rank *ranks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!ranks[i].sampled->communication_ns)
            return false;
    return true;
}

/* How much of the exposed communication was for other ranks needs all collectives of all ranks, so that all
 * of it counts, as in `stat` for a step with a selection of spans. The late rank waits for nobody. So if the
 * others communicate for longer, it arrived later. */
static struct peer peer_of(const struct top_step *step, bool has_hosts)
{
    uint64_t host_ns = has_hosts ? step->host_ns : 0;
    uint64_t duration_ns = step->compute_ns + step->exposed_ns + step->copies_ns + step->idle_ns;
    return (struct peer){.own_ns = (double)ranks_own_time(duration_ns, step->exposed_ns, host_ns),
                         .late_ns = -(double)step->communication_ns};
}

static void compare_steps(struct top_rank *ranks, size_t count)
{
    struct peer *peers = xcalloc(count, sizeof *peers);
    double *scratch = xcalloc(count, sizeof *scratch);
    struct threshold threshold;
    bool has_hosts =
        true; /* a rank without it, such as one with a selection of spans, would be compared with more */
    for (size_t i = 0; i < count; i++)
        has_hosts &= ranks[i].sampled->host_ns != 0;
    for (size_t i = 0; i < count; i++)
        peers[i] = peer_of(ranks[i].sampled, has_hosts);
    size_t late = standing_compare(peers, count, &threshold, scratch);
    for (size_t i = 0; i < count; i++) {
        ranks[i].is_compared = true;
        ranks[i].is_late = i == late;
        ranks[i].delay_ns = (int64_t)peers[i].over_ns;
    }
    free(peers);
    free(scratch);
}

/* The ranks of one job. */
static void compare(struct top_rank *ranks, size_t count)
{
    const struct top_step *common = count > 1 ? latest_of_all(ranks, count) : NULL;
    for (size_t i = 0; i < count; i++) {
        const struct top_steps *steps = ranks[i].steps;
        ranks[i].sampled = common                 ? find_step(steps, common->number)
                           : steps->sampled_count ? steps->sampled
                                                  : NULL;
    }
    if (common && all_communicate(ranks, count))
        compare_steps(ranks, count);
}

static uint64_t step_time(const struct top_steps *steps)
{
    return steps->count ? steps->total_ns / steps->count : steps->last_ns;
}

size_t top_ranks_find(const struct top_poll *poll, struct top_rank **ranks)
{
    size_t found = 0, end;
    *ranks = xcalloc(poll->count, sizeof **ranks);
    for (size_t i = 0; i < poll->count; i++) {
        const struct top_agent *agent = &poll->agents[i];
        const struct top_steps *steps = &agent->figures.steps;
        if (agent->has_figures && steps->is_there)
            (*ranks)[found++] =
                (struct top_rank){.steps = steps, .pid = agent->pid, .step_ns = step_time(steps)};
    }
    sort_array(*ranks, found, sizeof **ranks, by_job_and_rank);
    for (size_t begin = 0; begin < found; begin = end) {
        for (end = begin + 1; end < found; end++)
            if (strcmp((*ranks)[begin].steps->job, (*ranks)[end].steps->job) != 0)
                break;
        compare(*ranks + begin, end - begin);
    }
    return found;
}
