/* Which spans of a step its rank sends, if they are more than its share of the step's trace.
 *
 * While all of a step's spans fit, each is sent. A step that is foreseen to have more, by an earlier step, or
 * that has used most of its share, is selected from: no calls and ranges, a part of the collectives, and then
 * the longest GPU work. GPU work arrives while the step's spans are already leaving, so the decision about
 * each depends on what was seen before it:
 *
 * - Collectives are chosen by the hash of their key, so all ranks choose the same ones.
 * - GPU work is chosen by a minimum length. A histogram of the lengths of earlier work, sampled or not, says
 *   which length leaves as many as the share has room for. Of those in the histogram's last class only every
 *   n-th is chosen.
 *
 * The rest counts in the totals of the rank's span. Pipeline thread.
 *
 * A sort by length is not possible: a step's calls are sent before it is known which GPU work is the
 * longest, so it would have to keep thousands of records. */
#ifndef CUSPAN_AGENT_CORRELATE_TRACE_STEP_BUDGET_H
#define CUSPAN_AGENT_CORRELATE_TRACE_STEP_BUDGET_H

#include "model/span.h"

#include <stdbool.h>
#include <stdint.h>

/* Of the spans and of the bytes of a share. 8,000 spans of 500 bytes are 4 MB. */
#define STEP_SPAN_BYTES 500

/* The contents of a step so far. */
struct step_load {
    uint32_t calls;       /* and ranges */
    uint32_t work;        /* calls that expect GPU work */
    uint32_t collectives; /* calls of NCCL's operations */
};

/* Lengths of GPU work: four classes for each power of two of ns. All zero: empty. */
#define STEP_LENGTHS 256
struct step_lengths {
    uint32_t count[STEP_LENGTHS];
    uint32_t total;
};
/* Older work counts less: at a maximum, all counts are halved. */
void step_lengths_add(struct step_lengths *lengths, uint64_t ns);

struct step_budget {
    uint32_t spans_max; /* 0: no limit */
    uint32_t spans;     /* sent or reserved */
    uint64_t bytes;     /* of these, about */
    uint32_t foreseen;  /* spans, if all fit by the load of an earlier step; 0: unknown */
    uint32_t extras;    /* besides calls, ranges and GPU work */
    bool is_selecting;
    uint32_t collectives_max, collectives;
    uint64_t collectives_below; /* hashes of keys that are chosen */
    uint32_t work_max;          /* GPU work besides collectives to choose, of STEP_SPAN_BYTES each */
    uint32_t work_expected;
    uint32_t work_seen;
    uint32_t class_min; /* class of the shortest work that is chosen */
    double class_share; /* the part of this class that is chosen */
    double class_carry;
};

/* `spans_max` as in struct step_share. The spans of the rank and of the step are reserved. */
void step_budget_init(struct step_budget *budget, uint32_t spans_max);

/* Before the step's first span: `earlier` is an earlier step of the same kind; NULL: unknown. */
void step_budget_foresee(struct step_budget *budget, const struct step_load *earlier);

/* Whether there is room for one more span. */
bool step_budget_has_room(const struct step_budget *budget);
/* Whether a call or a range has a span. */
bool step_budget_takes_call(struct step_budget *budget, const struct step_load *load);
/* Whether another record than a call or GPU work has a span, such as one of CUPTI's overhead: nothing
 * foresees their number. */
bool step_budget_takes_extra(struct step_budget *budget, const struct step_load *load);
/* Whether the step's trace has this collective, by its key. `load`: the step's so far. */
bool step_budget_takes_collective(struct step_budget *budget, const struct step_load *load, uint64_t key);
/* Whether it has GPU work of this length. Call it once for each. */
bool step_budget_takes_work(struct step_budget *budget, const struct step_load *load,
                            const struct step_lengths *lengths, uint64_t ns);

/* The span is sent. */
void step_budget_spend(struct step_budget *budget, const struct span *span);
/* A span of about this size is going to be sent. */
void step_budget_reserve(struct step_budget *budget, uint32_t bytes);

#endif
