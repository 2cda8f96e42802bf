/* The right part of the picture: bars on the common scale, and the axis above them.
 *
 * One span is drawn with its begin and end to an eighth of a column. Where a line stands for several, each
 * column is as high as the share of its time in which one of them was there. */
#ifndef CUSPAN_CLI_SHOW_BARS_H
#define CUSPAN_CLI_SHOW_BARS_H

#include "cli/show/scale.h"
#include "cli/util/text.h"

struct bars_look {
    unsigned style; /* enum style, of what is covered */
    bool color;
    bool utf8;
};

/* Adds a bar for the spans, scale->cells columns wide but for blanks at its end. `spans` are in order of
 * time. */
void bars_add(struct text *text, const struct trace *trace, const uint32_t *spans, size_t count,
              const struct scale *scale, const struct bars_look *look);

/* Adds the axis: a tick and its time at regular distances; behind a cut, times count from there ("+20 µs").
 */
void bars_add_axis(struct text *text, const struct scale *scale, bool utf8);

/* ns in which at least one of the spans was there. */
uint64_t bars_covered_ns(const struct trace *trace, const uint32_t *spans, size_t count);

#endif
