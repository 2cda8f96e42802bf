/* Looks for stragglers: ranks for which the others wait because their own work takes longer.
 *
 * Ranks of a job with the same role are compared, one step at a time. In a step, only the rank that arrived
 * last on the whole can be the late one, unless it is above its peers in nearly all steps. It is late if its
 * own time, which is the step's duration without waiting and transfers, is above that of its peers. A rank
 * that only inherits lateness from another communicator waits there, so that its own time is not longer. In a
 * pipeline it may wait before it asks for the data. */
#include "analysis/ranks/ranks_standing.h"
#include "cli/util/sort.h"
#include "cli/util/xalloc.h"

#include <math.h>
#include <stdlib.h>

#define OUTLIER_MADS     4.5    /* limit of a step in the mean, in MADs: 3 standard deviations */
#define MEAN_DEVIATIONS  4.5    /* standard deviations of a mean: chance has one such rank in 300,000 */
#define MEAN_STEPS       0.2    /* share of all steps that must be late if the mean decides */
#define MAD_DEVIATION    1.4826 /* standard deviation divided by the MAD, of a normal distribution */
#define ALWAYS_STEPS     0.8    /* share of all steps in which such a rank is late */
#define ALWAYS_STEPS_MIN 5
#define SLOWEST_STEPS    0.1 /* share of its late steps: with less, the others wait for a slower rank */
#define DELAY_ROUNDS     20
#define INHERITED_SHARE  0.5  /* share of an inherited delay that its cause must have at least */
#define PASSED_ON_SHARE  0.5  /* share of the cause's delay that a finding in another pipeline has at most */
#define PASSED_ON_SAVING 0.25 /* the same for its saving */
#define SURE_STEPS       0.75 /* share of all steps from which on a rank is not late by chance */
#define SURE_DEVIATIONS  4.0  /* deviations of single steps that are needed with fewer late steps */
#define NOISE_RANKS_MIN  4    /* ranks for a median that shows how much they differ by chance */
#define RARE_STEPS       0.1  /* least share of late steps, late by much, as in garbage collections */
#define RARE_SHARE       0.05 /* share of the peers' own time by which it must be late */
#define RARE_CHANCE      16.0 /* one job in this many has such a rank by chance, if no other is late */
#define ROUNDING         1e-6 /* of shares of steps */
#define RARE_OVER_OTHERS 3    /* times as often late as any other rank is by half as much */
/* A lower limit than LATE_OVER_EARLY applies if the late steps cost much more time than the early ones:
 * another rank was late first. */
#define LATE_OVER_EARLY_MIN 2
#define LATE_OVER_EARLY_NS  8.0

static void add_step(struct standing_work *work)
{
    struct standing *standings = work->standings;
    struct peer *peers = work->peers;
    double *scratch = work->scratch;
    size_t count = work->peer_count;
    struct threshold threshold;
    size_t quickest = 0, late = standing_compare(peers, count, &threshold, scratch);
    for (size_t i = 0; i < count; i++) {
        struct standing *standing = &standings[peers[i].rank];
        peers[i].step->has_delay = true;
        peers[i].step->is_late = i == late;
        peers[i].step->delay_ns = peers[i].over_ns;
        standing->steps++;
        standing->lateness_total_ns += peers[i].late_ns;
        standing->duration_ns += (double)ranks_parts_of(peers[i].step).duration_ns;
        standing->own_ns += peers[i].own_ns;
        ranks_series_add(&standing->lateness, peers[i].late_ns);
        ranks_series_add(&standing->own, peers[i].own_ns);
        ranks_series_add(&standing->peers_own, peers[i].own_ns - peers[i].over_ns);
        ranks_series_add(&standing->over, peers[i].over_ns);
        quickest = peers[i].own_ns < peers[quickest].own_ns ? i : quickest;
    }
    if (late < count)
        standing_add_late(&standings[peers[late].rank], peers, count, late, &threshold, scratch);
    threshold = standing_threshold(peers, count, quickest, scratch);
    if (-peers[quickest].over_ns > threshold.limit_ns) {
        standings[peers[quickest].rank].early++;
        standings[peers[quickest].rank].early_ns -= peers[quickest].over_ns;
    }
    for (size_t i = 0; i < count; i++)
        scratch[i] = peers[i].own_ns;
    double middle_ns = sort_median(scratch, count);
    double usual_ns = OUTLIER_MADS * sort_mad(scratch, count, middle_ns);
    for (size_t i = 0; i < count; i++) {
        double over = fmax(fmin(peers[i].over_ns, usual_ns), -usual_ns);
        standings[peers[i].rank].over_ns += over;
        standings[peers[i].rank].over_squares += over * over;
    }
}

