/* Training steps: the identity that all ranks of a job derive for a step without communicating, and whether
 * the step is sampled.
 *
 * The trace ID and the ID of the step's span are hashes of the job, its nonce (one start of the job), the
 * step's number and kind. The randomness `rv` is the bit-reversed lower half of number + hash of the job, so
 * that a ratio of 1/2^k samples exactly each 2^k-th step, followed by 24 bits of the hash. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The reporter of a step, in order of precedence; NONE: nothing so far. */
enum step_source { STEP_BY_API, STEP_BY_OPTIMIZER, STEP_BY_NVTX, STEP_BY_COLLECTIVES, STEP_BY_NONE };
/* The purpose of the time. NONE: no step. */
enum step_kind { STEP_TRAIN, STEP_EVALUATION, STEP_CHECKPOINT, STEP_NONE };

/* As in the attributes training.step.source and training.step.kind; valid for the values above except the
 * last of each. */
const char *step_source_name(uint8_t source);
const char *step_kind_name(uint8_t kind);

struct engine_event; /* model/iteration.h */

/* From `time` on, work without a context belongs to this step. */
struct step_boundary {
    uint64_t time; /* in ticks on the host's threads, then ns since 1970; 0: before capture started */
    int64_t number;
    uint64_t nonce; /* of the communicator; 0: unknown */
    uint64_t lost;  /* counters_lost_work() at that time; recordings do not have it */
    uint8_t kind;   /* enum step_kind */
    uint8_t source; /* enum step_source */
    /* NULL: a step's. Otherwise a serving engine reports this, and only an iteration begins (kind and number
     * then don't count) or ends something. */
    struct engine_event *event;
};

/* Constant for the process. */
struct step_rules {
    uint64_t job;       /* hash of the job's identity and of this start of it; 0: unknown */
    uint64_t own;       /* a random number: the identity of steps of this process alone */
    int64_t rank;       /* -1: unknown */
    int64_t world_size; /* -1: unknown */
    uint64_t threshold; /* of the ratio (agent/correlate/trace/sampler.h) */
    bool always_first;  /* steps 3 and 4 are sampled regardless of the ratio: they are past the warm-up */
    bool is_limited;    /* the ratio is below 1, so that not every step is sampled */
    uint32_t spans_max; /* of a step's trace, all ranks together; 0: no limit */
    uint64_t iteration_threshold; /* of the ratio of a serving engine's iterations */
};

#define STEP_RANDOMNESS_BITS 56

struct step_identity {
    uint8_t trace_id[16];
    uint8_t span_id[8];  /* of the step's span, the parent of the ranks' */
    uint64_t randomness; /* 56 bits */
};

/* The randomness of step `number` of a job or an engine, 56 bits. */
uint64_t step_randomness(uint64_t of, int64_t number);
/* The IDs that derive from a key. */
struct step_identity step_identity_of(uint64_t key, uint64_t randomness);

/* Whether all ranks derive the same identity: job (or nonce) and rank are known. */
bool step_is_joint(const struct step_rules *rules, uint64_t nonce);
struct step_identity step_identify(const struct step_rules *rules, const struct step_boundary *boundary);
/* The trace of all spans of this rank in a step with this identity, if it is the rank's turn. */
void step_detail_trace(const struct step_rules *rules, const struct step_identity *identity,
                       uint8_t trace_id[16]);

/* One rank's part of the trace of a joint step. */
struct step_share {
    uint32_t spans;    /* at most, its own span and rank 0's step included; 0: no limit */
    bool takes_part;   /* false: other ranks' turn, because all together would be too many */
    bool is_full_turn; /* this rank also sends all its spans, in a trace of their own */
};
#define STEP_SHARE_MIN 2 /* the step's span and that of rank 0 */

/* Each of up to spans_max / 2 ranks has the same share. If there are more, subsets of them take turns; rank
 * 0, which sends the step's span, always takes part. */
struct step_share step_share_of(const struct step_rules *rules, int64_t number);

/* The same on all ranks. Does not depend on the nonce, which ranks may learn at different times. Any thread;
 * a few ns. */
bool step_is_sampled(const struct step_rules *rules, int64_t number, uint8_t kind);
/* Whether capture is awake during the step: it is sampled, or the next number is. A program that runs ahead
 * of the GPU begins a step while the GPU still works for the one before, whose end must be known, too. */
bool step_is_watched(const struct step_rules *rules, int64_t number, uint8_t kind);
/* Whether the step is sampled for its number alone, with probability 1. */
bool step_is_certain(const struct step_rules *rules, int64_t number);
