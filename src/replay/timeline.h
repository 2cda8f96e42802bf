/* A recording as it is played: for each thread its enters, exits and resource events in order, beside them
 * the activity records in recorded order, and over all of them one numbering, the order in which things
 * happened.
 *
 * A recording holds a call when it returned and a record when its buffer was decoded; here both get back
 * their place. */
#ifndef CUSPAN_REPLAY_TIMELINE_H
#define CUSPAN_REPLAY_TIMELINE_H

#include "base/status.h"
#include "model/gpu_counter_names.h"
#include "model/links.h"
#include "model/record.h"

#include <stdbool.h>
#include <stdint.h>

enum item_type { ITEM_ENTER, ITEM_EXIT, ITEM_RESOURCE, ITEM_SAID };

struct item {
    uint64_t time_ns;   /* what the clock shows meanwhile, exactly as recorded */
    uint64_t order_ns;  /* the same, but never before what the thread did earlier */
    uint64_t index;     /* in the order of everything */
    uint32_t depth;     /* ENTER, EXIT: how many calls are open around it */
    uint8_t type;       /* enum item_type */
    const char *symbol; /* launches: the kernel's name where a record tells it; NULL */
    union {
        const struct call_record *call;
        const struct resource_record *resource;
        const struct record_head *said; /* a context, range, mark or name */
    };
};

struct timeline_thread {
    uint64_t tid;
    char name[THREAD_NAME_BYTES];
    struct item *items;
    size_t item_count;
    uint32_t depth_max;
    /* While loading: what was recorded of it, in recorded order. */
    struct call_record **calls;
    size_t call_count;
    struct resource_record **others; /* resource records and what was said, which begin alike: head, time */
    size_t other_count;
};

struct timeline_activity {
    const struct activity_record *record;
    uint64_t order_ns; /* when it was complete, and its call entered */
    uint64_t index;    /* it is due when all with lower ones have happened */
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
    struct timeline_activity *activities;
    size_t activity_count;
    struct timeline_context *contexts;
    size_t context_count;
    uint64_t first_ns;
    uint64_t last_ns;
    uint64_t index_count;
    uint32_t correlation_min; /* without 0 */
    uint32_t correlation_max;
    char program[256];               /* "": unknown */
    char (*links)[LINKS_TEXT_BYTES]; /* of each device, as model/links.h has it; owned */
    size_t link_count;
    struct recording *recording; /* owns the names */
};

/* `shuffle`: activity records change places within windows of so many; 0: none. */
enum status timeline_load(const char *path, uint32_t shuffle, struct timeline *timeline,
                          struct error *err) MUST_CHECK;
void timeline_deinit(struct timeline *timeline);

/* What was counted of this launch; NULL: nothing. */
const struct gpu_counters_record *timeline_counts_of(const struct timeline *timeline,
                                                     uint32_t correlation_id);
/* What was recorded of the links of the device with this UUID, as model/links.h has it; NULL: nothing. */
const char *timeline_links(const struct timeline *timeline, const char *uuid);

const struct timeline_context *timeline_context_by_id(const struct timeline *timeline, uint32_t id);
const struct timeline_context *timeline_context_by_handle(const struct timeline *timeline, uint64_t handle);

#endif
