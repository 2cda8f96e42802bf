/* The right part of the picture: bars on a common scale, and the axis above them.
 *
 * A single span is drawn with its start and end to an eighth of a column. If a line stands for several spans,
 * the height of a column is the share of its time in which one of them was active. */
#pragma once

#include "analysis/show/scale.h"
#include "cli/util/text.h"

struct bars_look {
    unsigned style; /* enum style of the covered part */
    bool color;
    bool utf8;
};

/* Adds a bar, scale->cells columns wide without trailing spaces. `spans` are in order of time. */
void bars_add(struct text *text, const struct trace *trace, const uint32_t *spans, size_t count,
              const struct scale *scale, const struct bars_look *look);

/* Adds the axis: ticks with times at regular distances. After a cut, times count from the cut ("+20 µs"). */
void bars_add_axis(struct text *text, const struct scale *scale, bool utf8);

/* The share of each column of the scale in which at least one of the spans was active. `shares`: zeroed,
 * scale->cells of them. */
void bars_shares(const struct trace *trace, const uint32_t *spans, size_t count, const struct scale *scale,
                 double *shares);

/* ns in which at least one of the spans was active. */
uint64_t bars_covered_ns(const struct trace *trace, const uint32_t *spans, size_t count);
