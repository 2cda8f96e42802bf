/* One line for each rank of a training step, with what its GPUs did, on the scale of the picture. If there
 * are too many, neighboring ranks that spent their time alike share a line; a late rank always has its own.
 */
#pragma once

#include "analysis/show/scale.h"
#include "analysis/show/step_ranks.h"
#include "cli/util/text.h"

/* Columns of the three times between label and bar. */
#define RANK_ROWS_TIMES 27

struct rank_row {
    size_t first, count; /* in struct step_ranks */
};

struct rank_rows {
    struct rank_row *items; /* owned */
    size_t count;
};

/* rows_max 0: one line each. */
void rank_rows_fold(struct rank_rows *rows, const struct step_ranks *ranks, const struct trace *trace,
                    size_t rows_max);
void rank_rows_deinit(struct rank_rows *rows);

/* The label, without times and bar. */
void rank_rows_add_label(struct text *text, const struct trace *trace, const struct step_ranks *ranks,
                         const struct rank_row *row, bool utf8);
/* Titles of the times. */
void rank_rows_add_titles(struct text *text);
/* The means of the line's ranks. */
void rank_rows_add_times(struct text *text, const struct step_ranks *ranks, const struct rank_row *row,
                         bool utf8);
/* The bar of the line's first rank. */
void rank_rows_add_bar(struct text *text, const struct trace *trace, const struct step_ranks *ranks,
                       const struct rank_row *row, const struct scale *scale, bool color, bool utf8);
/* Explains the bars: "█ compute  ░ communication  ..." */
void rank_rows_add_legend(struct text *text, bool color, bool utf8);
