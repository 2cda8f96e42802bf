/* Spans of CUPTI's activity records. A record waits while its call, device or counter values are missing. */
#ifndef CUSPAN_CORRELATE_ACTIVITY_SPANS_H
#define CUSPAN_CORRELATE_ACTIVITY_SPANS_H

#include "correlate/correlate.h"
#include "correlate/stacks/code_stacks.h"
#include "model/cuda/activities.h"

struct activity_spans {
    bool is_kind_filtered[ACTIVITY_KINDS_MAX]; /* by the settings */
    bool is_time_unknown;                      /* of the current record (activity_times.h) */
    bool lacks_device, has_asked_for_device;   /* work waits for a device's description */
    struct entry_queue *waiting;               /* records (waiting.h) */
    struct gpu_counted *gpu_counted;           /* NULL: hardware counters are off */
    struct span_link link;                     /* of the current span */
    char stack_id[CODE_ID_CHARS + 1];          /* the same */
    struct code_stack *new_code;               /* whose text was in no span before; NULL: none */
    uint8_t operation;                         /* enum collective_operation, of the current kernel's name */
};

enum status activity_spans_init(struct activity_spans *activities,
                                const struct settings *settings) MUST_CHECK;
void activity_spans_deinit(struct activity_spans *activities);

/* Retries the waiting records and gives up those that are too old, or at the end all. */
void activity_spans_sweep(struct correlate *correlate);
/* Capture has slept, or was released to another tool. */
bool activity_spans_have_slept(void);
/* The device has a new NVTX name: tells the outputs, if they know the device. */
void activity_spans_name_device(struct correlate *correlate, uint64_t device);

#endif
