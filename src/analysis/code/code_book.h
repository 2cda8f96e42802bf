/* The call stacks that spans name, and the place in the program that each span comes from.
 *
 * A span has `cuspan.stack.id` and the program's innermost frame as `code.*` attributes. One span of each
 * stack also has the text of all its frames, possibly long after others that only have the ID. So spans are
 * counted by their origin, a number, and an origin's frames are asked for at the end.
 *
 * Memory is bounded: beyond the limits, origins become one origin "(other stacks)", and texts of stacks are
 * ignored, so that only the program's innermost frame is known.
 *
 * All groups of `stat --by` share one book. */
#pragma once

#include "analysis/code/code_frame.h"
#include "analysis/stat/base/stat.h"

struct code_book;

struct code_book *code_book_create(void);
void code_book_destroy(struct code_book *book);

/* Takes the texts of stacks from the stat's current segment. */
void code_book_learn(struct code_book *book, const struct stat *stat);

/* Of a call or GPU work of the current segment. An NVTX range of XLA around it has the line. Otherwise work
 * has stack attributes of its own (a graph's node), or those of the call that submitted it. Without Python,
 * an NVTX range of autograd around it leads to the line of the forward operator. */
uint32_t code_book_origin(struct code_book *book, const struct stat *stat, const struct trace_span *span);
/* After the last segment: launches by Inductor's generated code get the lines that it was made from. */
struct inductor;
void code_book_resolve(struct code_book *book, const struct stat *stat, struct inductor *inductor);
/* Whether any span up to now had a stack, or a line of XLA; without those of allocations. */
bool code_book_has_stacks(const struct code_book *book);
bool code_book_has_allocation_stacks(const struct code_book *book);
size_t code_book_origin_count(const struct code_book *book);

/* After the last segment. */

struct code_stack {
    const char *label;      /* a row of its own, such as "(no Python)"; NULL: `self` is the place */
    const uint32_t *frames; /* innermost first; numbers for code_book_frame() */
    size_t depth;           /* 0: the text is unknown */
    size_t self;            /* index of the program's innermost frame in `frames`, or 0 */
    uint32_t place;         /* the program's innermost frame; MAP_NONE: see `label` */
    bool is_cut;            /* outer frames are missing */
    bool is_backward;       /* `frames` made the forward operator: they did not call this work */
};
struct code_stack code_book_stack(const struct code_book *book, const struct stat *stat, uint32_t origin);
const struct code_frame *code_book_frame(const struct code_book *book, uint32_t frame);

/* Whether a frame of the stack is the program's. Text that was executed, such as "<string>", belongs to its
 * caller. Of native code, only the name of the module is known: that of the place is the program's. */
bool code_book_is_programs(const struct code_book *book, const struct code_stack *stack, size_t frame);
/* "train.py:88", "train.py:88 (backward)", or the module or function of native code. The caller frees it. */
char *code_frame_place(const struct code_frame *frame);
/* The text of a row by line, function or module: the label, if there is one. The caller frees it. */
char *code_place_text(const char *label, const struct code_frame *frame, enum stat_code_by by);
/* The same without a line: "train.py". The caller frees it. */
char *code_frame_module(const struct code_frame *frame);

/* Whether the call's time is a wait: for the GPU, or for its own copy. */
static inline bool code_call_waits(const struct stat_call *call)
{
    return call->waits || (call->group == CALL_GROUP_COPY && !call->is_async);
}
