/* The options with which correlate is created, and the receiver of its spans. */
#pragma once

#include "base/trace_context.h"
#include "model/metrics/tracing_overhead.h"
#include "model/profile.h"
#include "model/settings/settings.h"
#include "model/span.h"
#include "model/step.h"

struct correlate_sink {
    void *context;
    /* Receives a finished span, valid during the call. */
    void (*on_span)(void *context, const struct span *span);
    /* Receives a device's description, before or after the device's first span. `index` is
     * RESOURCE_DEVICE(...). `resource` is valid during the call. */
    void (*on_device)(void *context, uint16_t index, const struct resource *resource);
    /* Receives the IDs of a session that has started: the context of threads that have none. NULL: not
     * needed. */
    void (*on_session)(void *context, const uint8_t trace_id[16], const uint8_t span_id[8], uint8_t flags);
    /* Receives a profile whose interval ended because a table was nearly full, valid during the call. NULL:
     * what finds no room counts without its link or stack. */
    void (*on_profile)(void *context, const struct profile *profile);
};

struct correlate_options {
    const struct settings *settings;    /* must outlive the instance */
    const char *program;                /* names the session span; must outlive the instance */
    const struct trace_context *parent; /* TRACEPARENT; NULL: none. Read only in correlate_create() */
    const struct step_rules *steps;     /* must outlive the instance. NULL: boundaries of steps are ignored */
    bool expects_calls;                 /* records wait for their calls */
    bool expects_graphs;                /* a graph launch without a record is counted as lost */
    /* Returns whether capture slept at any time in between: such work without a call is left out. NULL: never
     * slept. */
    bool (*slept_between)(uint64_t from_ns, uint64_t until_ns);
    void (*take_overhead)(struct agent_overhead *); /* cuspan's own cost, for session spans; NULL: left out */
    void (*forget_code)(void);  /* called when threads must describe their stacks again; NULL: not needed */
    void (*release_hold)(void); /* called if a request is given up that keeps capture awake; or NULL */
    bool expects_devices;       /* work waits for its device's description */
    struct correlate_sink sink;
};
