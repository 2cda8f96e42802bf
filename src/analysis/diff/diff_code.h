/* The table of code of `cuspan diff`: the GPU time of each line, function or module on both sides. */
#pragma once

#include "analysis/diff/runs.h"
#include "analysis/stat/base/stat.h"

#define DIFF_CODE_ROWS 20

/* Adds the table "code", with the largest changes first, if both sides have lines. With `with_all`, it has
 * all rows, also those without a change. */
void diff_code_report(const struct run_set sides[SIDE_COUNT], enum stat_code_by by, bool with_all,
                      struct stat_report *report);
