#include "analysis/show/rank_rows.h"

#include "analysis/show/bars.h"
#include "analysis/show/label.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

#define ALIKE_SHARE                                                                                          \
    64 /* lines are folded if their times differ by less than 1/64 of the step; then 1/32, ... */
#define SHARE_MIN    0.15 /* a column with less GPU work is empty */
#define TIME_COLUMNS (RANK_ROWS_TIMES / 3)

static const struct {
    const char *name, *glyph, *ascii;
    unsigned style;
} looks[RANK_WORKS] = {
    [RANK_COMPUTE] = {"compute", "█", "#", STYLE_CLASS + CLASS_KERNEL},
    [RANK_COMMUNICATION] = {"communication", "░", "~", STYLE_CLASS + CLASS_OTHER},
    [RANK_COPIES] = {"copies", "▒", "+", STYLE_CLASS + CLASS_COPY},
};

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* Points in time are not compared, since hosts have clocks of their own. */
static bool are_alike(const struct step_rank *a, const struct step_rank *b, uint64_t tolerance_ns)
{
    return !a->is_late && !b->is_late &&
           distance(a->end_ns - a->start_ns, b->end_ns - b->start_ns) <= tolerance_ns &&
           distance(a->compute_ns, b->compute_ns) <= tolerance_ns &&
           distance(a->communication_ns, b->communication_ns) <= tolerance_ns;
}

static void fold(struct rank_rows *rows, const struct step_ranks *ranks, bool folds, uint64_t tolerance_ns)
{
    rows->count = 0;
    for (size_t i = 0; i < ranks->count; i++) {
        struct rank_row *row = rows->count ? &rows->items[rows->count - 1] : NULL;
        if (folds && row && are_alike(&ranks->items[row->first], &ranks->items[i], tolerance_ns))
            row->count++;
        else
            rows->items[rows->count++] = (struct rank_row){.first = i, .count = 1};
    }
}

void rank_rows_fold(struct rank_rows *rows, const struct step_ranks *ranks, const struct trace *trace,
                    size_t rows_max)
{
    uint64_t whole_ns = trace->end_ns - trace->start_ns, tolerance_ns = whole_ns / ALIKE_SHARE + 1;
    *rows = (struct rank_rows){.items = xcalloc(ranks->count, sizeof *rows->items)};
    fold(rows, ranks, false, 0);
    if (!rows_max)
        return;
    for (; rows->count > rows_max && tolerance_ns <= 2 * whole_ns + 2; tolerance_ns *= 2)
        fold(rows, ranks, true, tolerance_ns);
}

void rank_rows_deinit(struct rank_rows *rows)
{
    free(rows->items);
    *rows = (struct rank_rows){0};
}

/* The host of all ranks of the line, or how many there are. */
static void add_host(struct text *text, const struct trace *trace, const struct step_ranks *ranks,
                     const struct rank_row *row)
{
    size_t hosts = 1;
    for (size_t i = row->first + 1; i < row->first + row->count; i++)
        hosts += ranks->items[i].host != ranks->items[i - 1].host;
    if (hosts > 1)
        text_add_format(text, "  %zu hosts", hosts);
    else if (ranks->items[row->first].host)
        text_add_format(text, "  %s", trace_string(trace, ranks->items[row->first].host));
}

void rank_rows_add_label(struct text *text, const struct trace *trace, const struct step_ranks *ranks,
                         const struct rank_row *row, bool utf8)
{
    const struct step_rank *first = &ranks->items[row->first];
    char number[TEXT_NUMBER_BYTES];
    if (row->count > 1)
        text_add_format(text, "ranks %lld%s%lld", (long long)first->number, utf8 ? "–" : "-",
                        (long long)first[row->count - 1].number);
    else
        text_add_format(text, "rank %lld", (long long)first->number);
    if (first->is_late)
        text_add_format(text, "  late by %s", text_duration(number, (uint64_t)first->delay_ns, utf8));
    add_host(text, trace, ranks, row);
}

void rank_rows_add_titles(struct text *text)
{
    text_add_format(text, "%*s%*s%*s", TIME_COLUMNS, "compute", TIME_COLUMNS, "comm.", TIME_COLUMNS, "wait");
}

static void add_time(struct text *text, uint64_t sum_ns, size_t count, bool utf8)
{
    char number[TEXT_NUMBER_BYTES];
    text_add_column(text, text_duration(number, sum_ns / count, utf8), TIME_COLUMNS, true, utf8);
}

void rank_rows_add_times(struct text *text, const struct step_ranks *ranks, const struct rank_row *row,
                         bool utf8)
{
    uint64_t compute_ns = 0, communication_ns = 0, wait_ns = 0;
    for (size_t i = row->first; i < row->first + row->count; i++) {
        compute_ns += ranks->items[i].compute_ns;
        communication_ns += ranks->items[i].communication_ns;
        wait_ns += ranks->items[i].wait_ns;
    }
    add_time(text, compute_ns, row->count, utf8);
    add_time(text, communication_ns, row->count, utf8);
    add_time(text, wait_ns, row->count, utf8);
}

/* The kind of work that fills most of the column; RANK_WORKS: hardly any. */
static enum rank_work work_at(double *const shares[RANK_WORKS], size_t cell)
{
    enum rank_work most = RANK_COMPUTE;
    for (enum rank_work work = RANK_COMMUNICATION; work < RANK_WORKS; work++)
        if (shares[work][cell] > shares[most][cell])
            most = work;
    return shares[most][cell] >= SHARE_MIN ? most : RANK_WORKS;
}

/* Between its start and end, a rank without GPU work has a dot. */
static void add_idle(struct text *text, bool is_inside, bool color, bool utf8)
{
    style_begin(text, STYLE_DIM, color && is_inside);
    text_add(text, !is_inside ? " " : utf8 ? "·" : ".");
    style_end(text, STYLE_DIM, color && is_inside);
}

void rank_rows_add_bar(struct text *text, const struct trace *trace, const struct step_ranks *ranks,
                       const struct rank_row *row, const struct scale *scale, bool color, bool utf8)
{
    const struct step_rank *rank = &ranks->items[row->first];
    double *shares[RANK_WORKS];
    for (unsigned work = 0; work < RANK_WORKS; work++) {
        shares[work] = xcalloc(scale->cells, sizeof **shares);
        bars_shares(trace, rank->spans[work], rank->counts[work], scale, shares[work]);
    }
    size_t begin = (size_t)scale_position(scale, rank->start_ns);
    double end = scale_position(scale, rank->end_ns);
    for (size_t i = 0; i < scale->cells && (double)i < end; i++) {
        enum rank_work work = work_at(shares, i);
        if (work == RANK_WORKS) {
            add_idle(text, i >= begin, color, utf8);
            continue;
        }
        style_begin(text, looks[work].style, color);
        text_add(text, utf8 ? looks[work].glyph : looks[work].ascii);
        style_end(text, looks[work].style, color);
    }
    for (unsigned work = 0; work < RANK_WORKS; work++)
        free(shares[work]);
}

void rank_rows_add_legend(struct text *text, bool color, bool utf8)
{
    for (unsigned work = 0; work < RANK_WORKS; work++) {
        style_begin(text, looks[work].style, color);
        text_add(text, utf8 ? looks[work].glyph : looks[work].ascii);
        style_end(text, looks[work].style, color);
        text_add_format(text, " %s  ", looks[work].name);
    }
    text_add_format(text, "%s no GPU work", utf8 ? "·" : ".");
}
