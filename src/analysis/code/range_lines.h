/* Names and payloads of NVTX ranges that tell where the code within them comes from.
 *
 * PyTorch's emit_nvtx names a range after the operator, with a sequence number that the operator's backward
 * range has, too: "aten::mm, seq = 12, op_id = 40" and "MmBackward0, seq = 12, op_id = 77".
 *
 * XLA's range of an operation has a payload with the lines that it comes from, a line for each frame,
 * outermost first. Several call stacks follow each other, without the frames that they share:
 *
 *   - /work/train.py:88:4[main]
 *   -- /work/model.py:31:8[forward] dot_general
 *   -- /work/model.py:33:8[forward] add
 *
 * The text comes from a file that we do not control. */
#pragma once

#include "analysis/code/stack_lines.h"

/* The number in "aten::mm, seq = 12". False: there is none. */
bool range_lines_sequence(const char *name, uint64_t *number);

struct xla_frame {
    struct frame_text file, name; /* `name` is empty if it is unknown */
    uint32_t line;                /* 0: unknown */
    uint32_t depth;               /* 1: outermost */
};

/* The next frame of the text at *at, which advances. Lines that are no frames are skipped. False: there are
 * no more. */
bool range_lines_next_xla(const char **at, struct xla_frame *frame);
/* The operation in an XLA range's name, "Thunk:#name=jit(f)/dot_general,hlo_op=fusion.6,...#". Empty: it is
 * another range. */
struct frame_text range_lines_xla_operation(const char *name);
