/* Looks for slow links: communicators, or pairs of ranks, whose transfers take longer than those of their
 * equals, or than their own in other steps. A rank that is late does not change the transfer, which is the
 * shortest duration. */
#include "analysis/ranks/ranks_data.h"

#include "cli/util/sort.h"
#include "cli/util/text.h"
#include "cli/util/xalloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LINK_EQUALS_MIN    2 /* other communicators or pairs of the same kind, to compare with */
#define LINK_INSTANCES_MIN 3
#define LINK_FACTOR        1.4  /* a link at half speed has 2.0, less the latency */
#define LINK_SKEW          0.5  /* share of the excess: with more additional skew, a late rank explains it */
#define LINK_STEPS_MIN     3    /* slow steps, and other steps, each */
#define LINK_SLOW_SHARE    0.1  /* share of the steps that must be slow */
#define LINK_USUAL_SHARE   0.2  /* quantile of the steps with the usual speed: more than half may be slow */
#define LINK_RUN_MIN       3    /* slow steps in a row, on average: congestion comes and goes */
#define LINK_SPREAD_MAX    0.15 /* MAD of the other steps, as a share of their median */

struct slow {
    const struct ranks_collective_row *row;
    double usual_ns, slow_ns; /* durations of one transfer */
    uint64_t steps;           /* slow steps; 0: all */
    uint64_t first, last;     /* first and last slow step */
    double saving_ns;         /* over all steps */
};

struct slow_list {
    struct slow *items;
    size_t count, capacity;
};

static bool is_same_link(const struct ranks_collective_row *a, const struct ranks_collective_row *b)
{
    return a->communicator == b->communicator && ranks_is_p2p(a->operation) == ranks_is_p2p(b->operation) &&
           (!ranks_is_p2p(a->operation) ||
            (a->first_rank == b->first_rank && a->second_rank == b->second_rank));
}

/* Adds a slow row. A link has one finding: the row with the largest saving represents it, with the saving of
 * all its rows. */
static void add_slow(struct slow_list *list, const struct slow *slow)
{
    for (size_t i = 0; i < list->count; i++) {
        struct slow *known = &list->items[i];
        if (!is_same_link(known->row, slow->row))
            continue;
        double saving = known->saving_ns + slow->saving_ns;
        if (slow->saving_ns > known->saving_ns)
            *known = *slow;
        known->saving_ns = saving;
        return;
    }
    *XADD(list->items, list->count, list->capacity) = *slow;
}

/* --- against equals --- */

static int compare_kinds(const void *a, const void *b)
{
    const struct ranks_collective_row *x = *(const struct ranks_collective_row *const *)a,
                                      *y = *(const struct ranks_collective_row *const *)b;
    int order = ORDER(x->operation, y->operation);
    order = order ? order : ORDER(x->participants, y->participants);
    order = order ? order : ORDER(x->host_count, y->host_count);
    return order ? order : ORDER(ranks_size_class(x->bytes_min), ranks_size_class(y->bytes_min));
}

/* Finds rows that take longer than the median of all equal rows, without much skew. */
static void examine_equals(struct slow_list *list, const struct ranks_collective_row *const *rows,
                           size_t count)
{
    double *values = xcalloc(count, sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = rows[i]->transfer_ns;
    sort_doubles(values, count);
    double median = values[(count - 1) / 2];
    for (size_t i = 0; i < count; i++)
        values[i] = rows[i]->skew_ns;
    double usual_skew = sort_median(values, count);
    for (size_t i = 0; i < count; i++) {
        double excess = rows[i]->transfer_ns - median;
        bool is_skewed =
            !ranks_is_p2p(rows[i]->operation) && rows[i]->skew_ns - usual_skew > LINK_SKEW * excess;
        if (rows[i]->transfer_ns > LINK_FACTOR * median && !is_skewed)
            add_slow(list, &(struct slow){.row = rows[i],
                                          .usual_ns = median,
                                          .slow_ns = rows[i]->transfer_ns,
                                          .saving_ns = excess * (double)rows[i]->count});
    }
    free(values);
}

static void compare_with_equals(const struct ranks_report *report, struct slow_list *list)
{
    size_t count = 0;
    const struct ranks_collective_row **rows = xcalloc(report->collective_count + 1, sizeof *rows);
    for (size_t i = 0; i < report->collective_count; i++) {
        const struct ranks_collective_row *row = &report->collectives[i];
        if (row->count >= LINK_INSTANCES_MIN && (row->has_transfer || ranks_is_p2p(row->operation)))
            rows[count++] = row;
    }
    qsort(rows, count, sizeof *rows, compare_kinds);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && !compare_kinds(&rows[i], &rows[end]);)
            end++;
        if (end - i > LINK_EQUALS_MIN)
            examine_equals(list, &rows[i], end - i);
    }
    free(rows);
}