static double half_spread(const struct ranks_sample *sorted, size_t count)
{
    return count ? (sorted[(count - 1) * 3 / 4].value - sorted[(count - 1) / 4].value) / 2 : 0;
}

/* Returns the spread of the larger part of the values, which are split where two neighbors differ the most.
 */
static double spread_of_part(struct ranks_series *series)
{
    const struct ranks_sample *items = series->items;
    size_t split = 0;
    (void)ranks_series_quantile(series, 1); /* sorts it */
    for (size_t i = 1; i < series->count; i++)
        if (!split || items[i].value - items[i - 1].value > items[split].value - items[split - 1].value)
            split = i;
    return 2 * split > series->count ? half_spread(items, split)
                                     : half_spread(items + split, series->count - split);
}

/* Returns by how much single steps of a rank differ from its peers by chance, as the median over the ranks.
 * With two or three ranks, all differ from their peers in the steps where one is late. */
static double noise_of(struct standing *standings, size_t count, double *scratch)
{
    size_t kept = 0, team = 0;
    for (size_t i = 0; i < count; i++)
        team += standings[i].steps > 0;
    for (size_t i = 0; i < count; i++) {
        struct ranks_series *over = &standings[i].over;
        if (standings[i].steps)
            scratch[kept++] =
                team < NOISE_RANKS_MIN
                    ? spread_of_part(over)
                    : (ranks_series_quantile(over, 0.75) - ranks_series_quantile(over, 0.25)) / 2;
    }
    return MAD_DEVIATION * sort_median(scratch, kept);
}

/* Whether the rank is late often, and by more than chance. One that is late in some steps only must be late
 * by more than the noise. */
static bool is_often_late(struct standing *standing, double noise_ns)
{
    uint64_t late = standing->late, early = standing->early;
    uint64_t late_min = standing->steps < LATE_STEPS_MIN ? standing->steps : LATE_STEPS_MIN;
    double share = standing->is_late_on_average ? MEAN_STEPS : LATE_STEPS;
    bool is_late_more =
        late >= LATE_OVER_EARLY * early ||
        (late >= LATE_OVER_EARLY_MIN * early && standing->late_ns >= LATE_OVER_EARLY_NS * standing->early_ns);
    if (standing->is_always_late)
        return true;
    return late && late >= late_min && (double)late >= share * (double)standing->steps && is_late_more &&
           (standing->is_late_on_average || (double)late >= SURE_STEPS * (double)standing->steps ||
            ranks_series_quantile(&standing->excess, 0.5) > SURE_DEVIATIONS * noise_ns);
}

/* Returns the rank's delay in its late steps, which are those above half of that delay. The search starts
 * with the delay of a rank that is late half of the time. */
static double typical_delay(struct standing *standing, double *late_share)
{
    struct ranks_series *over = &standing->over;
    double delay = 2 * standing->over_ns / (double)standing->steps, before = 0;
    size_t first = 0;
    (void)ranks_series_quantile(over, 1); /* sorts it */
    for (int i = 0; i < DELAY_ROUNDS && delay != before; i++) {
        before = delay;
        for (first = over->count - 1; first && over->items[first - 1].value > delay / 2;)
            first--;
        size_t low = first + (over->count - 1 - first) / 2, high = first + (over->count - first) / 2;
        delay = (over->items[low].value + over->items[high].value) / 2;
    }
    *late_share = (double)(over->count - first) / (double)over->count;
    return delay;
}

