/* The runs as tables: what each level costs beyond the run without cuspan in the same round. */
#include "cli/overhead/estimate.h"
#include "cli/overhead/overhead.h"
#include "cli/stat/stat.h"

#include <stdlib.h>

/* Column 0 of both is the level. */
static const struct stat_column people_columns[] = {{"level", "level", STAT_TEXT},
                                                    {"runs", "runs", STAT_COUNT},
                                                    {"wall_ns", "wall time", STAT_NS},
                                                    {"wall", "cost", STAT_TEXT},
                                                    {"figure", "figure", STAT_REAL},
                                                    {"figure_cost", "cost by figure", STAT_TEXT},
                                                    {"callback_ns", "own, callbacks", STAT_NS},
                                                    {"rest_ns", "rest (CUPTI's)", STAT_NS},
                                                    {"threads_ns", "own threads (CPU)", STAT_NS},
                                                    {"spans", "spans", STAT_COUNT},
                                                    {"lost", "lost", STAT_COUNT}};

static const struct stat_column program_columns[] = {{"level", "", STAT_TEXT},
                                                     {"runs", "", STAT_COUNT},
                                                     {"wall_ns", "", STAT_NS},
                                                     {"wall_ratio", "", STAT_REAL},
                                                     {"wall_ratio_low", "", STAT_REAL},
                                                     {"wall_ratio_high", "", STAT_REAL},
                                                     {"wall_confidence_share", "", STAT_SHARE},
                                                     {"figure", "", STAT_REAL},
                                                     {"figure_ratio", "", STAT_REAL},
                                                     {"figure_ratio_low", "", STAT_REAL},
                                                     {"figure_ratio_high", "", STAT_REAL},
                                                     {"whole_ns", "", STAT_NS},
                                                     {"callback_ns", "", STAT_NS},
                                                     {"rest_ns", "", STAT_NS},
                                                     {"threads_ns", "", STAT_NS},
                                                     {"spans", "", STAT_COUNT},
                                                     {"lost", "", STAT_COUNT},
                                                     {"failure", "", STAT_TEXT}};

static const struct stat_column run_columns[] = {{"round", "", STAT_COUNT},    {"level", "", STAT_TEXT},
                                                 {"wall_ns", "", STAT_NS},     {"figure", "", STAT_REAL},
                                                 {"callback_ns", "", STAT_NS}, {"threads_ns", "", STAT_NS},
                                                 {"spans", "", STAT_COUNT},    {"lost", "", STAT_COUNT}};

#define COST_TEXT_BYTES 64

/* --- what the runs of one level say --- */

struct summary {
    size_t runs;
    uint64_t wall_ns; /* medians, as all but lost, which is the sum */
    struct estimate ratio, figure, figure_ratio;
    bool has_callbacks, has_agent;
    uint64_t whole_ns, callback_ns, threads_ns, spans, lost;
};

typedef double value_of_run(const struct overhead_run *run);

static double wall_of(const struct overhead_run *run)
{
    return (double)run->wall_ns;
}
static double figure_of(const struct overhead_run *run)
{
    return run->figure;
}
static double callbacks_of(const struct overhead_run *run)
{
    return (double)run->callback_ns;
}
static double threads_of(const struct overhead_run *run)
{
    return (double)run->threads_ns;
}
static double spans_of(const struct overhead_run *run)
{
    return (double)run->spans;
}

/* The value, by or less that of the run without cuspan in its round. */
enum relation { ALONE, DIVIDED, INVERSE, LESS };

static const struct overhead_run *partner_of(const struct overhead *overhead, const struct overhead_run *run)
{
    for (size_t i = 0; i < overhead->count; i++)
        if (overhead->runs[i].round == run->round && overhead->runs[i].level == LEVEL_NONE)
            return &overhead->runs[i];
    return NULL;
}

