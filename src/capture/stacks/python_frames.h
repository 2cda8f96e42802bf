/* The Python frames of the calling thread, for a host's thread in the middle of a call into CUDA.
 *
 * The walk reads the interpreter's memory: it needs no GIL, takes no lock, allocates nothing, and calls only
 * two functions of Python that read a variable. 20 frames take about 60 ns (tests/bench/RESULTS.md).
 *
 * Why that is safe:
 * - Only a thread itself changes its frames, and it is here. A frame keeps its code object, and that its
 * name, file and table of lines, all immutable. They are certain to exist until the walking thread returns to
 * Python.
 * - The offsets are those of exactly this minor version (python_layouts.h). python_find() compares them with
 *   what the interpreter says about itself and refuses other versions.
 * - Each walk checks that the thread state names this thread and, before Python 3.13, that there is only one
 *   interpreter: PyGILState_GetThisThreadState() can return another interpreter's thread state there.
 * - Finalization frees the thread states of daemon threads, so each walk checks before and after whether it
 * has begun. A thread that is interrupted within these nanoseconds may read freed memory, whose pointers the
 *   checks below nearly always reject, and reports PYTHON_STACK_FINALIZING.
 * - Pointers must be aligned and canonical, a code object, string or bytes object must have its type, and
 * loops and lengths are bounded. A wrong pointer that still looks like one is not detected.
 *
 * Code objects are freed and their addresses are reused. python_frame.identity tells two of them apart: it is
 * a hash of the address, the first line, the pointers to name, file and table of lines, and `co_version`, or
 * before Python 3.12 the hash of the name. */
#ifndef CUSPAN_CAPTURE_STACKS_PYTHON_FRAMES_H
#define CUSPAN_CAPTURE_STACKS_PYTHON_FRAMES_H

#include "capture/stacks/python_find.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PYTHON_NO_POSITION UINT32_MAX

struct python_frame {
    uint64_t code;     /* address of the code object */
    uint64_t identity; /* of the code object */
    uint32_t position; /* of the instruction, in the version's own unit; PYTHON_NO_POSITION: unknown */
};

enum python_stack {
    PYTHON_STACK_FRAMES,       /* complete, unless is_cut */
    PYTHON_STACK_EMPTY,        /* Python knows the thread, but no Python function is running on it */
    PYTHON_STACK_NO_THREAD,    /* Python does not know the thread, such as PyTorch's autograd threads */
    PYTHON_STACK_FINALIZING,   /* Python is exiting */
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
    uint32_t first_line;             /* of the function */
    uint32_t line;                   /* of the call; 0: unknown */
};

/* The calling thread's frames, innermost first, at most `max`. Any thread, with or without the GIL; not from
 * a signal handler that interrupted Python. */
void python_frames_walk(const struct python *python, struct python_frame *frames, uint32_t max,
                        struct python_walk *walk);

/* Names a frame and decodes its line. Only on the thread that walked, before its call returns to Python; it
 * can be later than the walk by any time within that call. A name that is too long loses its end. A path that
 * is too long loses its start and begins with "...". About 70 ns, more in functions of thousands of lines. */
void python_frame_describe(const struct python *python, const struct python_frame *frame,
                           struct python_frame_text *text);

#endif
