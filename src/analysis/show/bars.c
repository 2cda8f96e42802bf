#include "analysis/show/bars.h"

#include "analysis/show/label.h"
#include "cli/util/xalloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TICK_CELLS 9 /* minimum distance between ticks */
#define TOUCHED    1e-9

static const char *const blocks_left[] = {"▏", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
static const char *const blocks_low[] = {"▁", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
static const char densities[] = ".:-=+*%##";

struct cell {
    double covered; /* share of the cell, 0 to 1 */
    double first;   /* where in the cell the coverage starts and ends */
    double last;
};

static void cover(struct cell *cells, size_t count, double from, double to)
{
    if (from >= (double)count)
        from = (double)count - TOUCHED;
    if (to < from + TOUCHED)
        to = from + TOUCHED;
    for (size_t i = (size_t)from; i < count && (double)i < to; i++) {
        double begin = from > (double)i ? from - (double)i : 0;
        double end = to < (double)(i + 1) ? to - (double)i : 1;
        struct cell *cell = &cells[i];
        if (cell->covered == 0)
            cell->first = begin;
        cell->last = end;
        cell->covered += end > begin ? end - begin : TOUCHED;
    }
}

struct sweep {
    const struct trace *trace;
    const uint32_t *spans;
    size_t count;
    size_t next;
};

/* The next interval in which at least one of the spans was active. */
static bool next_stretch(struct sweep *sweep, uint64_t *from, uint64_t *to)
{
    if (sweep->next >= sweep->count)
        return false;
    const struct trace_span *span = &sweep->trace->spans[sweep->spans[sweep->next++]];
    *from = span->start_ns;
    *to = span->end_ns;
    for (; sweep->next < sweep->count; sweep->next++) {
        span = &sweep->trace->spans[sweep->spans[sweep->next]];
        if (span->start_ns > *to)
            break;
        if (span->end_ns > *to)
            *to = span->end_ns;
    }
    return true;
}

uint64_t bars_covered_ns(const struct trace *trace, const uint32_t *spans, size_t count)
{
    struct sweep sweep = {trace, spans, count, 0};
    uint64_t from, to, sum = 0;
    while (next_stretch(&sweep, &from, &to))
        sum += to - from;
    return sum;
}

/* A cell of a single span. Block characters grow from the left edge only, so a start inside a cell is rounded
 * to a half or an eighth, for which right-aligned characters exist. */
static const char *single_cell(const struct cell *cell)
{
    bool to_edge = cell->last > 0.94;
    if (cell->covered > 0.94)
        return "█";
    if (cell->first < 0.06 || !to_edge)
        return cell->first < 0.5 || to_edge ? blocks_left[(size_t)lround(cell->covered * 8)] : "▐";
    return cell->covered > 0.75 ? "█" : cell->covered > 0.25 ? "▐" : "▕";
}

static const char *density_cell(const struct cell *cell)
{
    double share = cell->covered < 1 ? cell->covered : 1;
    return blocks_low[(size_t)ceil(share * 8 - 0.01)];
}

static void add_covered(struct text *text, const struct cell *cell, bool is_single, bool is_cut, bool utf8)
{
    if (is_cut)
        text_add(text, utf8 ? "╍" : "~");
    else if (utf8)
        text_add(text, is_single ? single_cell(cell) : density_cell(cell));
    else if (is_single)
        text_add(text, cell->covered > 0.5 ? "#" : "|");
    else
        text_add_char(text, densities[(size_t)(cell->covered < 1 ? cell->covered * 8 : 8)], 1);
}

/* A cut is visible in every line, but does not look like a bar. */
static void add_empty(struct text *text, const struct scale *scale, size_t cell, const struct bars_look *look)
{
    int cut = scale_cut_at(scale, cell);
    if (cut < 0 || cell + SCALE_CUT_CELLS != scale_segment_cell(scale, cut)) {
        text_add(text, " ");
        return;
    }
    style_begin(text, STYLE_DIM, look->color);
    text_add(text, look->utf8 ? "┊" : ":");
    style_end(text, STYLE_DIM, look->color);
}

static void add_cells(struct text *text, const struct cell *cells, size_t count, bool is_single,
                      const struct scale *scale, const struct bars_look *look)
{
    bool is_on = false;
    for (size_t i = 0; i < count; i++) {
        bool is_covered = cells[i].covered > 0;
        if (is_on && !is_covered)
            style_end(text, look->style, look->color);
        if (!is_on && is_covered)
            style_begin(text, look->style, look->color);
        is_on = is_covered;
        if (is_covered)
            add_covered(text, &cells[i], is_single, scale_cut_at(scale, i) >= 0, look->utf8);
        else
            add_empty(text, scale, i, look);
    }
    if (is_on)
        style_end(text, look->style, look->color);
}

static struct cell *covered_cells(const struct trace *trace, const uint32_t *spans, size_t count,
                                  const struct scale *scale)
{
    struct cell *cells = xcalloc(scale->cells, sizeof *cells);
    struct sweep sweep = {trace, spans, count, 0};
    uint64_t from, to;
    while (next_stretch(&sweep, &from, &to))
        cover(cells, scale->cells, scale_position(scale, from), scale_position(scale, to));
    return cells;
}

void bars_shares(const struct trace *trace, const uint32_t *spans, size_t count, const struct scale *scale,
                 double *shares)
{
    struct cell *cells = covered_cells(trace, spans, count, scale);
    for (size_t i = 0; i < scale->cells; i++)
        shares[i] = cells[i].covered;
    free(cells);
}

void bars_add(struct text *text, const struct trace *trace, const uint32_t *spans, size_t count,
              const struct scale *scale, const struct bars_look *look)
{
    struct cell *cells = covered_cells(trace, spans, count, scale);
    size_t used = scale->cells;
    while (used > 0 && cells[used - 1].covered == 0 && scale_cut_at(scale, used - 1) < 0)
        used--;
    add_cells(text, cells, used, count == 1, scale, look);
    free(cells);
}

/* The characters of the axis by column; a label is ASCII except for the µ. */
struct axis {
    char (*glyphs)[4];
    size_t cells;
    size_t free_from; /* the first column after the last label and a space */
    bool utf8;
};

static void put(struct axis *axis, size_t cell, const char *glyph)
{
    if (cell < axis->cells)
        snprintf(axis->glyphs[cell], sizeof *axis->glyphs, "%s", glyph);
}

static void put_label(struct axis *axis, size_t cell, size_t end, const char *label)
{
    size_t columns = text_columns(label, axis->utf8);
    if (cell < axis->free_from || cell >= end)
        return;
    put(axis, cell, axis->utf8 ? "╷" : "|");
    axis->free_from = cell + 1;
    if (cell + 1 + columns > end)
        return;
    for (size_t i = 0; *label; i++) {
        char glyph[4] = "";
        const char *begin = label;
        text_next_char(&label);
        memcpy(glyph, begin, (size_t)(label - begin) < sizeof glyph ? (size_t)(label - begin) : 0);
        put(axis, cell + 1 + i, glyph);
    }
    axis->free_from = cell + columns + 2;
}

/* Multiples of a step are exact: "150 µs", "2.5 ms", not "2.50 ms". */
static void step_label(char out[TEXT_NUMBER_BYTES], uint64_t ns, const char *sign, bool utf8)
{
    const char *unit = ns < 1000 ? "ns" : ns < 1000000 ? (utf8 ? "µs" : "us") : ns < 1000000000 ? "ms" : "s";
    double divisor = ns < 1000 ? 1 : ns < 1000000 ? 1e3 : ns < 1000000000 ? 1e6 : 1e9;
    snprintf(out, TEXT_NUMBER_BYTES, "%s%.4g %s", sign, (double)ns / divisor, unit);
}

/* Ticks between two cuts: the first shows the time, the others the time since it. */
static void add_segment(struct axis *axis, const struct scale *scale, int cut)
{
    char label[TEXT_NUMBER_BYTES];
    bool is_last = cut + 1 == (int)scale->cut_count;
    uint64_t begin = cut < 0 ? scale->start_ns : scale->cuts[cut].to_ns;
    size_t first = scale_segment_cell(scale, cut);
    size_t end = is_last ? scale->cells : scale_segment_cell(scale, cut + 1) - SCALE_CUT_CELLS;
    uint64_t step = scale_step_ns(scale, TICK_CELLS);
    if (cut < 0)
        snprintf(label, sizeof label, "0");
    else
        text_duration(label, begin - scale->start_ns, axis->utf8);
    put_label(axis, first, end, label);
    for (uint64_t i = 1;; i++) {
        /* Not i * step, which is more than 2^64 after 584 years. */
        double position = (double)first + (double)i * (double)step / scale->ns_per_cell;
        if (position >= (double)end)
            break;
        step_label(label, i * step, cut < 0 ? "" : "+", axis->utf8);
        put_label(axis, (size_t)position, end, label);
    }
}

void bars_add_axis(struct text *text, const struct scale *scale, bool utf8)
{
    struct axis axis = {.glyphs = xcalloc(scale->cells, 4), .cells = scale->cells, .utf8 = utf8};
    for (int cut = -1; cut < (int)scale->cut_count; cut++) {
        if (cut >= 0)
            for (size_t i = 0; i < SCALE_CUT_CELLS; i++)
                put(&axis, scale_segment_cell(scale, cut) - SCALE_CUT_CELLS + i, utf8 ? "╱" : "/");
        if (cut >= 0 && axis.free_from < scale_segment_cell(scale, cut))
            axis.free_from = scale_segment_cell(scale, cut);
        add_segment(&axis, scale, cut);
    }
    for (size_t i = 0; i < scale->cells; i++)
        text_add(text, axis.glyphs[i][0] ? axis.glyphs[i] : " ");
    free(axis.glyphs);
}
