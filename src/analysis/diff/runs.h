/* The data that `diff` compares and `stat --save` stores: the durations of each kernel, call and kind of copy
 * per run, and the run's totals. */
#pragma once

#include "base/status.h"
#include "analysis/diff/compare.h"
#include "analysis/stat/base/stat_table.h"
#include "analysis/trace/trace.h"

/* In the order of files and output. */
enum measure_kind {
    MEASURE_KERNEL,
    MEASURE_COPY,
    MEASURE_CALL,
    MEASURE_TOTAL,
    MEASURE_CODE, /* GPU time of a line; has no limits and no verdict */
    MEASURE_KIND_COUNT,
    MEASURE_COMPARED_COUNT = MEASURE_CODE /* those before it */
};

/* The name of a line is "model.py:31", or this and the function after it. */
#define RUN_CODE_SEPARATOR "\t"
#define RUN_CODE_LINES_MAX 4096 /* of a run, those with the most time; the others together are one */

struct measure {
    enum measure_kind kind;
    char *name;            /* kernels in full; totals by their key in `cuspan stat --json` */
    enum stat_unit unit;   /* STAT_NS, STAT_BYTES or STAT_COUNT */
    struct run_item *runs; /* as many as the set has */
};

struct run_set {
    struct measure *items; /* by kind and name, once run_set_sort() has been called */
    size_t count, capacity;
    size_t run_count;
    char *gpus; /* the names of all that worked, "NVIDIA H200, NVIDIA L4"; "": none */
};

/* Safe on a zeroed one. */
void run_set_deinit(struct run_set *set);

/* One more run, from segments of its spans (analysis/stat/base/stat.h). The caller destroys it with
 * run_set_end(), which adds it to the set; the last segment must still exist. */
struct run_reader;
struct run_reader *run_set_begin(void);
void run_set_take(struct run_reader *run, const struct trace *segment);
/* `set` may be NULL: the run is not added. */
void run_set_end(struct run_reader *run, struct run_set *set);
/* Adds the runs of a baseline. INVALID: err says what is wrong. */
enum status run_set_add_baseline(struct run_set *set, const char *text, const char *name,
                                 struct error *err) MUST_CHECK;
/* Adds a run per file at `path` (a file, a folder or a pattern): a baseline's, or one from spans or a
 * recording. `command`: "diff", for remarks about the input. */
enum status run_set_add_path(struct run_set *set, const char *path, const char *command,
                             struct error *err) MUST_CHECK;
void run_set_sort(struct run_set *set);

/* Writes a baseline: JSON with a line per run and item, in a stable order. The set must be sorted. */
enum status run_set_save(const struct run_set *set, const char *path, struct error *err) MUST_CHECK;

/* Finds or creates the item. The pointer is valid until the next one is created. */
struct measure *run_set_measure(struct run_set *set, enum measure_kind kind, const char *name,
                                enum stat_unit unit);
/* Makes room for that many more runs in all items. */
void run_set_grow(struct run_set *set, size_t runs);
/* Adds the missing names of a list "A, B". */
void run_set_add_gpus(struct run_set *set, const char *gpus);

/* "kernel", "copy", "call", "total", "code". */
const char *measure_kind_name(enum measure_kind kind);
/* Compares two struct measure by kind and name. */
int measure_compare(const void *a, const void *b);
