/* The settings of correlate at its creation, and the receiver of its spans. */
#ifndef CUSPAN_AGENT_CORRELATE_OPTIONS_H
#define CUSPAN_AGENT_CORRELATE_OPTIONS_H

#include "base/trace_context.h"
#include "model/metrics/tracing_overhead.h"
#include "model/settings/settings.h"
#include "model/span.h"
#include "model/step.h"

struct correlate_sink {
    void *context;
    /* A finished span, valid during the call. */
    void (*on_span)(void *context, const struct span *span);
    /* A device's description, before or after the device's first span. `index` is RESOURCE_DEVICE(...).
     * Valid during the call. */
    void (*on_device)(void *context, uint16_t index, const struct resource *resource);
    /* A session has started: the context of threads that have none. NULL: not needed. */
    void (*on_session)(void *context, const uint8_t trace_id[16], const uint8_t span_id[8], uint8_t flags);
};

struct correlate_options {
    const struct settings *settings;    /* must outlive the instance */
    const char *program;                /* names the session span; must outlive the instance */
    const struct trace_context *parent; /* TRACEPARENT, or NULL; read at the creation only */
    const struct step_rules *steps;     /* must outlive the instance. NULL: boundaries of steps are ignored */
    bool expects_calls;                 /* records wait for their calls */
    bool expects_graphs;                /* a graph launch without a record is counted as lost */
    /* Whether capture slept at any time in between: work without a call is left out; NULL: never. */
    bool (*slept_between)(uint64_t from_ns, uint64_t until_ns);
    void (*take_overhead)(struct agent_overhead *); /* cuspan's own cost, for session spans; NULL: left out */
    void (*forget_code)(void); /* stacks of code must be described again; NULL: not needed */
    bool expects_devices;      /* work waits for its device's description */
    struct correlate_sink sink;
};

#endif
