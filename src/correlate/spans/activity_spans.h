/* Spans of CUPTI's activity records. A record whose call, device or counters are not known yet waits. */
#ifndef CUSPAN_CORRELATE_SPANS_ACTIVITY_SPANS_H
#define CUSPAN_CORRELATE_SPANS_ACTIVITY_SPANS_H

#include "correlate/correlate.h"
#include "model/cuda/activities.h"

struct activity_spans {
    bool expects_calls, expects_devices;
    bool (*slept_at)(uint64_t time_ns);        /* or NULL */
    bool is_kind_filtered[ACTIVITY_KINDS_MAX]; /* by the settings */
    bool lacks_device, has_asked_for_device;   /* work waits for its device's description */
    struct waiting_queue *waiting;
    struct gpu_counted *gpu_counted; /* NULL: hardware counters are off */
    struct span_link link;           /* of the span that is being made */
};

enum status activity_spans_init(struct activity_spans *activities,
                                const struct correlate_options *options) MUST_CHECK;
void activity_spans_deinit(struct activity_spans *activities);

void activity_spans_add(struct correlate *correlate, const struct activity_record *record);
/* Waiting records find their calls; those that have waited long enough are given up, or all at the end. */
void activity_spans_sweep(struct correlate *correlate);
void activity_spans_finish(struct correlate *correlate);
/* The device has another name now: tells the outputs that know it. */
void activity_spans_name_device(struct correlate *correlate, uint64_t device);

#endif
