#include "analysis/show/scale.h"

#include "cli/util/sort.h"
#include "cli/util/xalloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CUT_SHARE     0.70 /* minimum share of the time that all cuts remove; otherwise nothing is cut */
#define REMAINING_MIN 5    /* intervals that are not cut, at least: three long spans need no cut */
#define CELLS_MIN     10   /* narrower scales are not cut */

static int compare_times(const void *a, const void *b)
{
    return ORDER(*(const uint64_t *)a, *(const uint64_t *)b);
}

static int compare_cuts(const void *a, const void *b)
{
    const struct scale_cut *x = a, *y = b;
    return ORDER(x->from_ns, y->from_ns);
}

static uint64_t cut_length(const struct scale_cut *cut)
{
    return cut->to_ns - cut->from_ns;
}

/* Keeps the longest intervals, longest first. */
static void offer(struct scale_cut cuts[SCALE_CUTS_MAX], size_t *count, struct scale_cut stretch)
{
    size_t at = *count < SCALE_CUTS_MAX ? (*count)++ : SCALE_CUTS_MAX;
    if (at == SCALE_CUTS_MAX) {
        if (cut_length(&stretch) <= cut_length(&cuts[SCALE_CUTS_MAX - 1]))
            return;
        at--;
    }
    for (; at > 0 && cut_length(&cuts[at - 1]) < cut_length(&stretch); at--)
        cuts[at] = cuts[at - 1];
    cuts[at] = stretch;
}

static void find_cuts(struct scale *scale, const struct trace *trace)
{
    size_t count = trace->span_count * 2, stretches = 0, found = 0;
    uint64_t *times = xcalloc(count, sizeof *times);
    for (size_t i = 0; i < trace->span_count; i++) {
        times[2 * i] = trace->spans[i].start_ns;
        times[2 * i + 1] = trace->spans[i].end_ns;
    }
    qsort(times, count, sizeof *times, compare_times);
    for (size_t i = 1; i < count; i++) {
        if (times[i] == times[i - 1])
            continue;
        stretches++;
        offer(scale->cuts, &found, (struct scale_cut){times[i - 1], times[i]});
    }
    free(times);
    uint64_t sum = 0, whole = scale->end_ns - scale->start_ns;
    for (size_t i = 0; i < found && stretches >= i + 1 + REMAINING_MIN; i++) {
        sum += cut_length(&scale->cuts[i]);
        if ((double)sum >= CUT_SHARE * (double)whole) {
            scale->cut_count = i + 1;
            break;
        }
    }
    /* Intervals nearly as long as the shortest cut would fill the rest of the scale, so they are cut too. */
    while (scale->cut_count && scale->cut_count < found &&
           stretches >= scale->cut_count + 1 + REMAINING_MIN &&
           (double)cut_length(&scale->cuts[scale->cut_count]) > 0.5 * (double)(whole - sum)) {
        sum += cut_length(&scale->cuts[scale->cut_count]);
        scale->cut_count++;
    }
    qsort(scale->cuts, scale->cut_count, sizeof *scale->cuts, compare_cuts);
}

void scale_init(struct scale *scale, const struct trace *trace, size_t cells, bool is_linear)
{
    *scale = (struct scale){.start_ns = trace->start_ns, .end_ns = trace->end_ns, .cells = cells};
    if (!is_linear && cells >= CELLS_MIN)
        find_cuts(scale, trace);
    uint64_t shown = scale->end_ns - scale->start_ns;
    for (size_t i = 0; i < scale->cut_count; i++)
        shown -= cut_length(&scale->cuts[i]);
    size_t linear_cells = cells - scale->cut_count * SCALE_CUT_CELLS;
    scale->ns_per_cell = shown && linear_cells ? (double)shown / (double)linear_cells : 1;
}

double scale_position(const struct scale *scale, uint64_t ns)
{
    double position = 0;
    uint64_t at = scale->start_ns;
    if (ns > scale->end_ns)
        ns = scale->end_ns;
    for (size_t i = 0; i < scale->cut_count && ns > scale->cuts[i].from_ns; i++) {
        const struct scale_cut *cut = &scale->cuts[i];
        position += (double)(cut->from_ns - at) / scale->ns_per_cell;
        if (ns < cut->to_ns)
            return position + SCALE_CUT_CELLS * (double)(ns - cut->from_ns) / (double)cut_length(cut);
        position += SCALE_CUT_CELLS;
        at = cut->to_ns;
    }
    if (ns > at)
        position += (double)(ns - at) / scale->ns_per_cell;
    return position < (double)scale->cells ? position : (double)scale->cells;
}

/* Cuts start anywhere; drawing starts at a whole cell. */
static size_t cut_cell(const struct scale *scale, size_t cut)
{
    return (size_t)lround(scale_position(scale, scale->cuts[cut].from_ns));
}

int scale_cut_at(const struct scale *scale, size_t cell)
{
    for (size_t i = 0; i < scale->cut_count; i++) {
        size_t first = cut_cell(scale, i);
        if (cell >= first && cell < first + SCALE_CUT_CELLS)
            return (int)i;
    }
    return -1;
}

size_t scale_segment_cell(const struct scale *scale, int cut)
{
    return cut < 0 ? 0 : cut_cell(scale, (size_t)cut) + SCALE_CUT_CELLS;
}

uint64_t scale_step_ns(const struct scale *scale, size_t cells)
{
    double least = scale->ns_per_cell * (double)cells;
    for (uint64_t unit = 1;; unit *= 10) {
        static const uint64_t factors[] = {1, 2, 5};
        for (size_t i = 0; i < 3; i++) {
            if ((double)(unit * factors[i]) >= least || unit > UINT64_MAX / 100)
                return unit * factors[i];
        }
    }
}
