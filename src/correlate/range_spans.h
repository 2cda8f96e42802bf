/* Spans of the program's ranges and marks. */
#ifndef CUSPAN_CORRELATE_RANGE_SPANS_H
#define CUSPAN_CORRELATE_RANGE_SPANS_H

#include "correlate/trace/ranges.h"

struct correlate;

struct range_spans {
    struct ranges open;
    /* Scratch for the current span: */
    struct range ended;
    union {
        struct range_record early;
        char early_bytes[RANGE_RECORD_BYTES];
    };
    struct range_events events;
    struct attr_key keys[SPAN_ATTRS_MAX];
    char message[RANGE_TEXT_BYTES + 1];
};

/* Closes the range and frees its slot. `end` NULL: the program did not end it. */
void range_spans_close(struct correlate *correlate, struct range *range, uint64_t end_ns,
                       const struct range_record *end);
/* Closes all that are still open. */
void range_spans_finish(struct correlate *correlate);

#endif
