/* Makes the spans of the program's ranges and marks. */
#pragma once

#include "agent/correlate/trace/parent.h"
#include "model/record.h"

struct correlate;
struct range;

/* Decides whether the range has a span, and opens its account. */
void range_spans_admit(struct correlate *correlate, struct range *range, bool is_collective);
/* Emits the span of a mark outside all ranges of its thread. */
void range_spans_mark(struct correlate *correlate, const struct thread_info *thread,
                      const struct range_record *record, const struct parent *parent);

/* Closes the range and frees its slot. `end` NULL: the program did not end it. */
void range_spans_close(struct correlate *correlate, struct range *range, uint64_t end_ns,
                       const struct range_record *end);
/* Closes all ranges that are still open. */
void range_spans_finish(struct correlate *correlate);