static void offer_straggler(const struct ranks *ranks, struct ranks_report *report, uint32_t rank,
                            struct standing *standing)
{
    const char *cause;
    char *who = ranks_describe(ranks, rank);
    struct ranks_finding finding = standing_finding(standing, &cause);
    double share, typical = typical_delay(standing, &share);
    finding.job = ranks->ranks[rank].job;
    finding.rank = rank;
    /* In the steps that count as late, noise mostly adds to the delay; but if these are few, the other steps
     * tell nothing about it. */
    if ((double)standing->late >= LATE_STEPS * (double)standing->steps && typical > 0)
        finding.delay_ns = fmin(typical, finding.delay_ns);
    finding.evidence = xasprintf("%s was late in %llu of %llu steps, by %.2f ms against its peers; %s", who,
                                 (unsigned long long)standing->late, (unsigned long long)standing->steps,
                                 finding.delay_ns / 1e6, cause);
    free(who);
    ranks_offer(report, &finding);
}

/* Counts the late steps of a rank again: those where it is above `least_ns`, whether it arrived last or not.
 */
static void add_late_steps(const struct team *team, uint32_t rank, double least_ns,
                           struct standing_work *work)
{
    struct standing *standing = &work->standings[rank];
    struct ranks_series *late[] = {&standing->excess, &standing->compute, &standing->copies, &standing->idle,
                                   &standing->loader};
    for (size_t i = 0; i < sizeof late / sizeof *late; i++)
        ranks_series_deinit(late[i]);
    standing->late = standing->slowest = 0;
    standing->late_ns = 0;
    standing->saving_ns = standing->worst_ns = 0;
    for (size_t at = 0; standing_next(team, &at, work);) {
        size_t of = 0, count = work->peer_count;
        while (of < count && work->peers[of].rank != rank)
            of++;
        if (of == count)
            continue;
        struct threshold threshold = standing_threshold(work->peers, count, of, work->scratch);
        work->peers[of].over_ns = work->peers[of].own_ns - threshold.median_ns;
        if (work->peers[of].over_ns > least_ns)
            standing_add_late(standing, work->peers, count, of, &threshold, work->scratch);
    }
}

/* The distribution of the ranks' means of `over`. Its deviation is that of the ranks or that of the steps,
 * whichever is larger: both are estimates, and the ranks may differ permanently. */
struct means {
    size_t ranks;
    double median_ns, deviation_ns, own_ns;
};

static struct means means_of(const struct standing *standings, size_t count, double *scratch)
{
    struct means means = {0};
    double squares = 0, steps = 0;
    for (size_t i = 0; i < count; i++) {
        const struct standing *standing = &standings[i];
        if (!standing->steps)
            continue;
        scratch[means.ranks++] = standing->over_ns / (double)standing->steps;
        squares += standing->over_squares;
        steps += (double)standing->steps;
        means.own_ns += standing->own_ns;
    }
    if (!means.ranks)
        return means;
    means.own_ns /= steps;
    means.median_ns = sort_median(scratch, means.ranks);
    means.deviation_ns = fmax(MAD_DEVIATION * sort_mad(scratch, means.ranks, means.median_ns),
                              sqrt(squares / steps / (steps / (double)means.ranks)));
    return means;
}

/* Finds ranks that are late on average, if ranks differ too much in single steps. */
static void find_late_on_average(const struct team *team, struct standing_work *work, double noise_ns)
{
    struct means means = means_of(work->standings, work->count, work->scratch);
    double share_ns = fmin(LATE_SHARE * means.own_ns, LATE_NS);
    for (size_t i = 0; means.ranks > LATE_PEERS_MIN && i < work->count; i++) {
        struct standing *standing = &work->standings[i];
        double late_share = 0, mean_ns = standing->steps ? standing->over_ns / (double)standing->steps : 0;
        if (is_often_late(standing, noise_ns) || standing->lateness_total_ns <= 0 ||
            mean_ns - means.median_ns <= MEAN_DEVIATIONS * means.deviation_ns)
            continue;
        double delay = typical_delay(standing, &late_share);
        standing->is_late_on_average = delay > share_ns && late_share >= MEAN_STEPS;
        if (standing->is_late_on_average)
            add_late_steps(team, (uint32_t)i, delay / 2, work);
    }
}

/* Returns the share of the steps in which the rank is late by at least `least_ns`; `sign` -1: early. */
static double share_above(const struct ranks_series *over, double least_ns, int sign)
{
    size_t above = 0;
    for (size_t i = 0; i < over->count; i++)
        above += sign * over->items[i].value > least_ns;
    return over->count ? (double)above / (double)over->count : 0;
}

