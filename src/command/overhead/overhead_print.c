/* Tables of runs: the cost of each level compared to the run without cuspan in the same round. */
#include "command/overhead/overhead.h"
#include "analysis/stat/base/stat.h"
#include "cli/util/sort.h"

#include <math.h>
#include <stdlib.h>

/* Column 0 of both is the level. */
#define PEOPLE_COLUMNS(X)                                                                                    \
    X(PEOPLE_LEVEL, "level", "level", STAT_TEXT)                                                             \
    X(PEOPLE_RUNS, "runs", "runs", STAT_COUNT)                                                               \
    X(PEOPLE_WALL_NS, "wall_ns", "wall time", STAT_NS)                                                       \
    X(PEOPLE_WALL, "wall", "cost", STAT_TEXT)                                                                \
    X(PEOPLE_FIGURE, "figure", "figure", STAT_REAL)                                                          \
    X(PEOPLE_FIGURE_COST, "figure_cost", "cost in figure", STAT_TEXT)                                        \
    X(PEOPLE_CALLBACK_NS, "callback_ns", "cuspan, callbacks", STAT_NS)                                       \
    X(PEOPLE_REST_NS, "rest_ns", "rest (CUPTI)", STAT_NS)                                                    \
    X(PEOPLE_THREADS_NS, "threads_ns", "cuspan threads (CPU)", STAT_NS)                                      \
    X(PEOPLE_SPANS, "spans", "spans", STAT_COUNT)                                                            \
    X(PEOPLE_LOST, "lost", "lost", STAT_COUNT)
STAT_COLUMNS_OF(people_columns, PEOPLE_COLUMNS);

#define PROGRAM_COLUMNS(X)                                                                                   \
    X(PROGRAM_LEVEL, "level", "", STAT_TEXT)                                                                 \
    X(PROGRAM_RUNS, "runs", "", STAT_COUNT)                                                                  \
    X(PROGRAM_WALL_NS, "wall_ns", "", STAT_NS)                                                               \
    X(PROGRAM_WALL_RATIO, "wall_ratio", "", STAT_REAL)                                                       \
    X(PROGRAM_WALL_RATIO_LOW, "wall_ratio_low", "", STAT_REAL)                                               \
    X(PROGRAM_WALL_RATIO_HIGH, "wall_ratio_high", "", STAT_REAL)                                             \
    X(PROGRAM_WALL_CONFIDENCE_SHARE, "wall_confidence_share", "", STAT_SHARE)                                \
    X(PROGRAM_FIGURE, "figure", "", STAT_REAL)                                                               \
    X(PROGRAM_FIGURE_RATIO, "figure_ratio", "", STAT_REAL)                                                   \
    X(PROGRAM_FIGURE_RATIO_LOW, "figure_ratio_low", "", STAT_REAL)                                           \
    X(PROGRAM_FIGURE_RATIO_HIGH, "figure_ratio_high", "", STAT_REAL)                                         \
    X(PROGRAM_WHOLE_NS, "whole_ns", "", STAT_NS)                                                             \
    X(PROGRAM_CALLBACK_NS, "callback_ns", "", STAT_NS)                                                       \
    X(PROGRAM_REST_NS, "rest_ns", "", STAT_NS)                                                               \
    X(PROGRAM_THREADS_NS, "threads_ns", "", STAT_NS)                                                         \
    X(PROGRAM_SPANS, "spans", "", STAT_COUNT)                                                                \
    X(PROGRAM_LOST, "lost", "", STAT_COUNT)                                                                  \
    X(PROGRAM_FAILURE, "failure", "", STAT_TEXT)
STAT_COLUMNS_OF(program_columns, PROGRAM_COLUMNS);

#define RUN_COLUMNS(X)                                                                                       \
    X(RUN_ROUND, "round", "", STAT_COUNT)                                                                    \
    X(RUN_LEVEL, "level", "", STAT_TEXT)                                                                     \
    X(RUN_WALL_NS, "wall_ns", "", STAT_NS)                                                                   \
    X(RUN_FIGURE, "figure", "", STAT_REAL)                                                                   \
    X(RUN_CALLBACK_NS, "callback_ns", "", STAT_NS)                                                           \
    X(RUN_THREADS_NS, "threads_ns", "", STAT_NS)                                                             \
    X(RUN_SPANS, "spans", "", STAT_COUNT)                                                                    \
    X(RUN_LOST, "lost", "", STAT_COUNT)
