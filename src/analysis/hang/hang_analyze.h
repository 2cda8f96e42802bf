/* Says who holds up a job that hangs: the ranks, the communicator, the call, and whether that is sure.
 *
 * 1. Calls at the same place of a communicator that differ (hang_calls.c).
 * 2. Ranks that wait for each other (hang_waits.c). A rank that others wait for and that waits for nobody is
 * the cause; a circle comes from a skipped call or from another order of calls.
 *
 * The result depends on the model only. Time and memory grow with the calls of all ranks. */
#pragma once

#include "analysis/hang/hang.h"
#include "cli/util/text.h"

/* X(identifier, word of the JSON, text behind one rank, behind several). Without a text: others. */
#define HANG_KINDS(X)                                                                                        \
    /* all move, or nothing is in progress */                                                                \
    X(HANG_NOTHING, "none", NULL, NULL)                                                                      \
    /* ranks call another operation than the others */                                                       \
    X(HANG_OPERATION, "operation_mismatch", NULL, NULL)                                                      \
    X(HANG_SIZE, "size_mismatch", NULL, NULL)                                                                \
    X(HANG_DATATYPE, "datatype_mismatch", NULL, NULL)                                                        \
    /* ranks left out a call that the others made, or made one more */                                       \
    X(HANG_SKIPPED, "skipped_call", " skipped ", " skipped ")                                                \
    X(HANG_EXTRA, "extra_call", NULL, NULL)                                                                  \
    /* ranks call two communicators in another order */                                                      \
    X(HANG_ORDER, "order", NULL, NULL)                                                                       \
    X(HANG_DIED, "died", " is dead; others wait for ", " are dead; others wait for ")                        \
    /* the process has ended normally */                                                                     \
    X(HANG_ENDED, "ended_early", " has ended; others wait for ", " have ended; others wait for ")            \
    X(HANG_HALTED, "stopped", " stopped by a signal or debugger; others wait for ",                          \
      " stopped by a signal or debugger; others wait for ")                                                  \
    /* the host is elsewhere, and does not make its call */                                                  \
    X(HANG_ON_HOST, "host", NULL, NULL)                                                                      \
    X(HANG_IN_CUDA, "cuda_call", NULL, NULL)                                                                 \
    /* a kernel that is no collective does not end */                                                        \
    X(HANG_KERNEL, "kernel", " has a kernel that does not end; others wait for ",                            \
      " have a kernel that does not end; others wait for ")                                                  \
    /* waits for its GPU, and has not made its call */                                                       \
    X(HANG_BEHIND, "behind",                                                                                 \
      " waits for the GPU, because a kernel does not end or a call was skipped; others wait for ",           \
      " wait for the GPU, because a kernel does not end or a call was skipped; others wait for ")            \
    /* all have called, and it does not end */                                                               \
    X(HANG_INSIDE, "inside", NULL, NULL)                                                                     \
    /* only ranks that nothing is known of can be the cause */                                               \
    X(HANG_NO_REPORT, "no_report", NULL, NULL)                                                               \
    X(HANG_UNKNOWN_CAUSE, "unknown", NULL, NULL)

enum hang_kind {
#define HANG_KIND_ID(id, word, one, several) id,
    HANG_KINDS(HANG_KIND_ID) HANG_KIND_COUNT
};
const char *hang_kind_word(enum hang_kind kind);

struct hang_verdict {
    enum hang_kind kind;
    bool is_stall; /* by an agent's rules (model/hang/stall.h); otherwise it can be a pause, and nothing is
                      sure */
    bool is_sure;
    uint32_t *ranks; /* indices of the model, ascending: the cause */
    size_t rank_count, rank_capacity;
    uint32_t
        silent_count; /* members of the communicator that nothing is known of, if they can be the cause */
    uint32_t communicator;      /* HANG_NONE: none */
    uint64_t place;             /* of the call there, from 0; UINT64_MAX: unknown */
    bool or_later;              /* others wait in this call or in a later one */
    struct live_call_view call; /* what others call there; operation COLLECTIVE_NONE: unknown */
    struct live_call_view own;  /* of mismatches: what the first of `ranks` calls */
    uint32_t other;             /* ORDER: the other communicator; else HANG_NONE */
    uint64_t other_place;
    struct text evidence; /* lines */
};

/* The model is joined. The caller deinits the verdict. */
void hang_analyze(const struct hang_model *model, struct hang_verdict *verdict);
void hang_verdict_deinit(struct hang_verdict *verdict);
uint64_t hang_longest_stall_ns(const struct hang_model *model);
/* "HANG for 42.0 s, 64 of 64 ranks known: rank 52 is dead; ...", a line. */
void hang_add_summary(struct text *text, const struct hang_model *model, const struct hang_verdict *verdict,
                      bool utf8);
/* Its sentence, without an end. */
void hang_add_headline(struct text *text, const struct hang_model *model, const struct hang_verdict *verdict);
/* "rank 3", "ranks 0-15,17", "12 ranks"; PIDs of ranks without a number. At most about 60 columns. */
void hang_add_ranks(struct text *text, const struct hang_model *model, const uint32_t *ranks, size_t count);
/* "all_reduce of 32 MiB". */
void hang_add_call(struct text *text, const struct live_call_view *call);
/* "communicator 5f21c0de (8 ranks)". */
void hang_add_communicator(struct text *text, const struct hang_model *model, uint32_t number);
/* Ranks of the job that nothing is known of. */
size_t hang_add_silent(struct text *text, const struct hang_model *model);

#define HANG_ROWS_MAX 24 /* of the table of places, so that a job fits a screen */
struct hang_style {
    size_t columns;
    bool utf8;
};
/* hang_print.c: for a terminal, and as an object of an array. */
void hang_print(FILE *out, const struct hang_model *model, const struct hang_verdict *verdict,
                const struct hang_style *style);
void hang_write(struct json_writer *json, const struct hang_model *model, const struct hang_verdict *verdict);

/* Parts of it. */

/* Whether two calls are the same. Unknown values are equal to all. */
bool hang_calls_match(const struct live_call_view *a, const struct live_call_view *b);
/* hang_calls.c: true if it found calls that differ. */
bool hang_find_mismatch(const struct hang_model *model, struct hang_verdict *verdict);
/* hang_order.c: finds ranks that skipped a call of a communicator, or made one more, between calls of another
 * one. */
bool hang_find_uneven(const struct hang_model *model, uint32_t communicator, struct hang_verdict *verdict);
/* Finds the ranks that make the rarer one of two calls first. False: nobody differs. */
bool hang_compare_order(const struct hang_model *model, uint32_t a, uint64_t place_a, uint32_t b,
                        uint64_t place_b, struct hang_verdict *verdict);
/* Finds the ranks that make two calls in the rarer order, also of communicators like these: calls that ranks
 * wait in (hang_place_key()), or with NULL any that may be open. The latter is never sure, because on other
 * streams the order is harmless. */
bool hang_find_order(const struct hang_model *model, const struct int_map *waited,
                     struct hang_verdict *verdict);
void hang_verdict_add(struct hang_verdict *verdict, uint32_t rank);
