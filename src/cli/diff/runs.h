/* What `diff` compares and `stat --save` keeps: of each run, every kernel, call and sort of copy with the
 * spread of its times, and the run's totals. */
#ifndef CUSPAN_CLI_DIFF_RUNS_H
#define CUSPAN_CLI_DIFF_RUNS_H

#include "base/status.h"
#include "cli/diff/compare.h"
#include "cli/stat/stat_table.h"
#include "cli/trace/trace.h"

/* In the order in which they are kept and shown. */
enum measure_kind { MEASURE_KERNEL, MEASURE_COPY, MEASURE_CALL, MEASURE_TOTAL, MEASURE_KIND_COUNT };

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

/* One more run: all spans of the trace. */
void run_set_add_trace(struct run_set *set, struct trace *trace);
/* As many more runs as the baseline has. INVALID: what isn't as it should be. */
enum status run_set_add_baseline(struct run_set *set, const char *text, const char *name,
                                 struct error *err) MUST_CHECK;
/* The file at `path`, which is a baseline, OTLP JSON or a recording; or, where it is a folder, each file in
 * it. Spans beyond `spans_max` of a file are added to *left_out. */
enum status run_set_add_path(struct run_set *set, const char *path, size_t spans_max, size_t *left_out,
                             struct error *err) MUST_CHECK;
void run_set_sort(struct run_set *set);

/* A baseline: JSON, a line a run and item, in an order that stays. The set must be sorted. */
enum status run_set_save(const struct run_set *set, const char *path, struct error *err) MUST_CHECK;

/* The item, made where it isn't there. The pointer holds until the next one is made. */
struct measure *run_set_measure(struct run_set *set, enum measure_kind kind, const char *name,
                                enum stat_unit unit);
/* All of the set's items get room for that many runs more. */
void run_set_grow(struct run_set *set, size_t runs);
/* Adds those of a list "A, B" that aren't there. */
void run_set_add_gpus(struct run_set *set, const char *gpus);

/* "kernel", "copy", "call", "total". */
const char *measure_kind_name(enum measure_kind kind);
int measure_compare(const struct measure *a, const struct measure *b);

#endif