STAT_COLUMNS_OF(run_columns, RUN_COLUMNS);

#define COST_TEXT_BYTES 64
#define OUTSIDE_MAX     0.05

/* --- estimates --- */

/* The interval excludes this many values at either end; 0: too few values. Fewer than k of n values are below
 * the median with the probability that fewer than k of n coins show heads. */
static size_t rank_of_ends(size_t count)
{
    double outside = 0, ways = pow(0.5, (double)count); /* n over k, divided by 2^n */
    size_t rank = 0;
    for (; rank < count / 2; rank++) {
        outside += 2 * ways;
        if (outside > OUTSIDE_MAX)
            break;
        ways *= (double)(count - rank) / (double)(rank + 1);
    }
    return rank;
}

struct estimate estimate_of(double *values, size_t count)
{
    struct estimate found = {.count = count, .median = sort_median(values, count)}; /* sorts them */
    size_t rank = rank_of_ends(count);
    found.is_sure = rank > 0;
    found.low = values[rank ? rank - 1 : 0];
    found.high = values[rank ? count - rank : count - 1];
    return found;
}

/* --- what the runs of one level say --- */

struct summary {
    size_t runs;
    uint64_t wall_ns; /* medians, as all but lost, which is the sum */
    struct estimate ratio, figure, figure_ratio;
    bool has_callbacks, has_agent;
    uint64_t whole_ns, callback_ns, threads_ns, spans, lost;
};

enum quantity { WALL_NS, FIGURE, CALLBACK_NS, THREADS_NS, SPANS };

static double value_of(const struct overhead_run *run, enum quantity quantity)
{
    const double values[] = {[WALL_NS] = (double)run->wall_ns,
                             [FIGURE] = run->figure,
                             [CALLBACK_NS] = (double)run->callback_ns,
                             [THREADS_NS] = (double)run->threads_ns,
                             [SPANS] = (double)run->spans};
    return values[quantity];
}

/* The value divided by, or minus, that of the run without cuspan in its round. */
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
                                enum quantity quantity, enum relation relation)
{
    static double values[ESTIMATE_VALUES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < overhead->count && count < ESTIMATE_VALUES_MAX; i++) {
        const struct overhead_run *run = &overhead->runs[i], *partner;
        if (run->level != level || !(partner = partner_of(overhead, run)))
            continue;
        count += relate(value_of(run, quantity), value_of(partner, quantity), relation, &values[count]);
    }
    return count ? estimate_of(values, count) : (struct estimate){.count = 0};
}

