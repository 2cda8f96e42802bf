/* Looks for findings about the job as a whole: exposed communication, imbalance, data loading, and data that
 * could not be compared. Without the last one, "No findings" would also mean that nothing was compared. */
#include "analysis/ranks/ranks_data.h"

#include "cli/util/sort.h"
#include "cli/util/text.h"
#include "cli/util/xalloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXPOSED_SHARE    0.1
#define IMBALANCE_SHARE  0.05
#define LOADER_SHARE     0.05
#define JOB_STEPS_MIN    3
#define STAGE_STEPS      0.5 /* share of all steps from which on the stage with the most work is named */
#define FOUND_STEPS      0.5 /* share of all steps that must show a finding about the job */
#define REPEATED_SHARE   0.5 /* of a rank's steps; more: its file was given twice, no batch was sent twice */
#define INCOMPLETE_SHARE 0.5 /* of the collectives; more: most of the ranks' common data are missing */

/* Facts about a step of all ranks, from consecutive rows of the report. */
struct step_facts {
    uint64_t number;
    double duration_ns;
    double exposed_min_ns; /* without waiting for other ranks */
    double imbalance_ns;   /* without stragglers */
    uint32_t heaviest;     /* stage whose ranks have the most work in the mean, without stragglers */
    uint32_t most;         /* the rank with the most work, without stragglers */
    double loader_ns;      /* median, without stragglers */
    struct ranks_id trace_id;
};

/* Whether a finding names the rank, or all ranks of its host. */
static bool is_straggler(const struct ranks *ranks, const struct ranks_report *report, uint32_t rank)
{
    const char *host = ranks->hosts[ranks->ranks[rank].host].name;
    for (size_t i = 0; i < report->finding_count; i++) {
        const struct ranks_finding *finding = &report->findings[i];
        if (finding->kind == RANKS_STRAGGLER && (finding->rank == rank || finding->host == host))
            return true;
    }
    return false;
}

struct spread {
    double most, total;
    size_t count;
};

static void add_to_spread(struct spread *spread, double value)
{
    spread->most = fmax(spread->most, value);
    spread->total += value;
    spread->count++;
}

static double above_mean(const struct spread *spread)
{
    return spread->count ? spread->most - spread->total / (double)spread->count : 0;
}

/* The own times of a stage's ranks, added up. */
struct stage_sum {
    double own_ns;
    size_t count;
};

/* Returns the stage with the largest mean; RANKS_NONE: none. Sets the sums to 0. */
static uint32_t heaviest_of(const struct ranks *ranks, struct stage_sum *stages)
{
    uint32_t result = RANKS_NONE;
    double most = -1;
    for (uint32_t i = 0; i < ranks->rank_count; i++) {
        double mean = stages[i].count ? stages[i].own_ns / (double)stages[i].count : -1;
        if (mean > most) {
            most = mean;
            result = i;
        }
        stages[i] = (struct stage_sum){0};
    }
    return result;
}

/* Returns the facts of a step. Work that a rank hides, for example because its host needs longer for its
 * launches, delays no rank. In a pipeline, idle time is mostly waiting, so own times cannot be compared. */
static struct step_facts facts_of(const struct ranks *ranks, const struct ranks_report *report,
                                  const struct ranks_step_row *rows, size_t count, double *scratch,
                                  struct stage_sum *stages)
{
    struct step_facts facts = {
        .number = rows->number, .exposed_min_ns = -1, .most = RANKS_NONE, .trace_id = rows->trace_id};
    struct spread work = {0}, own = {0};
    bool is_pipeline = false;
    size_t usual = 0;
    for (size_t i = 0; i < count; i++) {
        const struct ranks_parts *parts = &rows[i].parts;
        double exposed = (double)parts->exposed_ns - (double)rows[i].waiting_ns;
        facts.duration_ns += (double)parts->duration_ns / (double)count;
        if (facts.exposed_min_ns < 0 || exposed < facts.exposed_min_ns)
            facts.exposed_min_ns = exposed > 0 ? exposed : 0;
        if (is_straggler(ranks, report, rows[i].rank))
            continue;
        scratch[usual++] = (double)parts->loader_ns;
        /* Idle time is left out: it is mostly due to the host, or in a pipeline, spent waiting for another
         * stage. */
        double work_ns = (double)(parts->compute_ns + parts->copies_ns);
        struct stage_sum *stage = &stages[ranks->ranks[rows[i].rank].stage];
        stage->own_ns += work_ns;
        stage->count++;
        is_pipeline |= ranks->ranks[rows[i].rank].is_in_pipeline;
        facts.most = work_ns > work.most ? rows[i].rank : facts.most;
        add_to_spread(&work, work_ns);
        add_to_spread(&own, (double)rows[i].own_ns);
    }
    facts.imbalance_ns = is_pipeline ? above_mean(&work) : fmin(above_mean(&work), above_mean(&own));
    facts.loader_ns = sort_median(scratch, usual);
    facts.heaviest = heaviest_of(ranks, stages);
    return facts;
}

