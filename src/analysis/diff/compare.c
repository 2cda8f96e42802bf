#include "analysis/diff/compare.h"

#include "base/hash.h"
#include "cli/util/sort.h"
#include "cli/util/xalloc.h"

#include <math.h>
#include <stdlib.h>

#define LABELLINGS_MAX     20000 /* more are drawn, not listed */
#define LABELLINGS_OF_DRAW 9999
#define INTERVAL_Z         1.96  /* 95 % */
#define TRIMMED_PART       8     /* of the executions, at each end */
#define NOISE_FLOOR        0.002 /* share of a median, added to the noise: some items never vary */
#define SEED               0x6375737061ull

static uint64_t draw(uint64_t *state)
{
    uint64_t x = *state += HASH_SPREAD; /* splitmix64 */
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

void run_item_of(struct run_item *item, const struct sample *sorted, const struct spread *spread)
{
    uint64_t count = spread->count, before = 0;
    *item = (struct run_item){.count = count, .total = spread->total, .median = spread->median};
    item->value_count = count < RUN_VALUES_MAX ? (uint32_t)count : RUN_VALUES_MAX;
    for (uint64_t i = 0; i < item->value_count; i++) {
        uint64_t rank = (2 * i + 1) * count / (2 * (uint64_t)item->value_count);
        for (; before + sorted->count <= rank; sorted++)
            before += sorted->count;
        item->values[i] = sorted->value;
    }
}

/* --- medians and the interval of their ratio --- */

/* Location of a run's times: the mean of the logarithms without the outer eighths. A median would jump
 * between the modes of bimodal times; a mean would follow one slow execution. */
static double middle_of(const struct run_item *run)
{
    double sum = 0;
    size_t cut = run->value_count / TRIMMED_PART;
    for (size_t i = cut; i < run->value_count - cut; i++)
        sum += log1p((double)run->values[i]);
    return sum / (double)(run->value_count - 2 * cut);
}

/* The compared values of a side: executions or, with enough runs, the runs' locations. */
static size_t gather_side(const struct run_item *runs, size_t count, bool by_runs, double *values)
{
    size_t gathered = 0;
    for (size_t r = 0; r < count; r++) {
        if (by_runs && runs[r].count)
            values[gathered++] = expm1(middle_of(&runs[r]));
        for (size_t i = 0; !by_runs && i < runs[r].value_count; i++)
            values[gathered++] = (double)runs[r].values[i];
    }
    return gathered;
}

/* Hodges and Lehmann's estimate of the ratio, and its interval by Mann and Whitney's test turned round. Where
 * times have two modes, medians jump between them by chance; the median of all ratios stays. */
static void find_ratio(struct comparison *item, const double *base, size_t base_count, const double *new,
                       size_t new_count)
{
    double na = (double)base_count, nb = (double)new_count;
    double *ratios = xcalloc(base_count * new_count + 1, sizeof *ratios);
    size_t count = 0;
    for (size_t i = 0; i < base_count; i++) {
        for (size_t j = 0; j < new_count; j++)
            ratios[count++] = base[i] > 0 ? new[j] / base[i] : new[j] > 0 ? INFINITY : 1;
    }
    item->ratio = sort_median(ratios, count);
    double from = na * nb / 2 - INTERVAL_Z * sqrt(na * nb * (na + nb + 1) / 12);
    size_t at = from > 0 ? (size_t)from : 0;
    item->ratio_low = count ? ratios[at] : 0;
    item->ratio_high = count ? ratios[count - 1 - at] : 0;
    free(ratios);
}

/* --- few runs: the executions --- */

struct ranked {
    double value;
    bool is_new;
};

static int compare_ranked(const void *a, const void *b)
{
    return ORDER(((const struct ranked *)a)->value, ((const struct ranked *)b)->value);
}

static size_t gather(struct ranked *all, const struct comparison *item, const size_t counts[SIDE_COUNT],
                     size_t of_side[SIDE_COUNT])
{
    size_t count = 0;
    for (size_t s = 0; s < SIDE_COUNT; s++) {
        of_side[s] = count;
        for (size_t r = 0; r < counts[s]; r++) {
            for (size_t i = 0; i < item->runs[s][r].value_count; i++)
                all[count++] = (struct ranked){(double)item->runs[s][r].values[i], s == SIDE_NEW};
        }
        of_side[s] = count - of_side[s];
    }
    return count;
}

/* The two-sided p of a U that is `distance` off its middle, with na and nb values on the sides, by the normal
 * approximation with continuity corrected. With few values it is never smaller than the exact p.
 * `ties`: the sum of t^3 - t over all groups of t equal ones. */
static double p_of_u(double distance, double na, double nb, double ties)
{
    double n = na + nb, variance = na * nb / 12 * (n + 1 - ties / (n * (n - 1)));
    return variance > 0 && distance > 0.5 ? erfc((distance - 0.5) / sqrt(2 * variance)) : 1;
}

/* The two-sided p of Mann and Whitney's test. */
static double mann_whitney(struct ranked *all, size_t count, const size_t of_side[SIDE_COUNT])
{
    double na = (double)of_side[SIDE_BASE], nb = (double)of_side[SIDE_NEW];
    double rank_sum = 0, ties = 0;
    qsort(all, count, sizeof *all, compare_ranked);
    for (size_t i = 0, end; i < count; i = end) {
        size_t new_ones = 0;
        for (end = i; end < count && compare_ranked(&all[i], &all[end]) == 0; end++)
            new_ones += all[end].is_new;
        double equal = (double)(end - i);
        rank_sum += (double)new_ones * ((double)i + (equal + 1) / 2);
        ties += equal * equal * equal - equal;
    }
    double u = rank_sum - nb * (nb + 1) / 2;
    return p_of_u(fabs(u - na * nb / 2), na, nb, ties);
}

/* Above 0: most values of the second run are larger. */
static int tendency(const struct run_item *a, const struct run_item *b)
{
    int64_t above = 0;
    for (size_t i = 0; i < a->value_count; i++) {
        for (size_t j = 0; j < b->value_count; j++)
            above += (b->values[j] > a->values[i]) - (b->values[j] < a->values[i]);
    }
    return (above > 0) - (above < 0);
}

/* Whether each run of one side differs from each run of the other in the same direction. Executions within a
 * run cannot show differences between whole runs. */
static bool are_apart(const struct comparison *item, const size_t counts[SIDE_COUNT])
{
    int direction = 0;
    for (size_t b = 0; b < counts[SIDE_BASE]; b++) {
        for (size_t n = 0; n < counts[SIDE_NEW]; n++) {
            const struct run_item *base = &item->runs[SIDE_BASE][b], *new = &item->runs[SIDE_NEW][n];
            if (!base->count || !new->count)
                continue;
            int this = tendency(base, new);
            if (this == 0 || this == -direction)
                return false;
            direction = this;
        }
    }
    return true;
}

static int compare_p(const void *a, const void *b)
{
    const struct comparison *const *x = a, *const *y = b;
    return ORDER((*x)->p, (*y)->p);
}

/* Holm: the smallest p counts as many times as there are tests, the next one once less, and so on. */
static void correct_by_holm(struct comparison *items, size_t count)
{
    struct comparison **order = xcalloc(count + 1, sizeof *order);
    size_t tests = 0;
    double least = 0;
    for (size_t i = 0; i < count; i++) {
        if (items[i].is_tested)
            order[tests++] = &items[i];
    }
    qsort(order, tests, sizeof *order, compare_p);
    for (size_t i = 0; i < tests; i++) {
        double p = order[i]->p * (double)(tests - i);
        least = p > least ? p : least;
        order[i]->p = least < 1 ? least : 1;
    }
    free(order);
}

static void test_values(struct comparison *items, size_t count, const size_t run_counts[SIDE_COUNT],
                        double level)
{
    size_t of_side[SIDE_COUNT], runs = run_counts[SIDE_BASE] + run_counts[SIDE_NEW];
    struct ranked *all = xcalloc(runs * RUN_VALUES_MAX + 1, sizeof *all);
    for (size_t i = 0; i < count; i++) {
        struct comparison *item = &items[i];
        size_t gathered = gather(all, item, run_counts, of_side);
        double na = (double)of_side[SIDE_BASE], nb = (double)of_side[SIDE_NEW];
        /* Whether the test could detect that all values of one side are above all of the other. */
        item->is_tested = na > 0 && nb > 0 && p_of_u(na * nb / 2, na, nb, 0) <= level;
        if (item->is_tested)
            item->p = mann_whitney(all, gathered, of_side);
    }
    correct_by_holm(items, count);
    for (size_t i = 0; i < count; i++) {
        if (items[i].is_tested && !are_apart(&items[i], run_counts))
            items[i].p = 1;
    }
    free(all);
}

/* --- many runs: the runs --- */

struct permuting {
    struct comparison *items;
    size_t count;
    size_t runs[SIDE_COUNT], all;
    bool *is_new;     /* side of each run: the labeling */
    double *logs;     /* locations, all runs of an item after each other; NAN: not in the run */
    double *observed; /* distance of the sides, by item */
    size_t *reached;  /* number of labelings in which some item has this distance */
    size_t labellings;
};

static double distance(const struct permuting *p, const double *logs)
{
    double sum[SIDE_COUNT] = {0}, squares[SIDE_COUNT] = {0}, n[SIDE_COUNT] = {0};
    for (size_t r = 0; r < p->all; r++) {
        size_t side = p->is_new[r] ? SIDE_NEW : SIDE_BASE;
        if (isnan(logs[r]))
            continue;
        n[side]++;
        sum[side] += logs[r];
        squares[side] += logs[r] * logs[r];
    }
    if (n[SIDE_BASE] < 2 || n[SIDE_NEW] < 2)
        return 0;
    double rest = 0;
    for (size_t s = 0; s < SIDE_COUNT; s++)
        rest += squares[s] - sum[s] * sum[s] / n[s];
    double spread =
        sqrt((rest > 0 ? rest : 0) / (n[SIDE_BASE] + n[SIDE_NEW] - 2) * (1 / n[SIDE_BASE] + 1 / n[SIDE_NEW]));
    return fabs(sum[SIDE_NEW] / n[SIDE_NEW] - sum[SIDE_BASE] / n[SIDE_BASE]) / (spread + NOISE_FLOOR);
}

static void take_labelling(struct permuting *p)
{
    const double tolerance = 1 - 1e-9; /* the mirrored labeling adds in another order */
    double most = 0;
    for (size_t i = 0; i < p->count; i++) {
        double apart = p->items[i].is_tested ? distance(p, p->logs + i * p->all) : 0;
        most = apart > most ? apart : most;
    }
    for (size_t i = 0; i < p->count; i++)
        p->reached[i] += most >= p->observed[i] * tolerance;
    p->labellings++;
}

/* The next choice of as many runs, in the order of their numbers; false after the last. */
static bool next_labelling(bool *is_new, size_t count)
{
    size_t at = 0, ones = 0;
    while (at < count && !is_new[at])
        at++;
    for (; at < count && is_new[at]; at++)
        ones++;
    if (at == count)
        return false;
    is_new[at] = true;
    for (size_t i = 0; i < at; i++)
        is_new[i] = i + 1 < ones;
    return true;
}

static void shuffle(bool *is_new, size_t count, uint64_t *state)
{
    for (size_t left = count; left > 1; left--) {
        size_t i = left - 1;
        size_t other = (size_t)(draw(state) % left); /* the bias of small bounds is below 2^-50 */
        bool kept = is_new[i];
        is_new[i] = is_new[other];
        is_new[other] = kept;
    }
}

static double choices(size_t of, size_t count)
{
    double ways = 1;
    for (size_t i = 1; i <= count; i++)
        ways = ways * (double)(of - count + i) / (double)i;
    return ways;
}

static void permute(struct permuting *p)
{
    uint64_t state = SEED;
    if (choices(p->all, p->runs[SIDE_NEW]) <= LABELLINGS_MAX) {
        for (size_t r = 0; r < p->all; r++)
            p->is_new[r] = r < p->runs[SIDE_NEW];
        do
            take_labelling(p);
        while (next_labelling(p->is_new, p->all));
        return;
    }
    take_labelling(p);
    for (size_t i = 0; i < LABELLINGS_OF_DRAW; i++) {
        shuffle(p->is_new, p->all, &state);
        take_labelling(p);
    }
}

static void take_logs(struct permuting *p, size_t i)
{
    struct comparison *item = &p->items[i];
    size_t at = i * p->all;
    bool has_many = true;
    for (size_t s = 0; s < SIDE_COUNT; s++) {
        size_t with = 0; /* runs with the item */
        for (size_t r = 0; r < p->runs[s]; r++) {
            const struct run_item *run = &item->runs[s][r];
            with += run->count != 0;
            p->logs[at++] = run->count ? middle_of(run) : NAN;
        }
        has_many &= with >= COMPARE_RUNS_MANY;
    }
    item->is_tested = has_many;
    p->observed[i] = has_many ? distance(p, p->logs + i * p->all) : 0;
}

static void test_runs(struct comparison *items, size_t count, const size_t run_counts[SIDE_COUNT])
{
    struct permuting p = {.items = items,
                          .count = count,
                          .runs = {run_counts[SIDE_BASE], run_counts[SIDE_NEW]},
                          .all = run_counts[SIDE_BASE] + run_counts[SIDE_NEW]};
    p.is_new = xcalloc(p.all + 1, sizeof *p.is_new);
    p.logs = xcalloc(p.all * count + 1, sizeof *p.logs);
    p.observed = xcalloc(count + 1, sizeof *p.observed);
    p.reached = xcalloc(count + 1, sizeof *p.reached);
    for (size_t r = 0; r < p.all; r++)
        p.is_new[r] = r >= p.runs[SIDE_BASE];
    for (size_t i = 0; i < count; i++)
        take_logs(&p, i);
    permute(&p);
    for (size_t i = 0; i < count; i++) {
        if (items[i].is_tested)
            items[i].p = (double)p.reached[i] / (double)p.labellings;
    }
    free(p.is_new);
    free(p.logs);
    free(p.observed);
    free(p.reached);
}

enum compare_method compare_all(struct comparison *items, size_t count, const size_t run_counts[SIDE_COUNT],
                                double level)
{
    bool by_runs = run_counts[SIDE_BASE] >= COMPARE_RUNS_MANY && run_counts[SIDE_NEW] >= COMPARE_RUNS_MANY;
    double *scratch[SIDE_COUNT];
    for (size_t side = 0; side < SIDE_COUNT; side++)
        scratch[side] = xcalloc(run_counts[side] * RUN_VALUES_MAX + 1, sizeof **scratch);
    for (size_t i = 0; i < count; i++) {
        struct comparison *item = &items[i];
        size_t gathered[SIDE_COUNT];
        for (size_t s = 0; s < SIDE_COUNT; s++) {
            size_t with = 0; /* runs with the item */
            for (size_t r = 0; r < run_counts[s]; r++)
                if (item->runs[s][r].count)
                    scratch[s][with++] = (double)item->runs[s][r].median;
            item->median[s] = sort_median(scratch[s], with);
            gathered[s] = gather_side(item->runs[s], run_counts[s], by_runs, scratch[s]);
        }
        item->p = 1;
        item->is_tested = false;
        find_ratio(item, scratch[SIDE_BASE], gathered[SIDE_BASE], scratch[SIDE_NEW], gathered[SIDE_NEW]);
    }
    for (size_t side = 0; side < SIDE_COUNT; side++)
        free(scratch[side]);
    if (by_runs)
        test_runs(items, count, run_counts);
    else
        test_values(items, count, run_counts, level);
    return by_runs ? COMPARE_RUNS : COMPARE_VALUES;
}
