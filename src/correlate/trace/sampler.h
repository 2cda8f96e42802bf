/* Which traces are recorded: OpenTelemetry's samplers, and a limit of traces per second.
 *
 * The ratio is the specification's consistent probability sampling: a threshold T of 56 bits is made of the
 * ratio, and a trace is sampled if its randomness R, which is `rv` of the tracestate's member `ot` or the
 * trace ID's last 7 bytes, is not below T. So all that sample by this algorithm agree on a trace, and what
 * one with a lower ratio takes, one with a higher takes too. The classic TraceIdRatioBased of today's SDKs,
 * which takes the last 8 bytes and wants them below a bound, takes other traces; behind a parent that makes
 * no difference. */
#ifndef CUSPAN_CORRELATE_SAMPLER_H
#define CUSPAN_CORRELATE_SAMPLER_H

#include "base/trace_context.h"
#include "model/settings.h"

#define SAMPLER_RANDOM_BITS 56
#define SAMPLER_NEVER       (1ull << SAMPLER_RANDOM_BITS) /* a threshold that no randomness reaches */

struct sampler_options {
    enum sampler_kind kind;
    double ratio;             /* TRACE_ID_RATIO: of traces that are sampled */
    bool parent_based;        /* a context's sampled flag decides */
    double traces_per_second; /* that are begun at most; 0: no limit */
};

struct sampler {
    struct sampler_options options;
    uint64_t threshold;  /* SAMPLER_NEVER: none is sampled */
    char root_state[24]; /* "ot=th:c", or empty */
    double traces_left;  /* of the limit */
    uint64_t refilled_ns;
};

void sampler_init(struct sampler *sampler, const struct sampler_options *options);

/* Decides for one trace at `now_ns`. `context`: what came in from outside, with its trace ID; NULL: a trace
 * of our own with `trace_id`. With parent_based, a context's flag decides, and neither ratio nor limit count.
 * `trace_state`: what the spans' tracestate is from then on (empty: none), or NULL. */
bool sampler_decide(struct sampler *sampler, const struct trace_context *context, const uint8_t trace_id[16],
                    uint64_t now_ns, char trace_state[TRACE_STATE_MAX]);

/* Whether sampler_decide can say yes to what came in from outside: all but the limit is known beforehand. Any
 * thread. */
bool sampler_may_sample(const struct settings *settings, const struct trace_context *context);

/* The tracestate of every trace of our own that is sampled: one text for the sampler's life. NULL: none. */
const char *sampler_root_state(const struct sampler *sampler);

/* Takes one of the second's traces; false if none is left. Always true without a limit. */
bool sampler_admits(struct sampler *sampler, uint64_t now_ns);

/* T for a ratio from 0 to 1. */
uint64_t sampler_threshold(double ratio);

#endif