static bool relate(double value, double other, enum relation relation, double *related)
{
    if (relation == ALONE)
        *related = value;
    else if (relation == LESS)
        *related = value - other;
    else
        *related = relation == DIVIDED ? value / other : other / value;
    return relation == ALONE || relation == LESS || (value != 0 && other != 0);
}

static struct estimate estimate(const struct overhead *overhead, enum overhead_level level,
                                value_of_run *value_of, enum relation relation)
{
    static double values[ESTIMATE_VALUES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < overhead->count && count < ESTIMATE_VALUES_MAX; i++) {
        const struct overhead_run *run = &overhead->runs[i], *partner;
        if (run->level != level || !(partner = partner_of(overhead, run)))
            continue;
        count += relate(value_of(run), value_of(partner), relation, &values[count]);
    }
    return count ? estimate_of(values, count) : (struct estimate){.count = 0};
}

static uint64_t median_of(const struct overhead *overhead, enum overhead_level level, value_of_run *value_of)
{
    return (uint64_t)(estimate(overhead, level, value_of, ALONE).median + 0.5);
}

static void count_runs(const struct overhead *overhead, enum overhead_level level, struct summary *summary)
{
    for (size_t i = 0; i < overhead->count; i++) {
        const struct overhead_run *run = &overhead->runs[i];
        if (run->level != level)
            continue;
        summary->runs++;
        summary->has_callbacks |= run->has_callbacks;
        summary->has_agent |= run->has_agent;
        summary->lost += run->lost;
    }
}

/* Our callbacks run beside each other on several threads, and are an estimate: they are never above the
 * whole. */
static struct summary summarize(const struct overhead *overhead, enum overhead_level level)
{
    const struct overhead_options *options = &overhead->options;
    struct summary summary = {0};
    count_runs(overhead, level, &summary);
    double whole_ns = estimate(overhead, level, wall_of, LESS).median;
    summary.wall_ns = median_of(overhead, level, wall_of);
    summary.ratio = estimate(overhead, level, wall_of, DIVIDED);
    if (options->has_figure) {
        summary.figure = estimate(overhead, level, figure_of, ALONE);
        summary.figure_ratio = estimate(overhead, level, figure_of, options->is_rate ? INVERSE : DIVIDED);
    }
    summary.whole_ns = whole_ns > 0 ? (uint64_t)whole_ns : 0;
    summary.callback_ns = median_of(overhead, level, callbacks_of);
    if (summary.callback_ns > summary.whole_ns)
        summary.callback_ns = summary.whole_ns;
    summary.threads_ns = median_of(overhead, level, threads_of);
    summary.spans = median_of(overhead, level, spans_of);
    return summary;
}

/* --- as rows --- */

static struct stat_value cost_text(char *text, const struct estimate *ratio)
{
    if (!ratio->count)
        return (struct stat_value){.is_missing = true};
    snprintf(text, COST_TEXT_BYTES, "%.3f (%.3f to %.3f%s)", ratio->median, ratio->low, ratio->high,
             ratio->is_sure ? "" : ", range");
    return stat_text(text);
}

static void add_for_people(const struct overhead *overhead, struct stat_table *table,
                           enum overhead_level level)
{
    static char wall[LEVEL_COUNT][COST_TEXT_BYTES], figure[LEVEL_COUNT][COST_TEXT_BYTES];
    struct summary summary = summarize(overhead, level);
    struct stat_value *row = stat_table_add(table);
    row[0] = stat_text(overhead_level_name(level));
    if (overhead->failure[level]) {
        row[3] = stat_text("failed");
        return;
    }
    row[1] = stat_int(summary.runs);
    if (!summary.runs)
        return;
    row[2] = stat_int(summary.wall_ns);
    if (summary.figure.count)
        row[4] = stat_real(summary.figure.median);
    if (level == LEVEL_NONE)
        return;
    row[3] = cost_text(wall[level], &summary.ratio);
    row[5] = cost_text(figure[level], &summary.figure_ratio);
    if (!summary.has_agent)
        return;
    if (summary.has_callbacks) {
        row[6] = stat_int(summary.callback_ns);
        row[7] = stat_int(summary.whole_ns - summary.callback_ns);
    }
    row[8] = stat_int(summary.threads_ns);
    row[9] = stat_int(summary.spans);
    row[10] = stat_int(summary.lost);
}

