/* Late hosts. If all ranks of a host are late, their peers' median is no measure: with two hosts, half of the
 * peers are late. So hosts are compared: a host is late in a step if three quarters of its ranks are above
 * the median of the ranks on other hosts. Also, if each rank of a host is a straggler on its own, as with one
 * rank of the host in each communicator, the host is named instead. */
#include "analysis/ranks/ranks_standing.h"
#include "cli/util/sort.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

#define HOST_RANKS_MIN 2
#define HOST_SHARE     0.75 /* share of a host's ranks that must be late */
#define BEYOND_HOST    2.0 /* a rank with more than this times its host's delay is not explained by the host */

static int compare_own(const void *a, const void *b)
{
    const struct peer *x = *(const struct peer *const *)a, *y = *(const struct peer *const *)b;
    return ORDER(x->own_ns, y->own_ns);
}

/* Sets `*low_ns` to the own time that three quarters of the host's ranks reach in the step. Fills
 * work->others with the ranks of other hosts, after the host's median rank, and returns how many they are
 * together; 0: there is nothing to compare. */
static size_t compare_host(const struct ranks *ranks, struct standing_work *work, uint32_t host,
                           double *low_ns)
{
    const struct peer **own = xcalloc(work->peer_count, sizeof *own);
    size_t owns = 0, others = 1;
    for (size_t i = 0; i < work->peer_count; i++) {
        if (ranks->ranks[work->peers[i].rank].host == host)
            own[owns++] = &work->peers[i];
        else
            work->others[others++] = work->peers[i];
    }
    bool is_comparable = owns >= HOST_RANKS_MIN && others > HOST_RANKS_MIN;
    if (is_comparable) {
        qsort(own, owns, sizeof *own, compare_own);
        work->others[0] = *own[owns / 2];
        *low_ns = own[(size_t)((1 - HOST_SHARE) * (double)owns)]->own_ns;
    }
    free(own);
    return is_comparable ? others : 0;
}

/* Adds one step to the hosts' standings. Only one host can be late in a step. */
static void add_step(const struct ranks *ranks, struct standing_work *work)
{
    uint32_t late = RANKS_NONE;
    double most_ns = 0, low_ns = 0;
    for (uint32_t host = 0; host < ranks->host_count; host++) {
        size_t others = compare_host(ranks, work, host, &low_ns);
        if (!others)
            continue;
        struct standing *standing = &work->standings[host];
        struct threshold threshold = standing_threshold(work->others, others, 0, work->scratch);
        standing->steps++;
        standing->duration_ns += (double)ranks_parts_of(work->others[0].step).duration_ns;
        if (low_ns - threshold.median_ns > threshold.limit_ns && low_ns - threshold.median_ns > most_ns) {
            most_ns = low_ns - threshold.median_ns;
            late = host;
        }
    }
    if (late == RANKS_NONE)
        return;
    size_t others = compare_host(ranks, work, late, &low_ns);
    struct threshold threshold = standing_threshold(work->others, others, 0, work->scratch);
    work->others[0].over_ns = work->others[0].own_ns - threshold.median_ns;
    threshold.second_ns = threshold.median_ns;
    standing_add_late(&work->standings[late], work->others, others, 0, &threshold, work->scratch);
}

/* Returns the numbers of the host's ranks in the job, such as "8 to 15" or "1, 3 and 2 more". The caller
 * frees the text. */
static char *numbers_of(const struct ranks *ranks, uint32_t job, uint32_t host, uint32_t *count)
{
    uint32_t first = RANKS_NONE, last = 0;
    *count = 0;
    for (size_t i = 0; i < ranks->rank_count; i++) {
        const struct process_rank *rank = &ranks->ranks[i];
        if (rank->job != job || rank->host != host)
            continue;
        first = rank->number < first ? rank->number : first;
        last = rank->number > last ? rank->number : last;
        ++*count;
    }
    return last - first + 1 == *count ? xasprintf("%u to %u", first, last)
                                      : xasprintf("from %u to %u", first, last);
}

