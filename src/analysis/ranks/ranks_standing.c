#include "analysis/ranks/ranks_standing.h"

#include "cli/util/sort.h"
#include "cli/util/xalloc.h"

#include <math.h>
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

struct sorted {
    uint64_t job, role;
    struct rank_step *step;
};

static int compare_sorted(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;
    int order = ORDER(x->job, y->job);
    order = order ? order : ORDER(x->role, y->role);
    order = order ? order : ORDER(x->step->step.number, y->step->step.number);
    return order ? order : ORDER(x->step->rank, y->step->rank);
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
            sorted[all.count++] = (struct sorted){rank->job, rank->role, step};
    }
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
    struct standing_work work = {.peers = xcalloc(ranks->rank_count + 1, sizeof *work.peers),
                                 .others = xcalloc(ranks->rank_count + 1, sizeof *work.others),
                                 .scratch = xcalloc(ranks->rank_count + 1, sizeof *work.scratch),
                                 .standings = xcalloc(count + 1, sizeof *work.standings),
                                 .count = count};
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

bool standing_next(const struct team *team, size_t *at, struct standing_work *work)
{
    for (work->peer_count = 0; *at < team->count && work->peer_count < 2;) {
        uint64_t number = team->steps[*at]->step.number;
        work->peer_count = 0;
        for (; *at < team->count && team->steps[*at]->step.number == number; ++*at)
            work->peers[work->peer_count++] = (struct peer){.rank = team->steps[*at]->rank,
                                                            .step = team->steps[*at],
                                                            .own_ns = ranks_own_ns(team->steps[*at]),
                                                            .late_ns = team->steps[*at]->late_ns};
    }
    return work->peer_count >= 2;
}

/* Returns by how much one part of the step of the peer at index `of` exceeds the median of the others. */
static double excess_of(const struct peer *peers, size_t count, size_t of, size_t offset, double *scratch)
{
    size_t kept = 0;
    double own = 0;
    for (size_t i = 0; i < count; i++) {
        struct ranks_parts parts = ranks_parts_of(peers[i].step);
        double part = (double)*(const uint64_t *)(const void *)((const char *)&parts + offset);
        if (i == of)
            own = part;
        else
            scratch[kept++] = part;
    }
    return own - sort_median(scratch, kept);
}

struct threshold standing_threshold(const struct peer *peers, size_t count, size_t of, double *scratch)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (i != of)
            scratch[kept++] = peers[i].own_ns;
    struct threshold threshold = {.median_ns = sort_median(scratch, kept)};
    threshold.second_ns = scratch[kept - 1];
    double share_ns = LATE_SHARE * threshold.median_ns;
    double mads_ns = LATE_MADS * sort_mad(scratch, kept, threshold.median_ns);
    if (kept >= LATE_PEERS_MIN)
        share_ns = fmin(share_ns, LATE_NS);
    threshold.limit_ns = fmax(mads_ns, share_ns);
    return threshold;
}

size_t standing_compare(struct peer *peers, size_t count, struct threshold *threshold, double *scratch)
{
    size_t last = 0;
    for (size_t i = 0; i < count; i++) {
        last = peers[i].late_ns > peers[last].late_ns ? i : last;
        scratch[i] = peers[i].own_ns;
    }
    sort_doubles(scratch, count);
    for (size_t i = 0; i < count; i++) { /* the median of the sorted values without this one */
        const double *low = &scratch[(count - 2) / 2], *high = &scratch[(count - 1) / 2];
        double own = peers[i].own_ns;
        peers[i].over_ns = own - (low[own <= *low] + high[own <= *high]) / 2;
    }
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

struct ranks_finding standing_finding(struct standing *standing, const char **cause)
{
    double excess = ranks_series_quantile(&standing->excess, 0.5);
    double steps = (double)standing->steps;
    struct ranks_finding finding = {.kind = RANKS_STRAGGLER,
                                    .is_work = true,
                                    .steps = standing->late,
                                    .steps_seen = standing->steps,
                                    .delay_ns = excess,
                                    .saving_ns = standing->saving_ns / steps,
                                    .saving_share = standing->saving_ns / standing->duration_ns,
                                    .step = standing->worst->step.number,
                                    .trace_id = standing->worst->step.trace_id};
    /* The cause is the first part with more than half of the delay. */
    if (ranks_series_quantile(&standing->loader, 0.5) > excess / 2) {
        *cause = "it starts its steps late (data loading or other work of the host)";
        finding.advice = "give its data loader more workers or a faster disk, and move other work of this "
                         "rank, such as logging, to a thread";
    } else if (ranks_series_quantile(&standing->compute, 0.5) > excess / 2) {
        *cause = "its kernels take longer (a slower or shared GPU, or more work)";
        finding.advice = "check the GPU's clocks, power and temperature (nvidia-smi -q), other processes on "
                         "it, and whether the rank has more work";
    } else if (ranks_series_quantile(&standing->copies, 0.5) > excess / 2) {
        *cause = "its copies take longer";
        finding.advice = "check its PCIe link (nvidia-smi -q -d PCI), and whether its host memory is pinned "
                         "and on the GPU's NUMA node";
    } else {
        finding.is_work = false;
        finding.is_idle = ranks_series_quantile(&standing->idle, 0.5) > excess / 2;
        *cause = finding.is_idle ? "its GPU idles during the step (the host is late with its launches)"
                                 : "several parts of its steps take longer";
        finding.advice = finding.is_idle ? "check other processes on its host, CPU clocks and affinity, and "
                                           "Python's garbage collection"
                                         : "compare its step with that of a neighbor (cuspan show)";
    }
    return finding;
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
    *XADD(report->findings, report->finding_count, report->finding_capacity) = *finding;
}

void ranks_drop(struct ranks_report *report, bool *drops)
{
    size_t kept = 0;
    for (size_t i = 0; i < report->finding_count; i++) {
        if (drops[i])
            free(report->findings[i].evidence);
        else
            report->findings[kept++] = report->findings[i];
    }
    report->finding_count = kept;
    free(drops);
}