/* --- against other steps --- */

static int compare_speeds(const void *a, const void *b)
{
    const struct speed *x = a, *y = b;
    return ORDER(x->step, y->step);
}

/* Sets `*usual` to the usual transfer in ns per byte: the median of the steps that are not slow. False: these
 * differ too much. */
static bool usual_speed(const struct class *class, double *scratch, double *usual)
{
    size_t kept = 0;
    for (size_t i = 0; i < class->speed_count; i++)
        scratch[i] = class->speeds[i].ns_per_byte;
    sort_doubles(scratch, class->speed_count);
    double limit = LINK_FACTOR * scratch[(size_t)(LINK_USUAL_SHARE * (double)(class->speed_count - 1))];
    while (kept < class->speed_count && scratch[kept] <= limit)
        kept++;
    *usual = sort_median_sorted(scratch, kept);
    return kept >= LINK_STEPS_MIN && sort_mad(scratch, kept, *usual) <= LINK_SPREAD_MAX * *usual;
}

/* Adds up the slow steps. False: they are too few, or come and go. */
static bool slow_steps(const struct class *class, double usual, double *scratch, struct slow *slow)
{
    size_t runs = 0, count = 0;
    bool was_slow = false;
    double skew = 0, usual_skew = 0;
    for (size_t i = 0; i < class->speed_count; i++) {
        const struct speed *speed = &class->speeds[i];
        bool is_slow = speed->ns_per_byte > LINK_FACTOR * usual;
        runs += is_slow && !was_slow;
        was_slow = is_slow;
        if (!is_slow) {
            usual_skew += (double)speed->skew_share * speed->ns_per_byte;
            continue;
        }
        slow->first = count ? slow->first : speed->step;
        slow->last = speed->step;
        skew += (double)speed->skew_share * speed->ns_per_byte;
        scratch[count++] = speed->ns_per_byte;
    }
    slow->steps = count;
    if (count < LINK_STEPS_MIN || (double)count < LINK_SLOW_SHARE * (double)class->speed_count ||
        count < LINK_RUN_MIN * runs)
        return false;
    slow->slow_ns = sort_median(scratch, count);
    usual_skew /= (double)(class->speed_count - count);
    return ranks_is_p2p(slow->row->operation) ||
           skew / (double)count - usual_skew <= LINK_SKEW * (slow->slow_ns - usual);
}

static void examine_steps(struct class *class, const struct ranks_collective_row *row, struct slow_list *list)
{
    if (class->speed_count < 2 * LINK_STEPS_MIN || (!row->has_transfer && !ranks_is_p2p(row->operation)))
        return;
    double *scratch = xcalloc(class->speed_count, sizeof *scratch), usual;
    struct slow slow = {.row = row};
    qsort(class->speeds, class->speed_count, sizeof *class->speeds, compare_speeds);
    if (usual_speed(class, scratch, &usual) && slow_steps(class, usual, scratch, &slow)) {
        double bytes = (double)row->bytes / (double)row->count;
        slow.usual_ns = usual * bytes;
        slow.slow_ns *= bytes;
        slow.saving_ns = (slow.slow_ns - slow.usual_ns) * (double)row->count * (double)slow.steps /
                         (double)class->speed_count;
        add_slow(list, &slow);
    }
    free(scratch);
}