static void offer(struct ranks *ranks, struct ranks_report *report, const struct ranks_finding *like,
                  uint32_t host, const char *cause)
{
    uint32_t count;
    char *numbers = numbers_of(ranks, like->job, host, &count);
    struct ranks_finding finding = *like;
    finding.rank = RANKS_NONE;
    finding.host = ranks->hosts[host].name;
    finding.evidence =
        xasprintf("host %s (all of its %u ranks, %s) was late in %llu of %llu steps, by %.2f ms "
                  "against the ranks of other hosts; %s",
                  finding.host, count, numbers, (unsigned long long)finding.steps,
                  (unsigned long long)finding.steps_seen, finding.delay_ns / 1e6, cause);
    free(numbers);
    ranks_offer(report, &finding);
}

/* Returns the finding that names the host; NULL: none. */
static const struct ranks_finding *named(const struct ranks_report *report, const char *host, uint32_t job)
{
    for (size_t i = 0; i < report->finding_count; i++)
        if (report->findings[i].host == host && report->findings[i].job == job)
            return &report->findings[i];
    return NULL;
}

static bool is_late(const struct standing_work *work, const struct ranks *ranks, uint32_t at)
{
    const struct standing *standing = &work->standings[at];
    uint64_t others = 0;
    if (standing->late < LATE_STEPS_MIN || (double)standing->late < LATE_STEPS * (double)standing->steps)
        return false;
    for (uint32_t i = 0; i < ranks->host_count; i++)
        others = i != at && work->standings[i].late > others ? work->standings[i].late : others;
    return standing->late >= LATE_OVER_EARLY * others;
}

static void examine(struct ranks *ranks, struct ranks_report *report, const struct team *team,
                    struct standing_work *work)
{
    uint32_t job = ranks->ranks[team->steps[0]->rank].job;
    for (size_t at = 0; standing_next(team, &at, work);)
        add_step(ranks, work);
    for (uint32_t host = 0; host < ranks->host_count; host++) {
        struct standing *standing = &work->standings[host];
        if (is_late(work, ranks, host) && !named(report, ranks->hosts[host].name, job)) {
            const char *cause;
            struct ranks_finding like = standing_finding(standing, &cause);
            like.job = job;
            offer(ranks, report, &like, host, cause);
        }
        standing_deinit(standing);
    }
}

/* If all of the host's ranks are stragglers, returns the finding with the largest saving among them; NULL:
 * they are not. */
static const struct ranks_finding *all_late(const struct ranks *ranks, const struct ranks_report *report,
                                            uint32_t job, uint32_t host)
{
    const struct ranks_finding *most = NULL;
    size_t late = 0, count = 0, others = 0;
    for (size_t i = 0; i < ranks->rank_count; i++) {
        count += ranks->ranks[i].job == job && ranks->ranks[i].host == host;
        others += ranks->ranks[i].job == job && ranks->ranks[i].host != host;
    }
    for (size_t i = 0; i < report->finding_count; i++) {
        const struct ranks_finding *finding = &report->findings[i];
        if (finding->kind != RANKS_STRAGGLER || finding->rank == RANKS_NONE || finding->job != job ||
            ranks->ranks[finding->rank].host != host)
            continue;
        late++;
        most = !most || finding->saving_ns > most->saving_ns ? finding : most;
    }
    return count >= HOST_RANKS_MIN && others && (double)late >= HOST_SHARE * (double)count ? most : NULL;
}

void ranks_find_late_hosts(struct ranks *ranks, struct ranks_report *report)
{
    if (ranks->host_count > 1)
        standing_each_team(ranks, report, ranks->host_count, examine);
    for (uint32_t job = 0; job < ranks->job_count; job++)
        for (uint32_t host = 0; host < ranks->host_count; host++) {
            const struct ranks_finding *most = all_late(ranks, report, job, host);
            if (most && !named(report, ranks->hosts[host].name, job))
                offer(ranks, report, most, host, strstr(most->evidence, "; ") + 2);
        }
    bool *drops = xcalloc(report->finding_count + 1, sizeof *drops);
    /* A late host explains the findings about its ranks. With few hosts, their peers may seem late or early
     * because of the host. A rank that is later by far has a cause of its own. */
    for (size_t i = 0; i < report->finding_count; i++) {
        const struct ranks_finding *finding = &report->findings[i];
        if (finding->rank == RANKS_NONE)
            continue;
        const char *name = ranks->hosts[ranks->ranks[finding->rank].host].name;
        const struct ranks_finding *host = named(report, name, finding->job);
        drops[i] = host && finding->delay_ns < BEYOND_HOST * host->delay_ns;
    }
    ranks_drop(report, drops);
}