/* The sums of one kind of finding over the steps of a job. */
struct job_sum {
    enum ranks_finding_kind kind;
    double share_min; /* share of a step's duration from which on the step shows the finding */
    struct ranks_series saving, duration;
    uint64_t found, steps, worst_step;
    double worst_ns;
    struct ranks_id worst_id;
};

static void sum_step(struct job_sum *sum, const struct step_facts *facts, double saving_ns)
{
    ranks_series_add(&sum->saving, saving_ns);
    ranks_series_add(&sum->duration, facts->duration_ns);
    sum->steps++;
    sum->found += saving_ns >= sum->share_min * facts->duration_ns;
    if (saving_ns > sum->worst_ns || sum->steps == 1) {
        sum->worst_ns = saving_ns;
        sum->worst_step = facts->number;
        sum->worst_id = facts->trace_id;
    }
}

/* Returns the stage or rank that has the most work in most of the steps; RANKS_NONE: none. `steps` counts by
 * stage or rank. */
static uint32_t usual_one(const struct ranks *ranks, const uint64_t *steps, uint64_t count)
{
    for (uint32_t i = 0; i < ranks->rank_count; i++)
        if ((double)steps[i] > STAGE_STEPS * (double)count)
            return i;
    return RANKS_NONE;
}

/* Returns a text with the stage or rank that causes the imbalance, if it is known, which the caller frees.
 * `stages` and `heaviest` count the steps in which each has the most work. */
static char *describe_imbalance(const struct ranks *ranks, uint32_t job, const uint64_t *stages,
                                const uint64_t *heaviest, uint64_t count)
{
    const uint64_t *steps = stages;
    uint32_t stage = usual_one(ranks, stages, count);
    size_t members = 0;
    for (uint32_t i = 0; i < ranks->rank_count; i++)
        members += ranks->ranks[i].stage == stage;
    if (!members || members == ranks->jobs[job].rank_count) {
        steps = heaviest;
        stage = usual_one(ranks, heaviest, count);
        members = 1;
    }
    if (stage == RANKS_NONE)
        return xstrdup("the rank with the most work, not the same one each time, is above the mean of all");
    struct text text = {0};
    char *first = ranks_describe(ranks, stage);
    text_add_format(&text, "%s%s", members == 1 ? "" : "the pipeline stage of ", first);
    if (members > 1)
        text_add_format(&text, " and %zu other%s", members - 1, members == 2 ? "" : "s");
    text_add_format(&text, ", which has the most work in %llu of %llu steps, is above the mean of all",
                    (unsigned long long)steps[stage], (unsigned long long)count);
    free(first);
    return text.data;
}

/* Offers the finding, with the median over the steps as its saving, so that a single step cannot cause it.
 * Frees the sum's series. */
static void offer_sum(struct ranks_report *report, uint32_t job, struct job_sum *sum, const char *text,
                      const char *advice)
{
    double saving = ranks_series_quantile(&sum->saving, 0.5);
    double duration = ranks_series_quantile(&sum->duration, 0.5);
    ranks_series_deinit(&sum->saving);
    ranks_series_deinit(&sum->duration);
    if (sum->found < JOB_STEPS_MIN || (double)sum->found < FOUND_STEPS * (double)sum->steps ||
        saving < sum->share_min * duration)
        return;
    struct ranks_finding finding = {.kind = sum->kind,
                                    .job = job,
                                    .rank = RANKS_NONE,
                                    .steps = sum->found,
                                    .steps_seen = sum->steps,
                                    .delay_ns = saving,
                                    .saving_ns = saving,
                                    .saving_share = saving / duration,
                                    .step = sum->worst_step,
                                    .trace_id = sum->worst_id,
                                    .advice = advice};
    finding.evidence = xasprintf("%.2f ms of a step (%.1f %%), in %llu of %llu steps: %s", saving / 1e6,
                                 finding.saving_share * 100, (unsigned long long)sum->found,
                                 (unsigned long long)sum->steps, text);
    ranks_offer(report, &finding);
}

