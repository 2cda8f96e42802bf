/* Keeps open ranges, with their start record and marks, in a bounded table by span ID. */
#pragma once

#include "base/limits.h"
#include "agent/correlate/trace/parent.h"
#include "model/record.h"
#include "model/span.h"

#include <stdbool.h>

struct range {
    uint64_t id; /* the span ID, in its byte order; 0: free */
    struct parent parent;
    uint8_t context[24];       /* trace and span ID of the thread's context at the start; zeros: none */
    struct thread_info thread; /* the thread that started it */
    uint32_t account;          /* handle of its own account (accounts.h); 0: none */
    bool is_left_out;          /* it gets no span, because its step has too many */
    bool is_early;             /* no range: `start` is an end record that arrived before its start */
    uint16_t marks_bytes, mark_count, marks_dropped;
    uint32_t next; /* in the hash chain or free list, index + 1 */
    union {
        struct range_record start;
        char start_bytes[RANGE_RECORD_BYTES];
    };
    char marks[RANGE_MARKS_BYTES];
};

#define RANGE_BUCKETS 4096

/* All zero: empty. References are index + 1; 0: none. */
struct ranges {
    uint32_t open;
    uint32_t used; /* highest slot ever used: memory above it is never touched */
    uint32_t free; /* free list */
    uint32_t buckets[RANGE_BUCKETS];
    /* The early ends in the order of arrival, with stale entries of ends whose start has arrived. */
    uint32_t early_first, early_count;
    struct range_early {
        uint64_t id;
        uint32_t entry;
    } early[RANGES_OPEN_MAX];
    uint64_t reclaimed; /* ranges closed because ends were lost (range_ends_lost) */
    uint64_t refused;   /* ranges that got no slot, or lost it: their ends are still to come */
    struct range entries[RANGES_OPEN_MAX];
};

/* Makes room for one more entry if the table is full, by forgetting the oldest early end. Without early ends,
 * if ends were lost, whose ranges would stay forever, returns the oldest range, which the caller must close.
 * NULL: nothing to close. */
struct range *ranges_make_room(struct ranges *ranges);
/* Opens a range. The caller fills parent and context. NULL: no slot is free, which is counted
 * (lost_range). */
struct range *ranges_begin(struct ranges *ranges, const struct thread_info *thread,
                           const struct range_record *start);
/* Returns the open range with this ID; NULL: none. Never returns an early end. */
struct range *ranges_find(struct ranges *ranges, uint64_t id);
/* Keeps a mark as an event of the range, while there is room. */
void ranges_add_mark(struct range *range, const struct range_record *mark);
/* Frees the range's slot. */
void ranges_remove(struct ranges *ranges, struct range *range);
/* Calls `visit` for each open range. It may remove that range. */
void ranges_visit(struct ranges *ranges, void (*visit)(void *context, struct range *range), void *context);

/* Keeps an end that arrived before its start, which is in another thread's ring. Without room, counts it
 * (range_ends_lost). */
void ranges_keep_end(struct ranges *ranges, const struct range_record *end);
/* Moves the early end of this range to `end`, which has room for RANGE_RECORD_BYTES. False: there is none. */
bool ranges_take_end(struct ranges *ranges, uint64_t id, struct range_record *end);

/* Adds the attributes in a record's text to the span. Keys go to `keys`, which has SPAN_ATTRS_MAX places,
 * from `*key_count` on. Strings are borrowed. */
void ranges_attributes(struct span *span, const struct range_record *record, struct attr_key *keys,
                       uint32_t *key_count);

/* Reads the next attribute of a text that ends at `end`, and moves `*at` behind it. `*key` and `*value` point
 * into the text. False: there are no more. */
bool ranges_next_attr(const char **at, const char *end, struct range_attr_head *head, const char **key,
                      const char **value);

/* Returns the size of the record up to the end of its text. */
static inline uint32_t range_record_bytes(const struct range_record *record)
{
    return (uint32_t)sizeof *record + record->text_bytes;
}

/* Adds the range's marks as events, valid as long as the range and `scratch`. */
#define RANGE_EVENTS_MAX 16
struct range_events {
    struct span_event events[RANGE_EVENTS_MAX];
    struct attr_key keys[RANGE_EVENTS_MAX * 6];
    char names[RANGE_EVENTS_MAX][64];
    uint32_t key_count;
};
void ranges_events(const struct range *range, struct range_events *scratch, struct span *span);
