/* A trace as a picture in the terminal: a header, the tree of spans with bars on one scale, and the GPU's
 * streams. */
#pragma once

#include "analysis/trace/trace.h"

#include <stdio.h>

struct picture_options {
    size_t columns;
    size_t rows_max; /* 0: one line per span */
    bool is_linear;
    bool color;
    bool utf8;
};

void picture_draw(FILE *out, const struct trace *trace, const struct picture_options *options);
