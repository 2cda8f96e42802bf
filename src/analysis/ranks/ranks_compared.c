/* Lists the data that could not be compared. Without this list, "No findings" would also mean that nothing
 * was compared. */
#include "analysis/ranks/ranks.h"

#include "analysis/ranks/ranks_data.h"
#include "cli/util/text.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>

#define REPEATED_SHARE   0.5 /* of a rank's steps; more: its file was given twice, no batch was sent twice */
#define INCOMPLETE_SHARE 0.5 /* of the collectives; more: most of the ranks' common data are missing */

struct compared {
    uint64_t steps;       /* steps of one rank or more */
    uint64_t joint_steps; /* whole steps of two ranks or more */
};

static struct compared compared_of(const struct ranks_report *report, uint32_t job)
{
    struct compared compared = {0};
    for (size_t i = 0; i < report->step_count; i++) {
        const struct ranks_step_row *row = &report->steps[i];
        if (row->job != job || row->rank != RANKS_NONE)
            continue;
        compared.steps++;
        compared.joint_steps += row->partial == RANKS_WHOLE && row->rank_count > 1;
    }
    return compared;
}

static uint64_t collectives_of(const struct ranks_report *report, uint32_t job)
{
    uint64_t count = 0;
    for (size_t i = 0; i < report->collective_count; i++)
        if (report->collectives[i].job == job)
            count += report->collectives[i].count;
    return count;
}

/* Returns the numbers of the job's missing ranks, such as "2, 5, 7". The caller frees the text. */
static char *missing_ranks(const struct ranks *ranks, uint32_t job)
{
    uint32_t world = ranks->jobs[job].world, shown = 0;
    bool *is_there = xcalloc(world + 1, sizeof *is_there);
    struct text text = {0};
    for (size_t i = 0; i < ranks->rank_count; i++)
        if (ranks->ranks[i].job == job && ranks->ranks[i].number < world)
            is_there[ranks->ranks[i].number] = true;
    for (uint32_t i = 0; i < world; i++)
        if (!is_there[i] && shown++ < 8)
            text_add_format(&text, "%s%u", shown > 1 ? ", " : "", i);
    if (shown > 8)
        text_add_format(&text, " and %u more", shown - 8);
    free(is_there);
    return text.data ? text.data : xcalloc(1, 1);
}

/* Returns the number of repeated steps of ranks whose file was given twice. One such rank is enough to
 * prevent a comparison: its times are wrong, and it seems to be late. */
static uint64_t repeated_of(const struct ranks *ranks, uint32_t job)
{
    uint64_t repeated = 0;
    for (size_t i = 0; i < ranks->rank_count; i++) {
        const struct process_rank *rank = &ranks->ranks[i];
        if (rank->job == job && (double)rank->repeated >= REPEATED_SHARE * (double)rank->steps)
            repeated += rank->repeated;
    }
    return repeated;
}

/* Returns why the ranks of the job were not compared, a text that the caller frees; NULL: they were. */
static char *reason_of(const struct ranks *ranks, const struct ranks_report *report, uint32_t at)
{
    const struct job *job = &ranks->jobs[at];
    const struct ranks_losses *losses = &ranks->losses;
    struct compared compared = compared_of(report, at);
    uint64_t collectives = collectives_of(report, at);
    if (!compared.steps || (job->world < 2 && job->rank_count < 2 && !losses->incomplete))
        return NULL;
    uint64_t repeated = repeated_of(ranks, at);
    if (repeated)
        return xasprintf("%llu steps of ranks are there twice, so the same file was given more than once",
                         (unsigned long long)repeated);
    if (job->world > job->rank_count) {
        char *missing = missing_ranks(ranks, at);
        char *text = xasprintf("%u of %u ranks are there; missing: %s", job->rank_count, job->world, missing);
        free(missing);
        return text;
    }
    if (job->rank_count < 2)
        return xstrdup("one rank is there, and its collectives have more");
    if (losses->unreadable && !collectives)
        return xasprintf("the keys of %llu collectives cannot be read",
                         (unsigned long long)losses->unreadable);
    if (!compared.joint_steps)
        return xasprintf("none of %llu steps is whole and on several ranks",
                         (unsigned long long)compared.steps);
    if (!collectives && losses->ambiguous)
        return xasprintf("%llu collectives have a rank twice", (unsigned long long)losses->ambiguous);
    if (!collectives && losses->incomplete)
        return xasprintf("no collective has all of its ranks (%llu lack some)",
                         (unsigned long long)losses->incomplete);
    unsigned long long all = losses->incomplete + ranks->complete;
    if (ranks->job_count == 1 && (double)losses->incomplete > INCOMPLETE_SHARE * (double)all)
        return xasprintf("%llu of %llu collectives lack some of their ranks",
                         (unsigned long long)losses->incomplete, all);
    return collectives ? NULL : xstrdup("no collective is known on two ranks");
}

static void drop_others(struct ranks_report *report, uint32_t job)
{
    size_t kept = 0;
    for (size_t i = 0; i < report->finding_count; i++) {
        if (report->findings[i].job == job)
            free(report->findings[i].evidence);
        else
            report->findings[kept++] = report->findings[i];
    }
    report->finding_count = kept;
}

static const struct ranks_step_row *step_of(const struct ranks_report *report, uint32_t job)
{
    for (size_t i = 0; i < report->step_count; i++)
        if (report->steps[i].job == job)
            return &report->steps[i];
    return NULL;
}

static void offer(const struct ranks *ranks, struct ranks_report *report, uint32_t job, char *reason)
{
    const struct ranks_step_row *step = step_of(report, job);
    struct ranks_finding finding = {
        .kind = RANKS_NOT_COMPARED,
        .job = job,
        .rank = RANKS_NONE,
        .step = step ? step->number : 0,
        .advice = "give the files of all ranks of the same steps, each once; ranks sample the same steps if "
                  "they know their job",
    };
    for (int i = 0; step && i < RANKS_ID_BYTES; i++)
        finding.trace_id[i] = step->trace_id[i];
    (void)ranks;
    finding.evidence = xasprintf("the ranks were not compared: %s", reason);
    ranks_offer(report, &finding);
}

void ranks_find_not_compared(const struct ranks *ranks, struct ranks_report *report)
{
    for (uint32_t job = 0; job < ranks->job_count; job++) {
        char *reason = reason_of(ranks, report, job);
        if (!reason)
            continue;
        if (!collectives_of(report, job) || repeated_of(ranks, job))
            drop_others(report, job);
        offer(ranks, report, job, reason);
        free(reason);
    }
}
