/* Handles activity records whose times are missing or impossible, and instants.
 *
 * CUPTI gives a zero if it had no device buffer for timestamps, if a fatal error stopped the work, or if
 * several threads launch the same executable graph: its executions share the memory of their timestamps,
 * which are then zero or of another execution. Stopped work that has a start becomes a span that ends with
 * the first report of the error. An execution of a graph becomes a span without a duration. A flush of the
 * hang watch takes records of work that has not ended, which CUPTI never repeats: their spans end with the
 * flush, and begin with their call if the start is unknown. All else is lost. */
#pragma once

#include "agent/correlate/join/pending.h"
#include "agent/correlate/trace/context_errors.h"
#include "model/cuda/activities.h"
#include "model/record.h"
#include "model/span.h"

struct correlate;

/* Whether the record is an instant: its kind has one timestamp, or it has no end, such as a page fault on the
 * host. GPU work always has a length. */
static inline bool activity_is_instant(const struct activity_record *record)
{
    const struct activity_info *info = &activity_table[record->kind];
    return !info->is_interval || (record->end_ns == 0 && !info->is_gpu_work);
}

static inline bool activity_times_are_sound(const struct activity_record *record)
{
    return record->start_ns != 0 && (record->end_ns >= record->start_ns || activity_is_instant(record));
}

/* Copies a record whose times are not sound to `completed`, with usable times. `*error` becomes the error
 * that stopped the work (NULL: none; result 0: the work goes on). `call` is NULL if the record's call is
 * unknown. False: the record is lost or left out, which is counted here. */
bool activity_times_complete(struct correlate *correlate, const struct activity_record *record,
                             const struct pending_call *call, struct activity_record *completed,
                             const struct context_error **error);

/* Whether capture has slept, or was released to another tool. */
bool activity_times_capture_slept(void);

/* Marks a span without a duration by an attribute, and makes it 1 ns long. */
void activity_times_mark(struct span *span, const struct activity_record *record, bool are_unknown);
