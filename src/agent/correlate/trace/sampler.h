/* Decides which traces are recorded: OpenTelemetry's samplers, and a limit of traces per second.
 *
 * The ratio is consistent probability sampling: the ratio gives a threshold T of 56 bits. A trace is
 * sampled if its randomness R is at least T. R is `rv` in the tracestate's member `ot`, or the trace ID's
 * last 7 bytes. All samplers that follow the specification agree on a trace, and a higher ratio includes
 * the traces of a lower one. The classic TraceIdRatioBased of today's SDKs compares the last 8 bytes and
 * chooses other traces. Below a parent this makes no difference. */
#pragma once

#include "base/trace_context.h"
#include "model/settings/settings.h"

#define SAMPLER_NEVER (1ull << 56) /* above every randomness */

struct sampler {
    bool is_parent_based;     /* the sampled flag of a context decides */
    double traces_per_second; /* limit on new traces; 0: none */
    uint64_t threshold;       /* SAMPLER_NEVER: no trace is sampled */
    char root_state[24];      /* "ot=th:c", or empty */
    double traces_left;       /* tokens left of the limit */
    uint64_t refilled_ns;
};

void sampler_init(struct sampler *sampler, const struct settings *settings);

/* Returns whether one trace is sampled at `now_ns`. `context` comes from outside, with its trace ID; NULL: a
 * new trace with `trace_id`. If parent-based, the context's flag decides, regardless of ratio and limit.
 * `trace_state` receives the tracestate for the spans ("": none); it may be NULL. */
bool sampler_decide(struct sampler *sampler, const struct trace_context *context, const uint8_t trace_id[16],
                    uint64_t now_ns, char trace_state[TRACE_STATE_MAX]);

/* The decisions on the latest traces that came from outside, if the sampler is not parent-based. All zero:
 * none. */
#define SAMPLER_DECISIONS_KEPT 1024
struct sampler_decisions {
    struct {
        uint8_t trace_id[16];
        bool is_sampled;
    } kept[SAMPLER_DECISIONS_KEPT];
};

/* Like sampler_decide() for a context. A trace keeps its decision when its context comes again, on any
 * thread, because the limit counts traces. */
bool sampler_decide_once(struct sampler *sampler, struct sampler_decisions *decisions,
                         const struct trace_context *context, uint64_t now_ns,
                         char trace_state[TRACE_STATE_MAX]);

/* Whether sampler_decide() can sample this context: everything but the limit is known beforehand. Any
 * thread may call it. */
bool sampler_may_sample(const struct settings *settings, const struct trace_context *context);

/* Returns the tracestate of each new sampled trace, valid as long as the sampler; NULL: none. */
const char *sampler_root_state(const struct sampler *sampler);

/* Takes a token of the limit. False: none is left. Without a limit, always true. */
bool sampler_admits(struct sampler *sampler, uint64_t now_ns);

/* Returns the threshold T for a ratio from 0 to 1. */
uint64_t sampler_threshold(double ratio);

#define SAMPLER_THRESHOLD_MAX 17 /* "th:" and digits */
/* Writes "th:" and the threshold's digits without trailing zeros. */
void sampler_format_threshold(uint64_t threshold, char text[SAMPLER_THRESHOLD_MAX + 1]);