/* Finds links that are slow in some steps only. Links that are slow against equals have their finding
 * already. */
static void compare_with_other_steps(struct ranks *ranks, const struct ranks_report *report,
                                     struct slow_list *list)
{
    size_t known = list->count;
    for (size_t i = 0; i < report->collective_count; i++) {
        bool is_known = false;
        for (size_t j = 0; j < known; j++)
            is_known |= is_same_link(list->items[j].row, &report->collectives[i]);
        if (!is_known)
            examine_steps(&ranks->classes[i], &report->collectives[i], list);
    }
}

/* --- the finding --- */

static const struct rank_step *longest_step(const struct ranks *ranks, const struct slow *slow)
{
    const struct rank_step *longest = NULL;
    for (size_t i = 0; i < ranks->step_count; i++) {
        const struct rank_step *step = &ranks->steps[i];
        bool is_slow = !slow->steps || (step->step.number >= slow->first && step->step.number <= slow->last);
        if (step->rank == slow->row->first_rank && is_slow &&
            (!longest || step->swept_ns - step->window_ns > longest->swept_ns - longest->window_ns))
            longest = step;
    }
    return longest;
}

static char *evidence_of(const struct ranks *ranks, const struct slow *slow)
{
    const struct ranks_collective_row *row = slow->row;
    char *first = ranks_describe(ranks, row->first_rank), *second = ranks_describe(ranks, row->second_rank);
    bool has_more = row->participants > 2;
    struct text text = {0};
    text_add_format(&text, "%s of %.2f MB takes %.3f ms between %s%s %s%s, ",
                    ranks_operations[row->operation].word, (double)row->bytes / (double)row->count / 1e6,
                    slow->slow_ns / 1e6, first, has_more ? "," : " and", second,
                    has_more ? " and more ranks" : "");
    if (slow->steps)
        text_add_format(&text, "in %llu steps from %llu to %llu, ", (unsigned long long)slow->steps,
                        (unsigned long long)slow->first, (unsigned long long)slow->last);
    text_add_format(&text, "and %.3f ms in %s (communicator %016llx)", slow->usual_ns / 1e6,
                    slow->steps ? "others" : "communicators like it", (unsigned long long)row->communicator);
    free(first);
    free(second);
    return text.data;
}

static void offer(struct ranks *ranks, struct ranks_report *report, const struct slow *slow)
{
    const struct rank_step *step = longest_step(ranks, slow);
    uint64_t steps = ranks->ranks[slow->row->first_rank].steps;
    struct ranks_finding finding = {
        .kind = RANKS_SLOW_LINK,
        .job = ranks->ranks[slow->row->first_rank].job,
        .rank = RANKS_NONE,
        .communicator = slow->row->communicator,
        .delay_ns = slow->slow_ns - slow->usual_ns,
        .steps = slow->steps ? slow->steps : steps,
        .steps_seen = steps,
        .evidence = evidence_of(ranks, slow),
        .advice = "test the link with nccl-tests, check error counters of NVLink and network cards, or "
                  "exclude the host"};
    if (step) {
        double duration = (double)(step->swept_ns - step->window_ns);
        finding.saving_ns = slow->saving_ns / (double)steps;
        finding.saving_share = duration > 0 ? finding.saving_ns / duration : 0;
        finding.step = step->step.number;
        finding.trace_id = step->step.trace_id;
    }
    ranks_offer(report, &finding);
}

void ranks_find_slow_links(struct ranks *ranks, struct ranks_report *report)
{
    struct slow_list list = {0};
    compare_with_equals(report, &list);
    compare_with_other_steps(ranks, report, &list);
    for (size_t i = 0; i < list.count; i++)
        offer(ranks, report, &list.items[i]);
    free(list.items);
}
