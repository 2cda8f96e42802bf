/* Finds the process, GPU, range and thread of a span. Calls have the resource of their process, GPU work that
 * of its device. The process's instance ID and CUPTI's context ID, which is unique within a process, connect
 * them. */
#pragma once

#include "analysis/stat/base/stat.h"

struct places {
    const struct stat *stat;
    uint32_t *process_of; /* process number by resource, from 0 without gaps */
    size_t resource_count, resource_capacity;
    uint32_t process_count;   /* processes so far; every resource has one */
    struct int_map processes; /* hash of the instance ID or the process ID → number */
    struct int_map devices;   /* process and context → resource of the GPU */
    size_t lane_count;
    struct process_facts {
        const char *rank, *host, *service; /* from any of the process's resources; NULL: unknown */
        const char *pid;
        const char *name; /* see places_name() */
        uint64_t lost;    /* lost spans, from its last session span */
    } * list;             /* facts by process number */
    size_t list_count, list_capacity;
    uint32_t named_count;
    struct int_map names; /* hash of a name → the first process of that name */
};

/* Takes the resources and lanes of the stat's current segment. A zeroed one knows nothing. */
void places_learn(struct places *places, const struct stat *stat);
void places_deinit(struct places *places);

static inline uint32_t places_process(const struct places *places, const struct trace_span *span)
{
    return places->process_of[span->resource];
}
/* Returns the CUDA context of a call of the current segment, a number within the process; 0: none. */
uint32_t places_context(const struct stat *stat, const struct trace_span *call);
/* Returns the resource of the GPU of a CUDA context; TRACE_NONE: the context has had no work up to now. */
uint32_t places_device(const struct places *places, uint32_t process, uint32_t context);
/* Returns the resource of the process's GPU with this index; TRACE_NONE: the process has had no work on it.
 */
uint32_t places_device_named(const struct places *places, uint32_t process, const char *index);
/* Returns "rank 3 (node-2, trainer)" if the rank is known, otherwise "trainer 1274 (node-2)"; "": nothing is
 * known. If several processes have the same rank (its data loaders, a restart), all but the first one have
 * their process ID, too. */
const char *places_name(struct places *places, uint32_t process);
/* Returns the GPU's index, or "unknown". */
const char *places_device_name(const struct places *places, uint32_t device);
/* Takes the count of lost spans from a session span. */
void places_take(struct places *places, const struct trace_span *session);
/* Returns the number of spans that all processes lost, by their last session spans. */
uint64_t places_lost(const struct places *places);
/* Returns the name of the innermost range around a call, a string of the trace; 0: none. */
uint32_t places_range(const struct stat *stat, const struct trace_span *call);
/* Returns the thread's name, otherwise its ID, otherwise "". */
const char *places_thread(const struct places *places, uint32_t thread);
const char *places_thread_id(const struct places *places, uint32_t thread);
