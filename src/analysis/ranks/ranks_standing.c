#include "analysis/ranks/ranks_standing.h"

#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

#define LATE_MADS 3.0

void standing_deinit(struct standing *standing)
{
    struct ranks_series *all[] = {&standing->excess, &standing->compute,   &standing->copies,
                                  &standing->idle,   &standing->loader,    &standing->lateness,
                                  &standing->own,    &standing->peers_own, &standing->over};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ranks_series_deinit(all[i]);
    *standing = (struct standing){0};
}

/* Adds up each step's lateness over all communicators of its rank. */
static void sum_lateness(struct ranks *ranks)
{
    for (size_t i = 0; i < ranks->step_count; i++)
        ranks->steps[i].late_ns = 0;
    for (size_t i = 0; i < ranks->lateness_count; i++) {
        const struct lateness *lateness = &ranks->lateness[i];
        const struct communicator *communicator = &ranks->communicators[lateness->communicator];
        for (size_t j = 0; j < communicator->member_count && j < lateness->slots; j++) {
            struct rank_step *step = ranks_find_step(ranks, communicator->members[j].rank, lateness->step);
            if (!step)
                continue;
            step->late_ns += lateness->late_ns[j];
            step->has_late = true;
        }
    }
}

struct key {
    uint64_t job, role, number;
};

struct sorted {
    struct key key;
    struct rank_step *step;
};

static int compare_keys(const struct key *x, const struct key *y)
{
    if (x->job != y->job)
        return x->job < y->job ? -1 : 1;
    if (x->role != y->role)
        return x->role < y->role ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static int compare_sorted(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;
    int order = compare_keys(&x->key, &y->key);
    return order ? order : x->step->rank < y->step->rank ? -1 : x->step->rank > y->step->rank;
}

/* Returns all steps that count, in the order of their teams. */
static struct team steps_of(struct ranks *ranks)
{
    struct team all = {.steps = xcalloc(ranks->step_count + 1, sizeof *all.steps)};
    struct sorted *sorted = xcalloc(ranks->step_count + 1, sizeof *sorted);
    sum_lateness(ranks);
    for (size_t i = 0; i < ranks->step_count; i++) {
        struct rank_step *step = &ranks->steps[i];
        const struct process_rank *rank = &ranks->ranks[step->rank];
        if (step->partial == RANKS_WHOLE && step->has_late)
            sorted[all.count++] = (struct sorted){{rank->job, rank->role, step->step.number}, step};
    }
    if (all.count > 1)
        qsort(sorted, all.count, sizeof *sorted, compare_sorted);
    for (size_t i = 0; i < all.count; i++)
        all.steps[i] = sorted[i].step;
    free(sorted);
    return all;
}

static struct team team_at(const struct ranks *ranks, const struct team *all, size_t first)
{
    const struct process_rank *like = &ranks->ranks[all->steps[first]->rank];
    struct team team = {.steps = all->steps + first};
    while (first + team.count < all->count) {
        const struct process_rank *rank = &ranks->ranks[team.steps[team.count]->rank];
        if (rank->job != like->job || rank->role != like->role)
            break;
        team.count++;
    }
    return team;
}

void standing_each_team(struct ranks *ranks, struct ranks_report *report, size_t count,
                        void (*examine)(struct ranks *, struct ranks_report *, const struct team *,
                                        struct standing_work *))
{
    struct standing_work work = {xcalloc(ranks->rank_count + 1, sizeof *work.peers),
                                 xcalloc(ranks->rank_count + 1, sizeof *work.others),
                                 xcalloc(ranks->rank_count + 1, sizeof *work.scratch),
                                 xcalloc(count + 1, sizeof *work.standings), count};
    struct team all = steps_of(ranks);
    for (size_t at = 0; at < all.count;) {
        struct team team = team_at(ranks, &all, at);
        examine(ranks, report, &team, &work);
        at += team.count;
    }
    free(all.steps);
    free(work.peers);
    free(work.others);
    free(work.scratch);
    free(work.standings);
}

size_t standing_peers(const struct team *team, size_t first, struct peer *peers, size_t *count)
{
    size_t at = first;
    *count = 0;
    for (; at < team->count && team->steps[at]->step.number == team->steps[first]->step.number; at++)
        peers[(*count)++] = (struct peer){.rank = team->steps[at]->rank,
                                          .step = team->steps[at],
                                          .own_ns = ranks_own_ns(team->steps[at]),
                                          .late_ns = team->steps[at]->late_ns};
    return at;
}

/* Returns the median of one part of the peers' steps, without the peer at index `without`. */
static double others_median(const struct peer *peers, size_t count, size_t without, size_t offset,
                            double *scratch)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct ranks_parts parts = ranks_parts_of(peers[i].step);
        if (i != without)
            scratch[kept++] = (double)*(const uint64_t *)(const void *)((const char *)&parts + offset);
    }
    return ranks_median(scratch, kept);
}

static double excess_of(const struct peer *peers, size_t count, size_t of, size_t offset, double *scratch)
{
    struct ranks_parts parts = ranks_parts_of(peers[of].step);
    double own = (double)*(const uint64_t *)(const void *)((const char *)&parts + offset);
    return own - others_median(peers, count, of, offset, scratch);
}

