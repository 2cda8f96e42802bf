/* A recording as it is played: for each thread its call starts, call ends and resource events in order, the
 * activity records in recorded order, and one global numbering of all of them.
 *
 * A recording stores a call at its return and an activity record when its buffer was decoded. Here both
 * return to their original place. */
#pragma once

#include "base/status.h"
#include "model/gpu_counter_names.h"
#include "model/metrics/links.h"
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
    const struct activity_record *record;
    uint64_t order_ns; /* when it was complete and its call had started */
    uint64_t index;    /* due after all lower ones */
};

/* The code of a call; a stack is stored once. */
struct timeline_code {
    uint32_t correlation_id;
    const struct code_record *record; /* with frames */
};

struct timeline_stack {
    struct timeline_stack *next;
    struct code_record *record; /* owned */
};

#define TIMELINE_STACK_PLACES 65536

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
    struct gpu_counters_record **counts; /* by correlation ID */
    size_t count_count;
    char counters[GPU_COUNTERS_MAX][128]; /* the names of their values */
    size_t counter_count;
    struct timeline_thread *threads;
    size_t thread_count;
    /* Boundaries of steps, in order of time. If there are any, they are the items of the first thread, which
     * has no others. */
    struct step_boundary *steps;
    size_t step_count;
    struct timeline_code *codes; /* by correlation ID */
    size_t code_count;
    struct timeline_stack **stacks; /* by ID: TIMELINE_STACK_PLACES lists; NULL: there is no stack */
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
    char (*links)[LINKS_TEXT_BYTES]; /* one line per device (model/metrics/links.h); owned */
    size_t link_count;
    struct recording *recording; /* owns the names */
};

/* `shuffle`: size of the windows in which activity records are shuffled; 0: none. */
enum status timeline_load(const char *path, uint32_t shuffle, struct timeline *timeline,
                          struct error *err) MUST_CHECK;
void timeline_deinit(struct timeline *timeline);

/* The counters recorded for this launch, or NULL. */
const struct gpu_counters_record *timeline_counts_of(const struct timeline *timeline,
                                                     uint32_t correlation_id);
/* The recorded code of this call, or NULL. */
const struct code_record *timeline_code_of(const struct timeline *timeline, uint32_t correlation_id);
/* The stack with this ID, or NULL. */
const struct code_record *timeline_stack(const struct timeline *timeline, uint64_t id);
/* The recorded links of the device with this UUID (model/metrics/links.h), or NULL. */
const char *timeline_links(const struct timeline *timeline, const char *uuid);

/* The last value recorded for this key (agent/recording/recording.h), or NULL. */
const char *timeline_info(const struct timeline *timeline, const char *key);

/* The nonce of the last boundary until this recorded time; 0: none. */
uint64_t timeline_nonce(const struct timeline *timeline, uint64_t time_ns);

const struct timeline_context *timeline_context_by_id(const struct timeline *timeline, uint32_t id);
const struct timeline_context *timeline_context_by_handle(const struct timeline *timeline, uint64_t handle);
