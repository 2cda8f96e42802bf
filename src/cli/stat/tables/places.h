/* The process, GPU, range and thread of a span. Calls have the resource of their process, GPU work that of
 * its device. The process's instance ID and CUPTI's context number, which is unique within a process, connect
 * them. */
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
/* The resource of the GPU of a call's context; TRACE_NONE if the trace has no work of that context. */
uint32_t places_device(const struct places *places, const struct trace_span *call);
/* The resource of a process's GPU with this index; TRACE_NONE if the trace has no work on it. */
uint32_t places_device_named(const struct places *places, uint32_t process, const char *index);
/* The process ID from any of the process's resources, or "". */
const char *places_pid(const struct places *places, uint32_t process);
/* The GPU's index, or "unknown". */
const char *places_device_name(const struct places *places, uint32_t device);
/* Spans that the trace's processes lost, from their last session spans. */
uint64_t places_lost(const struct places *places);
/* The name of the innermost range around a call, or "". */
const char *places_range(const struct places *places, const struct trace_span *call);
/* The calling thread's name, otherwise its ID, otherwise "". */
const char *places_thread(const struct places *places, const struct trace_span *call);
const char *places_thread_id(const struct places *places, const struct trace_span *call);

#endif
