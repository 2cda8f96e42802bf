/* Finds the steps of a training job in the sequence of a communicator's collectives: a step is a repetition
 * of the same operations with the same bytes.
 *
 * NCCL's rules make this sequence the same on all ranks of the communicator. The steps and their numbers
 * depend on nothing else, so all ranks find the same ones.
 *
 * The search looks for the shortest period of a window (Knuth, Morris, Pratt). Windows start at fixed
 * positions and double in length, so the program's first collectives disturb only a few of them. A period
 * counts after three repetitions and PERIOD_PROOF collectives, because the equal layers of a model repeat,
 * too: 126 layers have up to 504 equal collectives in a row. A period without a reduction is an evaluation or
 * a forward pass, and no step.
 *
 * A collective takes one comparison if the period is known, else two on average, and about 10 us at most if a
 * long repetition ends.
 *
 * The memory is fixed: 53 KiB for each communicator, of which up to eight are searched. */
#pragma once

#include "model/collective.h"

#define PERIOD_MAX         2048 /* collectives of a step */
#define PERIOD_REPETITIONS 3
#define PERIOD_PROOF       512
#define PERIOD_OTHERS_MAX  16 /* other collectives between two steps, such as those of metrics */
#define PERIOD_WINDOW_MIN  16
#define PERIOD_WINDOW_MAX  (PERIOD_REPETITIONS * PERIOD_MAX)
#define PERIOD_KEPT        8192 /* a power of two */

/* All zero: nothing seen so far. */
struct collective_period {
    uint64_t count;             /* collectives so far */
    uint32_t kept[PERIOD_KEPT]; /* the latest ones: collective n is at n % PERIOD_KEPT */
    struct {
        uint64_t start;
        uint32_t length;
        uint32_t length_max; /* the window ends there unless it has repeated */
        uint16_t
            border[PERIOD_WINDOW_MAX]; /* [n]: of the first n + 1, the longest prefix that also ends them */
    } window;
    uint32_t length; /* collectives of a step; 0: unknown */
    uint32_t step[PERIOD_MAX];
    uint32_t hash;   /* hash of the step's collectives */
    uint32_t at;     /* index of the step's next collective; while lost, number of those that matched again */
    uint32_t others; /* other collectives since the last step's end */
    uint32_t proof;  /* collectives after which a period counts; 0: PERIOD_PROOF */
    uint64_t matched; /* collectives that matched the period since it was found */
    bool is_lost;
    bool has_number;
    int64_t next_number;
};

/* LOST: the repetition is interrupted, for example by an evaluation, and no step is in progress. */
enum period_event { PERIOD_NOTHING, PERIOD_STEP, PERIOD_LOST };

/* Adds the communicator's next collective. STEP: a step starts with it, and `*number` becomes the step's
 * number. Numbers count from 0 for the first repetition, which is long past when the period is known. */
enum period_event collective_period_note(struct collective_period *period,
                                         enum collective_operation operation, uint64_t bytes,
                                         int64_t *number);
