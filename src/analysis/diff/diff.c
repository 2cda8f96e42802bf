#include "analysis/diff/diff.h"

#include "cli/util/sort.h"
#include "cli/util/xalloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ADDED_PART_MIN 0.01 /* of the GPU's time */

static const char *const verdict_words[VERDICT_COUNT] = {"same", "regression", "improvement",
                                                         "new",  "gone",       "too few"};

/* Runs that lack the item count as 0. `offset` is of the member of struct run_item. */
static double median_over_runs(const struct run_item *runs, size_t count, size_t offset)
{
    double *values = xcalloc(count + 1, sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = (double)*(const uint64_t *)(const void *)((const char *)&runs[i] + offset);
    double median = sort_median(values, count);
    free(values);
    return median;
}

static void add(struct diff *diff, const struct measure *base, const struct measure *new,
                const struct diff_limits *limits)
{
    const struct measure *any = new ? new : base;
    if (any->kind >= MEASURE_COMPARED_COUNT)
        return;
    struct limits_of of = diff_limits_find(limits, any->kind, any->name);
    if (of.is_ignored)
        return;
    struct difference *item = XADD(diff->items, diff->count, diff->capacity);
    *item = (struct difference){.of = {base, new}, .any = any, .limits = of};
    for (size_t s = 0; s < SIDE_COUNT; s++) {
        item->comparison.runs[s] = item->of[s] ? item->of[s]->runs : diff->missing;
        item->count[s] =
            median_over_runs(item->comparison.runs[s], diff->run_counts[s], offsetof(struct run_item, count));
    }
}

static void join(struct diff *diff, const struct run_set *base, const struct run_set *new,
                 const struct diff_limits *limits)
{
    for (size_t b = 0, n = 0; b < base->count || n < new->count;) {
        int order = b == base->count  ? 1
                    : n == new->count ? -1
                                      : measure_compare(&base->items[b], &new->items[n]);
        add(diff, order <= 0 ? &base->items[b] : NULL, order >= 0 ? &new->items[n] : NULL, limits);
        b += order <= 0;
        n += order >= 0;
    }
}

static enum verdict judge(const struct difference *item, double level)
{
    const struct comparison *c = &item->comparison;
    bool is_significant = c->is_tested && c->p <= level;
    if (!item->of[SIDE_BASE])
        return VERDICT_NEW;
    if (!item->of[SIDE_NEW])
        return VERDICT_GONE;
    if (is_significant && c->ratio > 1 + item->limits.slower)
        return VERDICT_REGRESSION;
    if (item->count[SIDE_NEW] > item->count[SIDE_BASE] * (1 + item->limits.more))
        return VERDICT_REGRESSION;
    if (is_significant && c->ratio * (1 + item->limits.slower) < 1)
        return VERDICT_IMPROVEMENT;
    return c->is_tested ? VERDICT_SAME : VERDICT_TOO_FEW;
}

/* --- items on one side only --- */

/* Times of a run, the medians, by kind of item. */
struct sums {
    double all[SIDE_COUNT][MEASURE_COMPARED_COUNT];
    double alone[SIDE_COUNT][MEASURE_COMPARED_COUNT]; /* of items that the other side lacks */
};

static double sum_of(const struct diff *diff, const struct difference *item, size_t side)
{
    return median_over_runs(item->comparison.runs[side], diff->run_counts[side],
                            offsetof(struct run_item, total));
}

static bool is_alone(const struct difference *item)
{
    return item->any->kind != MEASURE_TOTAL && (!item->of[SIDE_BASE] || !item->of[SIDE_NEW]);
}

/* Added or saved time counts if it is above the threshold, as a share of the kind's time in the base, and a
 * part of the GPU's time. A kernel that another one replaces adds only the difference. */
static void judge_alone(const struct diff *diff, struct difference *item, const struct sums *sums)
{
    size_t side = item->of[SIDE_NEW] ? SIDE_NEW : SIDE_BASE, kind = item->any->kind;
    double net = sums->alone[side][kind] - sums->alone[!side][kind];
    double least = item->limits.slower * sums->all[SIDE_BASE][kind];
    double gpu_ns = sums->all[SIDE_BASE][MEASURE_KERNEL] + sums->all[SIDE_BASE][MEASURE_COPY];
    if (kind != MEASURE_CALL)
        least = fmax(least, ADDED_PART_MIN * gpu_ns);
    bool is_in_all_runs = true;
    for (size_t r = 0; r < diff->run_counts[side]; r++)
        is_in_all_runs &= item->comparison.runs[side][r].count > 0;
    if (isfinite(item->limits.slower) && is_in_all_runs && net > least && sum_of(diff, item, side) > least)
        item->verdict = side == SIDE_NEW ? VERDICT_REGRESSION : VERDICT_IMPROVEMENT;
    if (side == SIDE_NEW && isfinite(item->limits.more))
        item->verdict = VERDICT_REGRESSION; /* its count was 0 */
}

static void judge_all_alone(struct diff *diff)
{
    struct sums sums = {0};
    for (size_t i = 0; i < diff->count; i++) {
        const struct difference *item = &diff->items[i];
        for (size_t s = 0; s < SIDE_COUNT; s++) {
            double sum = item->of[s] ? sum_of(diff, item, s) : 0;
            sums.all[s][item->any->kind] += sum;
            sums.alone[s][item->any->kind] += is_alone(item) ? sum : 0;
        }
    }
    for (size_t i = 0; i < diff->count; i++) {
        if (is_alone(&diff->items[i]))
            judge_alone(diff, &diff->items[i], &sums);
    }
}

void diff_init(struct diff *diff, const struct run_set *base, const struct run_set *new,
               const struct diff_limits *limits)
{
    size_t most = base->run_count > new->run_count ? base->run_count : new->run_count;
    *diff = (struct diff){.level = limits->level,
                          .run_counts = {base->run_count, new->run_count},
                          .missing = xcalloc(most + 1, sizeof *diff->missing)};
    join(diff, base, new, limits);
    struct comparison *comparisons = xcalloc(diff->count + 1, sizeof *comparisons);
    for (size_t i = 0; i < diff->count; i++)
        comparisons[i] = diff->items[i].comparison;
    diff->method = compare_all(comparisons, diff->count, diff->run_counts, diff->level);
    for (size_t i = 0; i < diff->count; i++) {
        diff->items[i].comparison = comparisons[i];
        diff->items[i].verdict = judge(&diff->items[i], diff->level);
    }
    judge_all_alone(diff);
    free(comparisons);
}

void diff_deinit(struct diff *diff)
{
    free(diff->items);
    free(diff->missing);
    *diff = (struct diff){0};
}

/* --- tables --- */

#define HEADLINE_COLUMNS(X)                                                                                  \
    X(HEADLINE_REGRESSIONS, "regressions", "regressions", STAT_COUNT)                                        \
    X(HEADLINE_LIMITS, "limits", "limits exceeded", STAT_COUNT)                                              \
    X(HEADLINE_IMPROVEMENTS, "improvements", "improvements", STAT_COUNT)                                     \
    X(HEADLINE_SAME, "same", "no difference", STAT_COUNT)                                                    \
    X(HEADLINE_TOO_FEW, "too_few", "too few to tell", STAT_COUNT)                                            \
    X(HEADLINE_NEW, "new", "new", STAT_COUNT)                                                                \
    X(HEADLINE_GONE, "gone", "gone", STAT_COUNT)                                                             \
    X(HEADLINE_BASE_RUNS, "base_runs", "base runs", STAT_COUNT)                                              \
    X(HEADLINE_NEW_RUNS, "new_runs", "new runs", STAT_COUNT)                                                 \
    X(HEADLINE_LEVEL_SHARE, "level_share", "level of false alarms", STAT_SHARE)                              \
    X(HEADLINE_TEST, "test", "test", STAT_TEXT)
STAT_COLUMNS_OF(headline_columns, HEADLINE_COLUMNS);

/* Times have separate columns; the others are counts and bytes. */
#define ITEM_COLUMNS(X)                                                                                      \
    X(ITEM_KIND, "kind", "what", STAT_TEXT)                                                                  \
    X(ITEM_NAME, "name", "name", STAT_TEXT)                                                                  \
    X(ITEM_BASE_NS, "base_ns", "base", STAT_NS)                                                              \
    X(ITEM_NEW_NS, "new_ns", "new", STAT_NS)                                                                 \
    X(ITEM_BASE, "base", "base", STAT_COUNT)                                                                 \
    X(ITEM_NEW, "new", "new", STAT_COUNT)                                                                    \
    X(ITEM_CHANGE_SHARE, "change_share", "change", STAT_SHARE)                                               \
    X(ITEM_LOW_SHARE, "low_share", "from", STAT_SHARE)                                                       \
    X(ITEM_HIGH_SHARE, "high_share", "to", STAT_SHARE)                                                       \
    X(ITEM_P, "p", "p", STAT_PROBABILITY)                                                                    \
    X(ITEM_BASE_COUNT, "base_count", "count, base", STAT_COUNT)                                              \
    X(ITEM_NEW_COUNT, "new_count", "count, new", STAT_COUNT)                                                 \
    X(ITEM_VERDICT, "verdict", "verdict", STAT_TEXT)
STAT_COLUMNS_OF(item_columns, ITEM_COLUMNS);

#define LIMIT_COLUMNS(X)                                                                                     \
    X(LIMIT_KIND, "kind", "what", STAT_TEXT)                                                                 \
    X(LIMIT_NAME, "name", "name", STAT_TEXT)                                                                 \
    X(LIMIT_LIMIT, "limit", "limit", STAT_TEXT)                                                              \
    X(LIMIT_IS_NS, "is_ns", "is", STAT_NS)                                                                   \
    X(LIMIT_MAX_NS, "max_ns", "at most", STAT_NS)                                                            \
    X(LIMIT_IS, "is", "is", STAT_COUNT)                                                                      \
    X(LIMIT_MAX, "max", "at most", STAT_COUNT)
STAT_COLUMNS_OF(limit_columns, LIMIT_COLUMNS);

static struct stat_value whole(double value)
{
    return stat_int((uint64_t)llround(value));
}

static void fill_item(struct stat_value *row, const struct difference *item, bool with_verdict)
{
    const struct comparison *c = &item->comparison;
    size_t median = item->any->unit == STAT_NS ? ITEM_BASE_NS : ITEM_BASE;
    row[ITEM_KIND] = stat_text(measure_kind_name(item->any->kind));
    row[ITEM_NAME] = stat_text(item->any->name);
    for (size_t s = 0; s < SIDE_COUNT; s++) {
        if (!item->of[s])
            continue;
        row[median + s] = whole(c->median[s]);
        if (item->any->kind != MEASURE_TOTAL)
            row[ITEM_BASE_COUNT + s] = whole(item->count[s]);
    }
    if (c->ratio > 0 && isfinite(c->ratio)) {
        row[ITEM_CHANGE_SHARE] = stat_real(c->ratio - 1);
        row[ITEM_LOW_SHARE] = stat_real(c->ratio_low - 1);
        row[ITEM_HIGH_SHARE] = stat_real(c->ratio_high - 1);
    }
    if (c->is_tested)
        row[ITEM_P] = stat_real(c->p);
    if (with_verdict)
        row[ITEM_VERDICT] = stat_text(verdict_words[item->verdict]);
}

static size_t add_items(const struct diff *diff, struct stat_report *report, const char *key,
                        const char *title, enum verdict verdict)
{
    bool is_all = verdict == VERDICT_COUNT;
    struct stat_table *table = STAT_ADD_TABLE(report, key, title, NULL, item_columns);
    for (size_t i = 0; i < diff->count; i++) {
        if (is_all || diff->items[i].verdict == verdict)
            fill_item(stat_table_add(table), &diff->items[i], is_all);
    }
    return table->row_count;
}

static void add_limit(struct stat_table *table, const struct difference *item, const char *limit, double is,
                      double max, bool is_ns)
{
    if (is <= max)
        return;
    struct stat_value *row = stat_table_add(table);
    row[LIMIT_KIND] = stat_text(measure_kind_name(item->any->kind));
    row[LIMIT_NAME] = stat_text(item->any->name);
    row[LIMIT_LIMIT] = stat_text(limit);
    row[is_ns ? LIMIT_IS_NS : LIMIT_IS] = whole(is);
    row[is_ns ? LIMIT_MAX_NS : LIMIT_MAX] = whole(max);
}

static size_t add_limits(const struct diff *diff, struct stat_report *report)
{
    struct stat_table *table =
        STAT_ADD_TABLE(report, "limits", "Limits exceeded by the new runs", NULL, limit_columns);
    for (size_t i = 0; i < diff->count; i++) {
        const struct difference *item = &diff->items[i];
        bool is_ns = item->any->unit == STAT_NS;
        if (!item->of[SIDE_NEW])
            continue;
        double sum = sum_of(diff, item, SIDE_NEW);
        add_limit(table, item, "median_max", item->comparison.median[SIDE_NEW], item->limits.median_max,
                  is_ns);
        add_limit(table, item, "sum_max", sum, item->limits.sum_max, is_ns);
        add_limit(table, item, "count_max", item->count[SIDE_NEW], item->limits.count_max, false);
    }
    return table->row_count;
}

static void add_headline(const struct diff *diff, struct stat_report *report)
{
    struct stat_value *row =
        stat_table_add(STAT_ADD_TABLE(report, "headline", "Verdict", NULL, headline_columns));
    uint64_t counts[VERDICT_COUNT] = {0};
    for (size_t i = 0; i < diff->count; i++)
        counts[diff->items[i].verdict]++;
    row[HEADLINE_REGRESSIONS] = stat_int(counts[VERDICT_REGRESSION]);
    row[HEADLINE_IMPROVEMENTS] = stat_int(counts[VERDICT_IMPROVEMENT]);
    row[HEADLINE_SAME] = stat_int(counts[VERDICT_SAME]);
    row[HEADLINE_TOO_FEW] = stat_int(counts[VERDICT_TOO_FEW]);
    row[HEADLINE_NEW] = stat_int(counts[VERDICT_NEW]);
    row[HEADLINE_GONE] = stat_int(counts[VERDICT_GONE]);
    row[HEADLINE_BASE_RUNS] = stat_int(diff->run_counts[SIDE_BASE]);
    row[HEADLINE_NEW_RUNS] = stat_int(diff->run_counts[SIDE_NEW]);
    row[HEADLINE_LEVEL_SHARE] = stat_real(diff->level);
    row[HEADLINE_TEST] = stat_text(diff->method == COMPARE_RUNS ? "permutation of runs (Westfall-Young)"
                                                                : "Mann-Whitney of executions (Holm)");
}

size_t diff_report(const struct diff *diff, bool with_all, struct stat_report *report)
{
    add_headline(diff, report);
    size_t bad = add_items(diff, report, "regressions", "Regressions", VERDICT_REGRESSION);
    size_t passed = add_limits(diff, report);
    report->tables[0].values[HEADLINE_LIMITS] = stat_int(passed);
    add_items(diff, report, "improvements", "Improvements", VERDICT_IMPROVEMENT);
    add_items(diff, report, "new", "Only in the new runs", VERDICT_NEW);
    add_items(diff, report, "gone", "Only in the base runs", VERDICT_GONE);
    if (with_all)
        add_items(diff, report, "items", "All", VERDICT_COUNT);
    return bad + passed;
}
