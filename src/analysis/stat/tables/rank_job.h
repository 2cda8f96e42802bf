/* Translates spans of a training job for the analysis across ranks (src/analysis/ranks). Iterations of a
 * serving engine are its steps. */
#pragma once

#include "analysis/ranks/ranks.h"
#include "analysis/stat/base/stat.h"

/* A zeroed one is empty. */
struct rank_job {
    struct ranks *ranks;    /* NULL: no step up to now */
    bool has_steps;         /* some are no iterations */
    struct int_map rank_of; /* process → index in the analysis */
    struct int_map step_of; /* process and trace → index of a step */
    /* A step of a process, found by the trace of its work. */
    struct rank_job_step {
        uint32_t rank;
        uint64_t number;
    } * steps;
    size_t step_count, step_capacity;
    struct rank_job_process {
        uint32_t process;
        bool has_gpu;
    } * processes; /* by index in the analysis */
    size_t process_count, process_capacity;
};

/* Takes a span of the current segment. Spans come in their order in it. */
void rank_job_take(struct rank_job *job, const struct stat *stat, const struct trace_span *span);
void rank_job_deinit(struct rank_job *job);