/* Returns half of the delay in the steps where the rank is late by more than `least_ns`. Smaller delays have
 * other causes, such as the noise of single steps. */
static double rare_limit(struct standing *standing, double least_ns)
{
    const struct ranks_series *over = &standing->over;
    size_t first = over->count;
    (void)ranks_series_quantile(&standing->over, 1); /* sorts it */
    while (first && over->items[first - 1].value > least_ns)
        first--;
    return first < over->count ? fmax(least_ns, over->items[(first + over->count) / 2].value / 2) : least_ns;
}

/* Returns one job in how many would have so many late steps on the same rank, if late steps fell on ranks by
 * chance. `others` is the number of late steps of the other ranks. */
static double jobs_by_chance(double ranks, double late, double others)
{
    double log_choices = lgamma(late + others + 1) - lgamma(late + 1) - lgamma(others + 1);
    return exp((late - 1) * log(ranks) - log_choices);
}

/* Whether the rank is late rarely, but by much, compared with all ranks of the job, because few ranks may do
 * the same work. The more often others are late, the more certain it must be, because ranks are then late in
 * turn. */
static bool is_rarely_late(const struct ranks *ranks, const struct standing *standing, size_t at,
                           double limit_ns)
{
    uint32_t job = ranks->ranks[at].job;
    double share = share_above(&standing->over, limit_ns, 1), late = share * (double)standing->steps,
           others = 0;
    bool is_late = share >= RARE_STEPS && late >= LATE_STEPS_MIN &&
                   share >= LATE_OVER_EARLY * share_above(&standing->over, limit_ns, -1);
    for (size_t i = 0; is_late && i < ranks->rank_count; i++) {
        if (i == at || ranks->ranks[i].job != job)
            continue;
        double other_share = share_above(&ranks->ranks[i].over, limit_ns, 1);
        others += other_share * (double)ranks->ranks[i].over.count;
        is_late = share > RARE_OVER_OTHERS * other_share - ROUNDING;
    }
    return is_late && jobs_by_chance((double)ranks->jobs[job].rank_count, late, others) >=
                          RARE_CHANCE * fmax(1, others) * (1 - ROUNDING);
}

/* Finds ranks that are late in few steps, but by much, and that no other one resembles: one that collects
 * garbage or writes a log in each tenth step. Others may be late by less in as many steps. */
static void find_rarely_late(const struct ranks *ranks, const struct team *team, struct standing_work *work,
                             double noise_ns)
{
    double least_ns = 0;
    for (size_t i = 0; i < work->count; i++)
        least_ns = fmax(least_ns, RARE_SHARE * ranks_series_quantile(&work->standings[i].peers_own, 0.5));
    least_ns = fmax(least_ns, SURE_DEVIATIONS * noise_ns);
    for (size_t i = 0; i < work->count; i++) {
        struct standing *standing = &work->standings[i];
        double limit_ns = rare_limit(standing, least_ns);
        if (!is_rarely_late(ranks, standing, i, limit_ns) || is_often_late(standing, noise_ns))
            continue;
        standing->is_rarely_late = true;
        add_late_steps(team, (uint32_t)i, limit_ns, work);
    }
}

/* Finds ranks that are late in nearly all steps. Such a constant delay is not chance, even if few
 * peers differ by as much. */
static void find_always_late(const struct team *team, struct standing_work *work)
{
    for (size_t i = 0; i < work->count; i++) {
        struct standing *standing = &work->standings[i];
        double least_ns = fmin(LATE_SHARE * ranks_series_quantile(&standing->peers_own, 0.5), LATE_NS);
        if (standing->steps < ALWAYS_STEPS_MIN || standing->lateness_total_ns <= 0 ||
            share_above(&standing->over, least_ns, 1) < ALWAYS_STEPS)
            continue;
        add_late_steps(team, (uint32_t)i, least_ns, work);
        standing->is_always_late = true;
    }
}

