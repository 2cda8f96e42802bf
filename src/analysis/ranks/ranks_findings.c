/* Looks for findings about the job as a whole: exposed communication, imbalance, data loading. */
#include "analysis/ranks/ranks.h"

#include "analysis/ranks/ranks_data.h"
#include "cli/util/xalloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXPOSED_SHARE   0.1
#define IMBALANCE_SHARE 0.05
#define LOADER_SHARE    0.05
#define JOB_STEPS_MIN   3
#define STAGE_STEPS     0.5 /* share of all steps from which on the stage with the most work is named */
#define FOUND_STEPS     0.5 /* share of all steps that must show a finding about the job */

/* Facts about a step of all ranks, from consecutive rows of the report. */
struct step_facts {
    uint64_t number;
    double duration_ns;
    double exposed_min_ns; /* without waiting for other ranks */
    double imbalance_ns;   /* without stragglers */
    uint32_t heaviest;     /* stage whose ranks have the most work in the mean, without stragglers */
    uint32_t most;         /* the rank with the most work, without stragglers */
    double loader_ns;      /* median, without stragglers */
    const uint8_t *trace_id;
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

/* Returns the rank's work on the GPU, in ns. Idle time is left out: it is mostly due to the host, or in a
 * pipeline, spent waiting for another stage. */
static double work_of(const struct ranks_step_row *row)
{
    return (double)(row->parts.compute_ns + row->parts.copies_ns);
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

static void add_to_stage(const struct ranks *ranks, struct stage_sum *stages,
                         const struct ranks_step_row *row)
{
    struct stage_sum *sum = &stages[ranks->ranks[row->rank].stage];
    sum->own_ns += work_of(row);
    sum->count++;
}

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
        add_to_stage(ranks, stages, &rows[i]);
        is_pipeline |= ranks->ranks[rows[i].rank].is_in_pipeline;
        facts.most = work_of(&rows[i]) > work.most ? rows[i].rank : facts.most;
        add_to_spread(&work, work_of(&rows[i]));
        add_to_spread(&own, (double)rows[i].own_ns);
    }
    facts.imbalance_ns = is_pipeline ? above_mean(&work) : fmin(above_mean(&work), above_mean(&own));
    facts.loader_ns = ranks_median(scratch, usual);
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
    const uint8_t *worst_id;
};

static void sum_step(struct job_sum *sum, const struct step_facts *facts, double saving_ns)
{
    ranks_series_add(&sum->saving, saving_ns);
    ranks_series_add(&sum->duration, facts->duration_ns);
    sum->steps++;
    sum->found += saving_ns >= sum->share_min * facts->duration_ns;
    if (saving_ns > sum->worst_ns || !sum->worst_id) {
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
    char *first = ranks_describe(ranks, stage);
    char *who = members == 1 ? xasprintf("%s", first)
                             : xasprintf("the pipeline stage of %s and %zu other%s", first, members - 1,
                                         members == 2 ? "" : "s");
    char *text = xasprintf("%s, which has the most work in %llu of %llu steps, is above the mean of all", who,
                           (unsigned long long)steps[stage], (unsigned long long)count);
    free(first);
    free(who);
    return text;
}

/* Offers the finding, with the median over the steps as its saving, so that a single step cannot cause it. */
static void offer_sum(struct ranks_report *report, uint32_t job, struct job_sum *sum, const char *text,
                      const char *advice)
{
    double saving = ranks_series_quantile(&sum->saving, 0.5);
    double duration = ranks_series_quantile(&sum->duration, 0.5);
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
                                    .advice = advice};
    memcpy(finding.trace_id, sum->worst_id, RANKS_ID_BYTES);
    finding.evidence = xasprintf("%.2f ms of a step (%.1f %%), in %llu of %llu steps: %s", saving / 1e6,
                                 finding.saving_share * 100, (unsigned long long)sum->found,
                                 (unsigned long long)sum->steps, text);
    ranks_offer(report, &finding);
}

/* Memory for one job, by rank, or by stage, whose number is that of a rank. */
struct job_work {
    double *scratch;
    struct stage_sum *sums;
    uint64_t *stages, *heaviest; /* steps where the stage or rank has the most work */
};

/* Looks for findings in the steps of one job, in the report's rows from `first` to `last`. `work` must be
 * zeroed. */
static void find_in_one(const struct ranks *ranks, struct ranks_report *report, size_t first, size_t last,
                        const struct job_work *work)
{
    struct job_sum exposed = {.kind = RANKS_EXPOSED, .share_min = EXPOSED_SHARE},
                   imbalance = {.kind = RANKS_IMBALANCE, .share_min = IMBALANCE_SHARE},
                   loader = {.kind = RANKS_DATA_LOADER, .share_min = LOADER_SHARE};
    uint32_t job = first < last ? report->steps[first].job : 0;
    for (size_t i = first, end; i < last; i = end + 1) {
        for (end = i; report->steps[end].rank != RANKS_NONE;)
            end++;
        if (report->steps[end].partial != RANKS_WHOLE || end - i < 2)
            continue;
        struct step_facts facts =
            facts_of(ranks, report, &report->steps[i], end - i, work->scratch, work->sums);
        if (facts.heaviest != RANKS_NONE)
            work->stages[facts.heaviest]++;
        if (facts.most != RANKS_NONE)
            work->heaviest[facts.most]++;
        sum_step(&exposed, &facts, facts.exposed_min_ns);
        sum_step(&imbalance, &facts, facts.imbalance_ns);
        sum_step(&loader, &facts, facts.loader_ns);
    }
    char *who = describe_imbalance(ranks, job, work->stages, work->heaviest, imbalance.steps);
    offer_sum(
        report, job, &exposed,
        "communication that no compute overlaps and that waits for no rank, on the rank with the least of it",
        "overlap it with compute (start it earlier, in other buckets), send less, or use a faster link");
    offer_sum(report, job, &imbalance, who,
              "give all ranks equal work: sort or pack samples by length, balance experts or stages");
    offer_sum(
        report, job, &loader, "from the start of the step to the first CUDA call, on the median rank",
        "load data beside the GPU's work: more workers, prefetching, pinned memory, asynchronous copies");
    free(who);
    struct job_sum *all[] = {&exposed, &imbalance, &loader};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        ranks_series_deinit(&all[i]->saving);
        ranks_series_deinit(&all[i]->duration);
    }
}

void ranks_find_in_job(const struct ranks *ranks, struct ranks_report *report)
{
    size_t count = ranks->rank_count + 1;
    for (size_t i = 0, end; i < report->step_count; i = end) {
        for (end = i; end < report->step_count && report->steps[end].job == report->steps[i].job;)
            end++;
        struct job_work work = {.scratch = xcalloc(count, sizeof *work.scratch),
                                .sums = xcalloc(count, sizeof *work.sums),
                                .stages = xcalloc(count, sizeof *work.stages),
                                .heaviest = xcalloc(count, sizeof *work.heaviest)};
        find_in_one(ranks, report, i, end, &work);
        void *arrays[] = {work.scratch, work.sums, work.stages, work.heaviest};
        for (size_t j = 0; j < sizeof arrays / sizeof *arrays; j++)
            free(arrays[j]);
    }
}