/* Looks for findings in the steps of one job, in the report's rows from `first` to `last`. */
static void find_in_one(const struct ranks *ranks, struct ranks_report *report, size_t first, size_t last)
{
    /* By rank, or by stage, whose number is that of a rank; the last two count the steps where it has the
     * most work. */
    double *scratch = xcalloc(ranks->rank_count + 1, sizeof *scratch);
    struct stage_sum *sums = xcalloc(ranks->rank_count + 1, sizeof *sums);
    uint64_t *stages = xcalloc(ranks->rank_count + 1, sizeof *stages);
    uint64_t *heaviest = xcalloc(ranks->rank_count + 1, sizeof *heaviest);
    struct job_sum exposed = {.kind = RANKS_EXPOSED, .share_min = EXPOSED_SHARE},
                   imbalance = {.kind = RANKS_IMBALANCE, .share_min = IMBALANCE_SHARE},
                   loader = {.kind = RANKS_DATA_LOADER, .share_min = LOADER_SHARE};
    uint32_t job = report->steps[first].job;
    for (size_t i = first, end; i < last; i = end + 1) {
        for (end = i; report->steps[end].rank != RANKS_NONE;)
            end++;
        if (report->steps[end].partial != RANKS_WHOLE || end - i < 2)
            continue;
        struct step_facts facts = facts_of(ranks, report, &report->steps[i], end - i, scratch, sums);
        if (facts.heaviest != RANKS_NONE)
            stages[facts.heaviest]++;
        if (facts.most != RANKS_NONE)
            heaviest[facts.most]++;
        sum_step(&exposed, &facts, facts.exposed_min_ns);
        sum_step(&imbalance, &facts, facts.imbalance_ns);
        sum_step(&loader, &facts, facts.loader_ns);
    }
    char *who = describe_imbalance(ranks, job, stages, heaviest, imbalance.steps);
    offer_sum(
        report, job, &exposed,
        "communication that no compute overlaps and that waits for no rank, on the rank with the least of it",
        "overlap it with compute (start it earlier, in other buckets), send less, or use a faster link");
    offer_sum(report, job, &imbalance, who,
              "give all ranks equal work: sort or pack samples by length, balance experts or stages");
    offer_sum(
        report, job, &loader, "from the start of the step to the first CUDA call, on the median rank",
        "load data beside the GPU's work: more workers, prefetching, pinned memory, asynchronous copies");
    void *arrays[] = {scratch, sums, stages, heaviest, who};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
}

void ranks_find_in_job(const struct ranks *ranks, struct ranks_report *report)
{
    for (size_t i = 0, end; i < report->step_count; i = end) {
        for (end = i; end < report->step_count && report->steps[end].job == report->steps[i].job;)
            end++;
        find_in_one(ranks, report, i, end);
    }
}

/* --- data that could not be compared --- */

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
    uint64_t steps = 0, joint_steps = 0; /* of one rank or more; whole ones of two ranks or more */
    uint64_t collectives = collectives_of(report, at);
    for (size_t i = 0; i < report->step_count; i++) {
        const struct ranks_step_row *row = &report->steps[i];
        bool is_mean = row->job == at && row->rank == RANKS_NONE;
        steps += is_mean;
        joint_steps += is_mean && row->partial == RANKS_WHOLE && row->rank_count > 1;
    }
    if (!steps || (job->world < 2 && job->rank_count < 2 && !losses->incomplete))
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
    if (!joint_steps)
        return xasprintf("none of %llu steps is whole and on several ranks", (unsigned long long)steps);
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

static void offer_not_compared(struct ranks_report *report, uint32_t job, const char *reason)
{
    const struct ranks_step_row *step = report->steps;
    while (step->job != job)
        step++;
    struct ranks_finding finding = {
        .kind = RANKS_NOT_COMPARED,
        .job = job,
        .rank = RANKS_NONE,
        .step = step->number,
        .trace_id = step->trace_id,
        .advice = "give the files of all ranks of the same steps, each once; ranks sample the same steps if "
                  "they know their job",
    };
    finding.evidence = xasprintf("the ranks were not compared: %s", reason);
    ranks_offer(report, &finding);
}

void ranks_find_not_compared(const struct ranks *ranks, struct ranks_report *report)
{
    for (uint32_t job = 0; job < ranks->job_count; job++) {
        char *reason = reason_of(ranks, report, job);
        if (!reason)
            continue;
        if (!collectives_of(report, job) || repeated_of(ranks, job)) {
            bool *drops = xcalloc(report->finding_count + 1, sizeof *drops);
            for (size_t i = 0; i < report->finding_count; i++)
                drops[i] = report->findings[i].job == job;
            ranks_drop(report, drops);
        }
        offer_not_compared(report, job, reason);
        free(reason);
    }
}