static uint64_t median_of(const struct overhead *overhead, enum overhead_level level, enum quantity quantity)
{
    return (uint64_t)(estimate(overhead, level, quantity, ALONE).median + 0.5);
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

/* Callbacks run concurrently on several threads, and their time is an estimate. Limit it to the total. */
static struct summary summarize(const struct overhead *overhead, enum overhead_level level)
{
    const struct overhead_options *options = &overhead->options;
    struct summary summary = {0};
    count_runs(overhead, level, &summary);
    double whole_ns = estimate(overhead, level, WALL_NS, LESS).median;
    summary.wall_ns = median_of(overhead, level, WALL_NS);
    summary.ratio = estimate(overhead, level, WALL_NS, DIVIDED);
    if (options->has_figure) {
        summary.figure = estimate(overhead, level, FIGURE, ALONE);
        summary.figure_ratio = estimate(overhead, level, FIGURE, options->is_rate ? INVERSE : DIVIDED);
    }
    summary.whole_ns = whole_ns > 0 ? (uint64_t)whole_ns : 0;
    summary.callback_ns = median_of(overhead, level, CALLBACK_NS);
    if (summary.callback_ns > summary.whole_ns)
        summary.callback_ns = summary.whole_ns;
    summary.threads_ns = median_of(overhead, level, THREADS_NS);
    summary.spans = median_of(overhead, level, SPANS);
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
    row[PEOPLE_LEVEL] = stat_text(overhead_level_name(level));
    if (overhead->failure[level]) {
        row[PEOPLE_WALL] = stat_text("failed");
        return;
    }
    row[PEOPLE_RUNS] = stat_int(summary.runs);
    if (!summary.runs)
        return;
    row[PEOPLE_WALL_NS] = stat_int(summary.wall_ns);
    if (summary.figure.count)
        row[PEOPLE_FIGURE] = stat_real(summary.figure.median);
    if (level == LEVEL_NONE)
        return;
    row[PEOPLE_WALL] = cost_text(wall[level], &summary.ratio);
    row[PEOPLE_FIGURE_COST] = cost_text(figure[level], &summary.figure_ratio);
    if (!summary.has_agent)
        return;
    if (summary.has_callbacks) {
        row[PEOPLE_CALLBACK_NS] = stat_int(summary.callback_ns);
        row[PEOPLE_REST_NS] = stat_int(summary.whole_ns - summary.callback_ns);
    }
    row[PEOPLE_THREADS_NS] = stat_int(summary.threads_ns);
    row[PEOPLE_SPANS] = stat_int(summary.spans);
    row[PEOPLE_LOST] = stat_int(summary.lost);
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
    row[PROGRAM_LEVEL] = stat_text(overhead_level_name(level));
    row[PROGRAM_RUNS] = stat_int(summary.runs);
    if (overhead->failure[level])
        row[PROGRAM_FAILURE] = stat_text(overhead->failure[level]);
    if (overhead->failure[level] || !summary.runs)
        return;
    row[PROGRAM_WALL_NS] = stat_int(summary.wall_ns);
    put_estimate(&row[PROGRAM_WALL_RATIO], &summary.ratio);
    if (summary.ratio.is_sure)
        row[PROGRAM_WALL_CONFIDENCE_SHARE] = stat_real(0.95);
    if (summary.figure.count)
        row[PROGRAM_FIGURE] = stat_real(summary.figure.median);
    put_estimate(&row[PROGRAM_FIGURE_RATIO], &summary.figure_ratio);
    row[PROGRAM_WHOLE_NS] = stat_int(summary.whole_ns);
    if (!summary.has_agent)
        return;
    if (summary.has_callbacks) {
        row[PROGRAM_CALLBACK_NS] = stat_int(summary.callback_ns);
        row[PROGRAM_REST_NS] = stat_int(summary.whole_ns - summary.callback_ns);
    }
    row[PROGRAM_THREADS_NS] = stat_int(summary.threads_ns);
    row[PROGRAM_SPANS] = stat_int(summary.spans);
    row[PROGRAM_LOST] = stat_int(summary.lost);
}

static void add_runs(const struct overhead *overhead, struct stat_table *table)
{
    for (size_t i = 0; i < overhead->count; i++) {
        const struct overhead_run *run = &overhead->runs[i];
        struct stat_value *row = stat_table_add(table);
        row[RUN_ROUND] = stat_int(run->round - overhead->options.warm_up + 1);
        row[RUN_LEVEL] = stat_text(overhead_level_name(run->level));
        row[RUN_WALL_NS] = stat_int(run->wall_ns);
        if (overhead->options.has_figure)
            row[RUN_FIGURE] = stat_real(run->figure);
        if (run->has_callbacks)
            row[RUN_CALLBACK_NS] = stat_int(run->callback_ns);
        if (!run->has_agent)
            continue;
        row[RUN_THREADS_NS] = stat_int(run->threads_ns);
        row[RUN_SPANS] = stat_int(run->spans);
        row[RUN_LOST] = stat_int(run->lost);
    }
}

static const char note[] =
    "Cost: a run divided by the run without cuspan in the same round; median over the rounds with its exact "
    "95 % interval (\"range\": too few rounds for one). If the interval includes 1.000, no cost was "
    "measurable. Cuspan, callbacks: estimated time in cuspan's callbacks on the program's threads, at most "
    "the total. Rest: CUPTI's cost in calls, and the agent's start and exit.";

void overhead_tables(const struct overhead *overhead, bool is_for_people, struct stat_report *report)
{
    struct stat_table *table =
        is_for_people ? STAT_ADD_TABLE(report, "overhead", "Cost of each level", note, people_columns)
                      : STAT_ADD_TABLE(report, "overhead", "", NULL, program_columns);
    for (int level = 0; level < LEVEL_COUNT; level++) {
        if (!overhead->options.is_wanted[level])
            continue;
        (is_for_people ? add_for_people : add_for_programs)(overhead, table, (enum overhead_level)level);
    }
    if (!is_for_people)
        add_runs(overhead, STAT_ADD_TABLE(report, "runs", "", NULL, run_columns));
}
