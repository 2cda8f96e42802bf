/* Reads call stacks as the agent writes them into `code.stacktrace`: one line for each frame, innermost
 * first.
 *
 *   File "train.py", line 88, in Model.forward         Python
 *   libtorch_cpu.so+0x1189 at::add(at::Tensor)+0x1c    native; the symbol may be missing
 *   load_weights+0x1c (trainer+0x1189)                 native, in stacks of allocations
 *   ...                                                further frames were cut
 *
 * The text comes from a file that we do not control. Any other line is a native frame whose symbol it is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ends the name of a forward line whose backward is meant: "train.py:88 (backward)". */
#define CODE_BACKWARD " (backward)"

enum frame_kind { FRAME_PYTHON, FRAME_NATIVE, FRAME_CUT };

/* A part of the text, without a NUL at its end. */
struct frame_text {
    const char *at;
    size_t len;
};

struct stack_frame {
    enum frame_kind kind;
    struct frame_text file; /* Python: the path; native: the module */
    struct frame_text name; /* the function or the symbol; empty: unknown */
    uint32_t line;          /* 0: unknown */
};

/* The next frame of the text at *at, which advances. False: there are no more. */
bool stack_lines_next(const char **at, struct stack_frame *frame);

/* The class of an autograd node whose apply() a native frame is, in C++ or mangled, such as "MmBackward0".
 * Empty: the frame is something else. */
struct frame_text stack_lines_autograd(const struct stack_frame *frame);
/* The same for the name of an NVTX range of PyTorch's emit_nvtx: "MmBackward0, seq = 12, op_id = 77".
 */
struct frame_text stack_lines_autograd_range(const char *range);

/* Whether a native frame is one of autograd's engine, which runs the nodes. */
bool stack_lines_is_autograd_engine(const struct stack_frame *frame);

/* Whether it is text that was executed, such as "<string>", and not typed into an interpreter. */
bool stack_lines_is_executed(const char *file);
/* Whether it is a file that Inductor generated. */
bool stack_lines_is_inductor(const char *file);

/* Whether a Python file belongs to the interpreter, an installed package, or generated code rather than to
 * the program, as far as its path shows. */
bool stack_lines_is_library(const char *file);