/* Notes the delays of all ranks in all steps. */
static void note_delays(struct ranks *ranks, struct ranks_report *report, const struct team *team,
                        struct standing_work *work)
{
    struct threshold threshold;
    for (size_t at = 0; standing_next(team, &at, work);) {
        (void)standing_compare(work->peers, work->peer_count, &threshold, work->scratch);
        for (size_t i = 0; i < work->peer_count; i++)
            ranks_series_add(&ranks->ranks[work->peers[i].rank].over, work->peers[i].over_ns);
    }
}

static void examine(struct ranks *ranks, struct ranks_report *report, const struct team *team,
                    struct standing_work *work)
{
    for (size_t at = 0; standing_next(team, &at, work);)
        add_step(work);
    double noise_ns = noise_of(work->standings, work->count, work->scratch);
    find_always_late(team, work);
    find_late_on_average(team, work, noise_ns);
    find_rarely_late(ranks, team, work, noise_ns);
    for (size_t i = 0; i < work->count; i++) {
        struct standing *standing = &work->standings[i];
        if (!standing->steps)
            continue;
        struct ranks_rank_row *row = &report->ranks[i];
        row->steps = standing->steps;
        row->lateness_ns = ranks_series_quantile(&standing->lateness, 0.5);
        row->lateness_total_ns = standing->lateness_total_ns;
        row->own_ns = ranks_series_quantile(&standing->own, 0.5);
        row->peers_own_ns = ranks_series_quantile(&standing->peers_own, 0.5);
        row->delay_ns = ranks_series_quantile(&standing->over, 0.5);
        row->score = row->own_ns > 0 ? row->peers_own_ns / row->own_ns : 1;
        bool is_late = is_often_late(standing, noise_ns) || standing->is_rarely_late;
        if (is_late && (double)standing->slowest >= SLOWEST_STEPS * (double)standing->late)
            offer_straggler(ranks, report, (uint32_t)i, standing);
        standing_deinit(standing);
    }
}

/* Whether the finding `other` explains `finding`, whose rank does no more work than its peers. `other` is a
 * straggler of the same pipeline whose own work takes longer, or if no rank's does, one that is later. Tensor
 * parallelism passes on the lateness to other pipelines, where less of it arrives. */
static bool explains(const struct ranks *ranks, const struct ranks_finding *other,
                     const struct ranks_finding *finding)
{
    const struct process_rank *cause = &ranks->ranks[other->rank], *rank = &ranks->ranks[finding->rank];
    if (cause->job != rank->job)
        return false;
    if (cause->pipeline == rank->pipeline)
        return (other->is_work || other->delay_ns > finding->delay_ns) &&
               other->delay_ns > INHERITED_SHARE * finding->delay_ns;
    return cause->is_in_pipeline && rank->is_in_pipeline && other->is_work &&
           (finding->delay_ns < PASSED_ON_SHARE * other->delay_ns ||
            finding->saving_ns < PASSED_ON_SAVING * other->saving_ns);
}

void ranks_find_stragglers(struct ranks *ranks, struct ranks_report *report)
{
    report->ranks = xcalloc(ranks->rank_count + 1, sizeof *report->ranks);
    report->rank_count = ranks->rank_count;
    for (size_t i = 0; i < ranks->rank_count; i++) {
        const struct process_rank *rank = &ranks->ranks[i];
        report->ranks[i] = (struct ranks_rank_row){.rank = (uint32_t)i,
                                                   .number = rank->number,
                                                   .job = rank->job,
                                                   .host = ranks->hosts[rank->host].name,
                                                   .gpu = rank->gpu,
                                                   .score = 1,
                                                   .last_count = rank->last_count,
                                                   .instance_count = rank->instance_count,
                                                   .step_shift = rank->shift};
    }
    standing_each_team(ranks, report, ranks->rank_count, note_delays);
    standing_each_team(ranks, report, ranks->rank_count, examine);
    for (size_t i = 0; i < ranks->rank_count; i++)
        ranks_series_deinit(&ranks->ranks[i].over);
    bool *drops = xcalloc(report->finding_count + 1, sizeof *drops);
    for (size_t i = 0; i < report->finding_count; i++)
        for (size_t j = 0; !report->findings[i].is_work && j < report->finding_count; j++)
            drops[i] |= i != j && explains(ranks, &report->findings[j], &report->findings[i]);
    ranks_drop(report, drops);
}
