/* The parts of a code book that the files of this folder share. Others use code_book.h. */
#pragma once

#include "analysis/code/code_frame.h"
#include "analysis/code/forward_lines.h"
#include "analysis/code/stack_lines.h"
#include "analysis/stat/base/stat.h"

/* The meaning of an origin's number `of`. */
enum origin_kind {
    ORIGIN_IS_STACK,    /* or a place, or a label */
    ORIGIN_IS_THREAD,   /* all calls of thread `of` without a stack */
    ORIGIN_IS_BACKWARD, /* of the forward origin `of`; `place` is marked */
    ORIGIN_IS_COMPILED  /* launched by generated code, the frame `of` of the stack; made from `place` */
};

struct origin {
    const char *label; /* NULL: it is something else */
    uint32_t place;    /* frame of the code.* attributes, or MAP_NONE */
    uint32_t first;    /* index in stack_frames */
    uint32_t depth;    /* 0: the text is unknown */
    uint32_t of;
    uint8_t kind; /* enum origin_kind */
    bool is_cut;
    bool allocates; /* of a thread: its allocations */
};

struct code_book {
    struct origin *origins;
    size_t origin_count, origin_capacity;
    struct int_map by_key; /* process and ID, or hash of a text, a place or a label → origin */
    struct code_frame *frames;
    size_t frame_count, frame_capacity;
    struct int_map frame_numbers; /* hash of a frame → number */
    uint32_t *stack_frames;       /* of all stacks */
    size_t stack_frame_count, stack_frame_capacity;
    struct forward_lines forward;
    uint8_t *thread_has_stacks; /* by thread: some call has a stack */
    size_t thread_count, thread_capacity;
    bool knows_attributes; /* some span may have one */
    bool knows_xla;        /* the same for ranges of XLA */
    bool has_stacks;
    bool has_allocation_stacks;
    bool has_xla; /* some range of XLA has a line */
};

/* ORIGIN_OTHERS if there are too many. */
uint32_t code_origins_add(struct code_book *book, const char *label);
/* The origin of a row of its own. */
uint32_t code_origins_labeled(struct code_book *book, const struct stat *stat, const char *label);
/* A long name is cut between characters. Equal texts are the same pointer. */
const char *code_origins_keep(const struct stat *stat, struct frame_text text);
uint32_t code_origins_frame(struct code_book *book, const struct code_frame *frame);
/* Appends to the frames of the last origin that got some. False: there are too many. */
bool code_origins_push(struct code_book *book, struct origin *origin, const struct code_frame *frame);

/* From the NVTX ranges around a span (code_ranges.c). */

/* A forward operator's range, or a call with a line in one. */
void code_ranges_learn(struct code_book *book, const struct stat *stat, const struct trace_span *span,
                       uint32_t origin);
/* The line of the XLA operation around the span, or MAP_NONE. */
uint32_t code_ranges_xla(struct code_book *book, const struct stat *stat, const struct trace_span *span);
/* The forward line of the autograd node around the span. If it is unknown: a row with the node's name, or
 * that of XLA's operation, if `by_name`. Otherwise MAP_NONE. */
uint32_t code_ranges_node(struct code_book *book, const struct stat *stat, const struct trace_span *span,
                          bool by_name);
