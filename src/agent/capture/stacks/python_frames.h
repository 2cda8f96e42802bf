/* Walks the Python frames of the calling thread, a host's thread in the middle of a call into CUDA.
 *
 * The walk reads the interpreter's memory. It needs no GIL, takes no lock, allocates nothing, and calls only
 * two functions of Python that read a variable. 20 frames take about 50 ns and 1,080 to 1,250 instructions
 * (tests/bench/python_frames.py).
 *
 * Why this is safe:
 * - Only a thread itself changes its frames. A frame keeps its code object, and the code object keeps its
 *   name, its file and its table of lines. All are immutable, and exist until the thread returns to Python.
 * - The offsets belong to exactly this minor version (python_layouts.h). python_find() compares them with
 *   what the interpreter says about itself, and refuses other versions.
 * - Each walk checks that the thread state names this thread. Before Python 3.13, it also checks that there
 *   is only one interpreter, because PyGILState_GetThisThreadState() can return another one's thread state.
 * - Finalization frees the thread states of daemon threads. Each walk checks before and after whether Python
 *   is finalizing, so its result is right. A thread that is interrupted in these 50 ns can read freed memory.
 *   Its content rarely passes the next checks.
 * - Pointers must be in the program's part of the address space. Code objects, strings and bytes must have
 *   their type. Loops and lengths are bounded, and strings end at their terminator. A wrong pointer to other
 *   mapped memory of the right type is not detected.
 *
 * Code objects are freed, and their addresses are reused. `identity` tells two of them apart: it is a hash of
 * the address, the pointers to name, file and table of lines, and `co_version`. Before Python 3.12, and after
 * 2^32 code objects, the hash of the name and the first line replace `co_version`. CPython 3.14's count of
 * freed code objects is not part of it, because each freed one would make all stacks new. */
#pragma once

#include "agent/capture/stacks/python_find.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PYTHON_NO_POSITION UINT32_MAX

struct python_frame {
    uint64_t code;     /* address of the code object */
    uint64_t identity; /* identifies the code object */
    uint32_t position; /* the instruction's, in the version's own unit; PYTHON_NO_POSITION: unknown */
};

enum python_stack {
    PYTHON_STACK_FRAMES,     /* the frames are complete, unless is_cut */
    PYTHON_STACK_EMPTY,      /* Python knows the thread, but runs nothing on it: PyTorch's autograd threads */
    PYTHON_STACK_NO_THREAD,  /* Python does not know the thread */
    PYTHON_STACK_FINALIZING, /* Python is exiting */
    PYTHON_STACK_INTERPRETERS, /* subinterpreters before Python 3.13 */
    PYTHON_STACK_UNREADABLE    /* a check failed; there may be inner frames */
};

struct python_walk {
    uint64_t hash; /* of all frames, in order, with their positions and whether the stack was cut */
    uint32_t count;
    enum python_stack stack;
    bool is_cut; /* there are more frames */
};

struct python_frame_text {
    char *file, *name; /* the caller's buffers; not NUL-terminated */
    size_t file_max, name_max;
    size_t file_length, name_length; /* valid UTF-8; 0: unreadable */
    uint32_t first_line;             /* first line of the function */
    uint32_t line;                   /* line of the call; 0: unknown */
};

/* Writes the calling thread's frames, innermost first, at most `max`. Any thread, with or without the GIL;
 * not from a signal handler that interrupted Python. */
void python_frames_walk(const struct python *python, struct python_frame *frames, uint32_t max,
                        struct python_walk *walk);

/* Fills `text` with a frame's names and line. Call it only on the thread that walked, at any time before its
 * call returns to Python. A name that is too long loses its end. A path that is too long loses its start and
 * begins with "...". About 40 ns, more in functions of thousands of lines. */
void python_frame_describe(const struct python *python, const struct python_frame *frame,
                           struct python_frame_text *text);
