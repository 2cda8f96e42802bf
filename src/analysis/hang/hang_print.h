/* Prints what hang_analyze() found, for a terminal and as JSON. */
#pragma once

#include "analysis/hang/hang_analyze.h"

#include <stdio.h>

#define HANG_ROWS_MAX 24 /* of the table of places, so that a job fits a screen */

struct hang_style {
    size_t columns;
    bool utf8;
};

void hang_print(FILE *out, const struct hang_model *model, const struct hang_verdict *verdict,
                const struct hang_style *style);
/* As an object of an array. */
void hang_write(struct json_writer *json, const struct hang_model *model, const struct hang_verdict *verdict);