struct threshold standing_threshold(const struct peer *peers, size_t count, size_t of, double *scratch)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (i != of)
            scratch[kept++] = peers[i].own_ns;
    struct threshold threshold = {.median_ns = ranks_median(scratch, kept)};
    threshold.second_ns = scratch[kept - 1];
    double share_ns = LATE_SHARE * threshold.median_ns;
    double mads_ns = LATE_MADS * ranks_mad(scratch, kept, threshold.median_ns);
    if (kept >= LATE_PEERS_MIN && share_ns > LATE_NS)
        share_ns = LATE_NS;
    threshold.limit_ns = mads_ns > share_ns ? mads_ns : share_ns;
    return threshold;
}

/* Returns the median of the sorted values without one of them. */
static double median_without(const double *sorted, size_t count, double value)
{
    size_t low = (count - 2) / 2, high = (count - 1) / 2;
    return (sorted[low + (value <= sorted[low])] + sorted[high + (value <= sorted[high])]) / 2;
}

size_t standing_compare(struct peer *peers, size_t count, struct threshold *threshold, double *scratch)
{
    size_t last = 0;
    for (size_t i = 0; i < count; i++) {
        last = peers[i].late_ns > peers[last].late_ns ? i : last;
        scratch[i] = peers[i].own_ns;
    }
    ranks_sort(scratch, count);
    for (size_t i = 0; i < count; i++)
        peers[i].over_ns = peers[i].own_ns - median_without(scratch, count, peers[i].own_ns);
    *threshold = standing_threshold(peers, count, last, scratch);
    return peers[last].over_ns > threshold->limit_ns ? last : count;
}

void standing_add_late(struct standing *standing, const struct peer *peers, size_t count, size_t of,
                       const struct threshold *threshold, double *scratch)
{
    const struct peer *peer = &peers[of];
    standing->late++;
    standing->late_ns += peer->over_ns;
    ranks_series_add(&standing->excess, peer->over_ns);
#define ADD_EXCESS(part)                                                                                     \
    ranks_series_add(&standing->part,                                                                        \
                     excess_of(peers, count, of, offsetof(struct ranks_parts, part##_ns), scratch))
    ADD_EXCESS(compute);
    ADD_EXCESS(copies);
    ADD_EXCESS(idle);
    ADD_EXCESS(loader);
#undef ADD_EXCESS
    if (peer->own_ns > threshold->second_ns) {
        standing->saving_ns += peer->own_ns - threshold->second_ns;
        standing->slowest++;
    }
    if (peer->over_ns > standing->worst_ns) {
        standing->worst_ns = peer->over_ns;
        standing->worst = peer->step;
    }
}

/* The causes in the order of the search: the first one with more than half of the delay is taken. */
static const struct {
    size_t part; /* series of struct standing */
    struct cause cause;
} causes[] = {
    {offsetof(struct standing, loader),
     {.is_work = true,
      .text = "it starts its steps late (data loading or other work of the host)",
      .advice = "give its data loader more workers or a faster disk, and move other work of this rank, such "
                "as logging, to a thread"}},
    {offsetof(struct standing, compute),
     {.is_work = true,
      .text = "its kernels take longer (a slower or shared GPU, or more work)",
      .advice = "check the GPU's clocks, power and temperature (nvidia-smi -q), other processes on it, and "
                "whether the rank has more work"}},
    {offsetof(struct standing, copies),
     {.is_work = true,
      .text = "its copies take longer",
      .advice = "check its PCIe link (nvidia-smi -q -d PCI), and whether its host memory is pinned and on "
                "the GPU's NUMA node"}},
    {offsetof(struct standing, idle),
     {.text = "its GPU idles during the step (the host is late with its launches)",
      .advice = "check other processes on its host, CPU clocks and affinity, and Python's garbage collection",
      .is_idle = true}},
};

struct cause standing_cause(struct standing *standing)
{
    double half = ranks_series_quantile(&standing->excess, 0.5) / 2;
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        struct ranks_series *part = (struct ranks_series *)(void *)((char *)standing + causes[i].part);
        if (ranks_series_quantile(part, 0.5) > half)
            return causes[i].cause;
    }
    return (struct cause){.text = "several parts of its steps take longer",
                          .advice = "compare its step with that of a neighbor (cuspan show)"};
}

char *ranks_describe(const struct ranks *ranks, uint32_t rank)
{
    const struct process_rank *process = &ranks->ranks[rank];
    if (!strcmp(process->gpu, RANKS_TEXT_NONE))
        return xasprintf("rank %u (%s)", process->number, ranks->hosts[process->host].name);
    return xasprintf("rank %u (%s, %s)", process->number, ranks->hosts[process->host].name, process->gpu);
}

void ranks_offer(struct ranks_report *report, const struct ranks_finding *finding)
{
    report->findings = xgrow(report->findings, &report->finding_capacity, report->finding_count + 1,
                             sizeof *report->findings);
    report->findings[report->finding_count++] = *finding;
}

void ranks_drop(struct ranks_report *report, const bool *drops)
{
    size_t kept = 0;
    for (size_t i = 0; i < report->finding_count; i++) {
        if (drops[i])
            free(report->findings[i].evidence);
        else
            report->findings[kept++] = report->findings[i];
    }
    report->finding_count = kept;
}
