/* Ranges that are open: what was said when they began, and what happened inside them, until they end. A
 * bounded table, by span ID. */
#ifndef CUSPAN_CORRELATE_RANGES_H
#define CUSPAN_CORRELATE_RANGES_H

#include "base/limits.h"
#include "base/status.h"
#include "correlate/trace/parent.h"
#include "model/record.h"
#include "model/span.h"

#include <stdbool.h>

struct range {
    uint64_t id; /* its bytes in memory are the span ID */
    struct parent parent;
    uint8_t context[24];       /* trace and span ID of the thread's context when it began; all zero: none */
    struct thread_info thread; /* on which it began */
    uint32_t account;          /* handle of its own; 0: none */
    uint64_t start_ns;
    uint32_t domain;
    uint8_t flags; /* enum range_flags */
    uint16_t name_bytes, attr_count, attrs_dropped;
    uint16_t marks_bytes, mark_count, marks_dropped;
    uint32_t text_bytes;
    uint32_t next; /* in its hash's chain, or of the free ones; index + 1 */
    char text[RANGE_RECORD_BYTES];
    char marks[RANGE_MARKS_BYTES];
};

struct ranges;

enum status ranges_create(struct ranges **ranges) MUST_CHECK;
void ranges_destroy(struct ranges *ranges);

/* How many are open. */
uint32_t ranges_open(const struct ranges *ranges);

/* A range begins. NULL: no place is left; counted (lost_range). The caller fills parent and context. */
struct range *ranges_begin(struct ranges *ranges, const struct thread_info *thread,
                           const struct range_record *begin);
/* The open range with this ID, or NULL. */
struct range *ranges_find(struct ranges *ranges, uint64_t id);
/* Something happened in the range: kept as its event, as long as there is room. */
void ranges_add_mark(struct range *range, const struct range_record *mark);
/* The range's place is free again. */
void ranges_remove(struct ranges *ranges, struct range *range);
/* Calls `visit` for each open range; it may remove that one. */
void ranges_visit(struct ranges *ranges, void (*visit)(void *context, struct range *range), void *context);

/* An end that came before its begin (from another thread's ring) is kept for a while. */
void ranges_keep_end(struct ranges *ranges, const struct range_record *end);
/* The kept end of this range, valid until the next one is kept; NULL: there is none. */
const struct range_record *ranges_take_end(struct ranges *ranges, uint64_t id);

/* Appends the attributes of a record's text to the span: keys go to `keys`, which has room for
 * SPAN_ATTRS_MAX, from
 * `*key_count` on. Strings are borrowed. */
void ranges_attributes(struct span *span, const char *text, uint32_t text_bytes, uint32_t name_bytes,
                       uint32_t count, struct attr_key *keys, uint32_t *key_count);

/* The events of the range's marks, for as long as the range and `scratch` live. */
#define RANGE_EVENTS_MAX 16
struct range_events {
    struct span_event events[RANGE_EVENTS_MAX];
    struct attr_key keys[RANGE_EVENTS_MAX * 6];
    char names[RANGE_EVENTS_MAX][64];
    uint32_t key_count;
};
void ranges_events(const struct range *range, struct range_events *scratch, struct span *span);

#endif
