/* Spans of CUPTI's activity records. A record waits while its call, device or counter values are missing. */
#ifndef CUSPAN_CORRELATE_ACTIVITY_SPANS_H
#define CUSPAN_CORRELATE_ACTIVITY_SPANS_H

#include "base/status.h"
#include "model/record.h"
#include "model/settings.h"

struct activity_spans;
struct correlate;

enum status activity_spans_init(struct activity_spans *activities,
                                const struct settings *settings) MUST_CHECK;
void activity_spans_deinit(struct activity_spans *activities);

/* A GPU record: joined with its call, it becomes a span, or waits. */
void activity_spans_add(struct correlate *correlate, const struct activity_record *record);
/* Retries the waiting records and gives up those that are too old, or at the end all. */
void activity_spans_sweep(struct correlate *correlate);
/* The device has a new NVTX name: tells the outputs, if they know the device. */
void activity_spans_name_device(struct correlate *correlate, uint64_t device);

#endif
