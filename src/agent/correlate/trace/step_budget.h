/* Chooses which spans of a step a rank sends, if the step has more spans than the rank's share of the step's
 * trace.
 *
 * While all of a step's spans fit, each is sent. If an earlier step had more, or the step has used most of
 * its share, a selection is sent: no calls and ranges, a part of the collectives, and then the longest GPU
 * work. GPU work arrives while the step's spans are already being sent, so the decision about each depends on
 * the work before it:
 *
 * - Collectives are chosen by the hash of their key, so all ranks choose the same ones.
 * - GPU work is chosen by a minimum length. A histogram of the lengths of earlier work, sampled or not, says
 *   which length leaves as many as the share has room for. Of those in the histogram's last class only every
 *   n-th is chosen.
 *
 * Spans that are left out count in the totals of the rank's span. Only the pipeline thread calls these
 * functions.
 *
 * A sort by length is not possible: a step's calls are sent before it is known which GPU work is the longest,
 * so it would have to keep thousands of records. */
#pragma once

#include "model/span.h"

#include <stdbool.h>
#include <stdint.h>

/* A share of n spans is also limited to n times this size. 8,000 spans of 500 bytes are 4 MB. */
#define STEP_SPAN_BYTES 500

/* The contents of a step so far. */
struct step_load {
    uint32_t calls;       /* calls and ranges */
    uint32_t work;        /* calls that expect GPU work */
    uint32_t collectives; /* calls of NCCL's operations */
};

/* A histogram of the lengths of GPU work: four classes for each power of two of ns. All zero: empty. */
#define STEP_LENGTHS 256
struct step_lengths {
    uint32_t count[STEP_LENGTHS];
    uint32_t total;
};
/* Adds GPU work of `ns` to the histogram. At a maximum, all counts are halved, so older work counts less. */
void step_lengths_add(struct step_lengths *lengths, uint64_t ns);

struct step_budget {
    uint32_t spans_max; /* 0: no limit */
    uint32_t spans;     /* spans sent or reserved */
    uint64_t bytes;     /* estimated size of these spans */
    uint32_t foreseen;  /* spans that the load of an earlier step would make; 0: unknown */
    uint32_t extras;    /* spans of other records than calls, ranges and GPU work */
    bool is_selecting;
    uint32_t collectives_max, collectives;
    uint64_t collectives_below; /* a collective is chosen if its key's hash is at most this */
    uint32_t work_max; /* number of GPU work besides collectives to choose, of STEP_SPAN_BYTES each */
    uint32_t work_expected;
    uint32_t work_seen;
    uint32_t class_min; /* class of the shortest work that is chosen */
    double class_share; /* the part of this class that is chosen */
    double class_carry;
};

/* `spans_max` is that of struct step_share; 0: no limit. Reserves the spans of the rank and of the step. */
void step_budget_init(struct step_budget *budget, uint32_t spans_max);

/* Decides from the start whether to select, by the load of an earlier step of the same kind (NULL: unknown).
 * Call it before the step's first span. */
void step_budget_foresee(struct step_budget *budget, const struct step_load *earlier);

/* Whether there is room for one more span. */
bool step_budget_has_room(const struct step_budget *budget);
/* Whether to send the span of a call or a range. */
bool step_budget_takes_call(struct step_budget *budget, const struct step_load *load);
/* Whether to send the span of another record than a call or GPU work, such as one of CUPTI's overhead. Their
 * number cannot be foreseen. */
bool step_budget_takes_extra(struct step_budget *budget, const struct step_load *load);
/* Whether to send the span of the collective with this key. `load`, here and above, is that of the step so
 * far. Call it once for each collective. */
bool step_budget_takes_collective(struct step_budget *budget, const struct step_load *load, uint64_t key);
/* Whether to send the span of GPU work of this length. Call it once for each work. */
bool step_budget_takes_work(struct step_budget *budget, const struct step_load *load,
                            const struct step_lengths *lengths, uint64_t ns);

/* Counts a span that is sent. */
void step_budget_spend(struct step_budget *budget, const struct span *span);
/* Counts a span of about `bytes` bytes that will be sent later. */
void step_budget_reserve(struct step_budget *budget, uint32_t bytes);
