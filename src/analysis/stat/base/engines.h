/* Serving engines, as their spans show them. The span of an iteration has its requests and tokens, and the
 * span of its first rank has the totals of calls and GPU work. Both come from one process, with the same
 * start. */
#pragma once

#include "analysis/stat/base/stat.h"

#define ENGINES_MAX 1024 /* engines and processes with rows of their own */

/* The work of an iteration: by its tokens, or else its kind (engine.iteration.kind). */
enum engine_work {
    ENGINE_PREFILL,
    ENGINE_DECODE,
    ENGINE_MIXED,
    ENGINE_DUMMY,
    ENGINE_TRANSFER,
    ENGINE_WARM_UP,
    ENGINE_UNKNOWN,
    ENGINE_WORKS
};
const char *engine_work_word(enum engine_work work);

struct engine_iteration {
    const char *engine; /* kept (stat_keep()); NULL: unknown */
    uint32_t process, trace;
    uint32_t name; /* the span's name, a string of the trace */
    uint64_t number, start_ns, end_ns;
    enum engine_work work;
    uint64_t requests, prefill_tokens, decode_tokens;
    bool has_span;   /* the iteration's own span was there; without it, only its process, trace and totals
                        are known */
    bool is_summary; /* sent afterwards because it was slow: its work has no spans, and it is no sample */
    bool has_totals; /* the first rank's span was there, and knows all GPU work */
    bool is_partial; /* some of the rank's work has no spans */
    uint64_t gpu_ns, calls, kernels, graphs;
    const char
        *device_id; /* index of the first rank's GPU, kept; NULL: it had no work, or several GPUs had */
    char *parts;    /* of mixed iterations, if it was asked for: its requests, as JSON; NULL: unknown */
};

#define ENGINE_OPEN_MAX 1024

/* The iterations whose spans may not be complete: those with the latest start. Zeroed: none. */
struct engine_iterations {
    bool has_parts; /* copy the parts of mixed iterations */
    struct engine_iteration *open;
    size_t count, capacity;
};

/* Takes an iteration that is complete. */
typedef void engine_iteration_fn(void *context, const struct stat *stat,
                                 const struct engine_iteration *iteration);
/* Takes a span of the current segment. That of an iteration or request passes on those iterations that
 * started earlier, in order of their starts. */
void engine_iterations_take(struct engine_iterations *all, const struct stat *stat,
                            const struct trace_span *span, engine_iteration_fn *done, void *context);
/* Passes on the last iterations, unless `done` is NULL, and frees all. */
void engine_iterations_finish(struct engine_iterations *all, const struct stat *stat,
                              engine_iteration_fn *done, void *context);

/* Numbers of engines, from 0 without gaps: one for each name and process. Zeroed: none. */
struct engine_numbers {
    struct int_map map;
    struct engine_name {
        const char *engine;
        uint32_t process;
    } * items;
    size_t count, capacity;
};

/* Returns the engine's number; ENGINES_MAX for all beyond the limit. `engine` is kept, or NULL. */
uint32_t engine_number(struct engine_numbers *numbers, const char *engine, uint32_t process);
/* Fills two cells: the engine's name and its process. */
void engine_fill_name(const struct engine_numbers *numbers, const struct stat *stat, uint32_t number,
                      struct stat_value *cells);
void engine_numbers_deinit(struct engine_numbers *numbers);

/* Returns the value of engine.name, kept; NULL: unknown. */
const char *engine_name_of(const struct stat *stat, const struct trace_span *span);
/* Returns the trace's ID; missing: it is beyond the limit of traces. */
struct stat_value engine_trace_id(struct stat_table *table, const struct stat *stat, uint32_t trace);

/* The longest of many items are kept, the longest first; of equal ones, the earlier. */
#define ENGINE_SLOWEST_MAX 20
/* Makes room in an array of ENGINE_SLOWEST_MAX items of `bytes` bytes, which start with their duration in ns
 * (uint64_t). Returns the place of an item with this duration; NULL: the others are longer. */
void *engine_slowest(void *items, size_t *count, size_t bytes, uint64_t duration_ns);
