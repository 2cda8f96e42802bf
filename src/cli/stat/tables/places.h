/* Whose a span is, beyond its parent: its process, its context's GPU, the range around it. Calls stand on the
 * resource of their process and GPU work on that of its device; what joins them is the process's instance ID
 * and CUPTI's number of the context, which hold within one process. */
#ifndef CUSPAN_CLI_STAT_TABLES_PLACES_H
#define CUSPAN_CLI_STAT_TABLES_PLACES_H

#include "cli/stat/stat.h"

struct places {
    const struct stat *stat;
    uint32_t *process_of;   /* dense numbers, by resource */
    uint32_t process_count; /* every resource has one */
    struct int_map devices; /* process and context → resource of the GPU */
};

void places_init(struct places *places, const struct stat *stat);
void places_deinit(struct places *places);

static inline uint32_t places_process(const struct places *places, const struct trace_span *span)
{
    return places->process_of[span->resource];
}
/* The resource of the GPU that a call's context is on; TRACE_NONE where no work of that context is there. */
uint32_t places_device(const struct places *places, const struct trace_span *call);
/* The resource of a process's GPU by its index, as text; TRACE_NONE: none of its work is there. */
uint32_t places_device_named(const struct places *places, uint32_t process, const char *index);
/* Of any of the process's resources: its process ID, or "". */
const char *places_pid(const struct places *places, uint32_t process);
/* The GPU's index, or "unknown". */
const char *places_device_name(const struct places *places, uint32_t device);
/* Spans that the trace's processes lost, as their last session spans have it. */
uint64_t places_lost(const struct places *places);
/* The name of the innermost range that a call was made in, or "". */
const char *places_range(const struct places *places, const struct trace_span *call);
/* The calling thread's name, or its ID where it has none, or "". */
const char *places_thread(const struct places *places, const struct trace_span *call);
const char *places_thread_id(const struct places *places, const struct trace_span *call);

#endif
