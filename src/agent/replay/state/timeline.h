/* A recording as it is played: for each thread its call starts, call ends and resource events in order, the
 * activity records in recorded order, and one global numbering of all of them.
 *
 * A recording stores a call at its return and an activity record when its buffer was decoded. Here both
 * return to their original place. */
#pragma once

#include "base/status.h"
#include "model/gpu_counter_names.h"
#include "model/record.h"
#include "model/step.h"

#include <stdbool.h>
#include <stdint.h>

enum item_type { ITEM_ENTER, ITEM_EXIT, ITEM_RESOURCE, ITEM_SAID, ITEM_STEP };

struct item {
    uint64_t time_ns;   /* the clock's value during the event, exactly as recorded */
    uint64_t order_ns;  /* the same, but never before the thread's previous event */
    uint64_t index;     /* position in the global order */
    uint32_t depth;     /* ENTER, EXIT: number of enclosing calls */
    uint8_t type;       /* enum item_type */
    const char *symbol; /* launches: the kernel's name if a record has it; or NULL */
    union {
        const struct call_record *call;
        const struct resource_record *resource;
        const struct record_head *annotation; /* a context, range, mark or name */
        const struct step_boundary *step;
    };
};

struct timeline_thread {
    uint64_t tid;
    char name[THREAD_NAME_BYTES];
    struct item *items;
    size_t item_count;
    uint32_t depth_max;
    /* Only while loading, in recorded order. */
    struct call_record **calls;
    size_t call_count;
    struct resource_record *
        *others; /* resource records and annotations, whose first members, head and time, are the same */
    size_t other_count;
};

struct timeline_activity {
    struct activity_record *record; /* owned */
    uint64_t order_ns;              /* when it was complete and its call had started */
    uint64_t index;                 /* due after all lower ones */
};

/* Further records of calls, by correlation ID. */
struct timeline_of_calls {
    struct timeline_of_call {
        uint32_t correlation_id;
        const void *record;
    } * entries;
    size_t count;
};

struct timeline_info {
    char *key, *value; /* owned */
};

struct timeline_context {
    uint32_t id;
    uint32_t device_id;
    uint32_t null_stream_id;
    uint64_t handle;
};

struct timeline {
    struct timeline_of_calls counts;      /* struct gpu_counters_record, owned */
    char counters[GPU_COUNTERS_MAX][128]; /* the names of their values */
    size_t counter_count;
    struct timeline_thread *threads;
    size_t thread_count;
    /* Boundaries of steps, in order of time. If there are any, they are the items of the first thread, which
     * has no others. */
    struct step_boundary *steps;
    size_t step_count;
    struct timeline_of_calls codes; /* struct code_record with frames, of `stacks` */
    void *stacks;                   /* struct code_record by ID, each once, owned (tsearch) */
    struct timeline_info *infos;
    size_t info_count;
    struct timeline_activity *activities;
    size_t activity_count;
    struct timeline_context *contexts;
    size_t context_count;
    uint64_t first_ns;
    uint64_t last_ns;
    uint64_t index_count;
    uint32_t correlation_min; /* except 0 */
    uint32_t correlation_max;
    struct recording *recording; /* owns the names */
};

/* `shuffle`: size of the windows in which activity records are shuffled; 0: none. */
enum status timeline_load(const char *path, uint32_t shuffle, struct timeline *timeline,
                          struct error *err) MUST_CHECK;
void timeline_deinit(struct timeline *timeline);

/* The record for this call, or NULL. */
const void *timeline_of_call(const struct timeline_of_calls *list, uint32_t correlation_id);
/* The stack with this ID, or NULL. */
const struct code_record *timeline_stack(const struct timeline *timeline, uint64_t id);
/* The last value recorded for this key (agent/recording/recording.h), or NULL. `of` not NULL: the last one
 * that begins with the same word. */
const char *timeline_info(const struct timeline *timeline, const char *key, const char *of);

/* The nonce of the last boundary until this recorded time; 0: none. */
uint64_t timeline_nonce(const struct timeline *timeline, uint64_t time_ns);