static void put_estimate(struct stat_value *cells, const struct estimate *found)
{
    if (!found->count)
        return;
    cells[0] = stat_real(found->median);
    cells[1] = stat_real(found->low);
    cells[2] = stat_real(found->high);
}

static void add_for_programs(const struct overhead *overhead, struct stat_table *table,
                             enum overhead_level level)
{
    struct summary summary = summarize(overhead, level);
    struct stat_value *row = stat_table_add(table);
    row[0] = stat_text(overhead_level_name(level));
    row[1] = stat_int(summary.runs);
    if (overhead->failure[level])
        row[17] = stat_text(overhead->failure[level]);
    if (overhead->failure[level] || !summary.runs)
        return;
    row[2] = stat_int(summary.wall_ns);
    put_estimate(&row[3], &summary.ratio);
    if (summary.ratio.is_sure)
        row[6] = stat_real(0.95);
    if (summary.figure.count)
        row[7] = stat_real(summary.figure.median);
    put_estimate(&row[8], &summary.figure_ratio);
    row[11] = stat_int(summary.whole_ns);
    if (!summary.has_agent)
        return;
    if (summary.has_callbacks) {
        row[12] = stat_int(summary.callback_ns);
        row[13] = stat_int(summary.whole_ns - summary.callback_ns);
    }
    row[14] = stat_int(summary.threads_ns);
    row[15] = stat_int(summary.spans);
    row[16] = stat_int(summary.lost);
}

static void add_runs(const struct overhead *overhead, struct stat_table *table)
{
    for (size_t i = 0; i < overhead->count; i++) {
        const struct overhead_run *run = &overhead->runs[i];
        struct stat_value *row = stat_table_add(table);
        row[0] = stat_int(run->round - overhead->options.warm_up + 1);
        row[1] = stat_text(overhead_level_name(run->level));
        row[2] = stat_int(run->wall_ns);
        if (overhead->options.has_figure)
            row[3] = stat_real(run->figure);
        if (run->has_callbacks)
            row[4] = stat_int(run->callback_ns);
        if (!run->has_agent)
            continue;
        row[5] = stat_int(run->threads_ns);
        row[6] = stat_int(run->spans);
        row[7] = stat_int(run->lost);
    }
}

static const char note[] =
    "Cost: a run by the one without cuspan in the same round; the median over the rounds, and its exact 95 % "
    "interval (\"range\": too few rounds for one). Where it holds 1.000, these runs tell no cost. Own: what "
    "cuspan's callbacks take on the program's threads, estimated, and at most the whole; the rest of the "
    "whole is CUPTI's inline cost, the agent's start and its end.";

void overhead_tables(const struct overhead *overhead, bool is_for_people, struct stat_report *report)
{
    struct stat_table *table =
        stat_report_add(report, is_for_people ? stat_table_of("overhead", "What each level costs", note,
                                                              people_columns, STAT_COLUMNS(people_columns))
                                              : stat_table_of("overhead", "", NULL, program_columns,
                                                              STAT_COLUMNS(program_columns)));
    for (int level = 0; level < LEVEL_COUNT; level++) {
        if (!overhead->options.is_wanted[level])
            continue;
        (is_for_people ? add_for_people : add_for_programs)(overhead, table, (enum overhead_level)level);
    }
    if (!is_for_people)
        add_runs(overhead, stat_report_add(report, stat_table_of("runs", "", NULL, run_columns,
                                                                 STAT_COLUMNS(run_columns))));
}
