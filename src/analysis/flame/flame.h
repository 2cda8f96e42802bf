/* `cuspan flame`: what the GPU did, by call stack, as a flame graph and in the formats of other viewers. */
#pragma once

#include "base/status.h"
#include "analysis/flame/flame_tree.h"
#include "analysis/trace/trace_read.h"

#include <stdio.h>

/* In the order of the words of `--weight` (src/command/table/command_table.c). */
enum flame_weight { FLAME_GPU_TIME, FLAME_WAIT, FLAME_BYTES, FLAME_LAUNCHES };

/* In the order of the words of `--format`. */
enum flame_format { FLAME_SVG, FLAME_FOLDED, FLAME_PPROF, FLAME_FORMATS };

struct flame {
    struct flame_tree tree;
    enum flame_weight weight;
    bool is_diff; /* of two runs; frames have no line numbers, because edits move lines */
    bool has_stacks;
};

/* Adds the spans of an input, as one of the runs. */
enum status flame_read(struct flame *flame, int run, const struct trace_input *input,
                       struct trace_facts *facts, struct error *err) MUST_CHECK;

/* "1.23 ms", "4 KiB", "12": a value of this weight; returns `out`. */
const char *flame_value(const struct flame *flame, char *out, uint64_t value);

/* These write after flame_tree_finish(). Not all formats can show two runs. */
void flame_write_svg(FILE *out, const struct flame *flame);
void flame_write_folded(FILE *out, const struct flame *flame);
/* pprof expects it as gzip. */
void flame_write_pprof(FILE *out, const struct flame *flame);
