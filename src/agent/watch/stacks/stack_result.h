/* The result of a look at all threads (thread_stacks.h). All texts are valid UTF-8 and NUL-terminated. They
 * may have control characters, except names of threads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STACK_THREADS_MAX       512 /* in one look; later threads are counted as left out */
#define STACK_PYTHON_FRAMES_MAX 48  /* of one thread; the innermost ones */
#define STACK_NATIVE_FRAMES_MAX 24
#define STACK_NAME_BYTES        96  /* of a function; a longer name loses its end */
#define STACK_FILE_BYTES        160 /* of a path; a longer one loses its start and begins with "..." */

/* Limits of all threads together. */
#define STACK_FRAMES_TOTAL 6144
#define STACK_CODES_MAX    1024 /* distinct functions; frames of further ones have no text */
#define STACK_TEXT_BYTES   (128 * 1024)

/* The values of hang.stacks. */
enum stack_detail {
    STACK_DETAIL_NONE,      /* threads without frames */
    STACK_DETAIL_FUNCTIONS, /* frames without files and lines */
    STACK_DETAIL_FULL
};

/* Why a thread has no further Python frame. */
enum stack_python {
    STACK_PYTHON_NONE, /* Python does not know the thread, is not loaded, or was not asked for */
    STACK_PYTHON_IDLE, /* Python knows the thread, but runs nothing on it */
    STACK_PYTHON_COMPLETE,
    STACK_PYTHON_CUT,       /* there are more frames than fit */
    STACK_PYTHON_UNREADABLE /* a check failed; the frames before are right unless the stack is torn */
};

enum stack_native {
    STACK_NATIVE_NONE,     /* the thread was running, or its registers are not readable */
    STACK_NATIVE_COMPLETE, /* up to the thread's first function */
    STACK_NATIVE_CUT,      /* there are more frames than fit */
    STACK_NATIVE_BROKEN    /* no unwind rule for the last frame, or the stack is not readable there */
};

struct stack_python_frame {
    uint64_t code;     /* address of the code object */
    uint32_t position; /* the instruction's, in the version's own unit */
    uint32_t line;     /* 0: unknown, or not asked for */
    uint32_t function; /* index in codes; STACK_NO_CODE: its text is not known */
};
#define STACK_NO_CODE UINT32_MAX

struct stack_code {
    uint64_t address;
    uint32_t first_line; /* 0: unknown, or not asked for */
    uint32_t name, file; /* offsets in text; 0: the empty text */
};

struct stack_native_frame {
    uint64_t address; /* in the first frame the next instruction, in the others the return address */
    uint64_t offset;  /* from the symbol, or without one from the library's first byte */
    uint32_t library; /* its file's name without folders, an offset in text; 0: none (generated code) */
    uint32_t symbol;  /* offset in text; 0: not known */
    bool is_guessed;  /* found by the frame pointer, without unwind tables */
};

/* Calls with arguments in /proc/PID/task/TID/syscall. */
#define STACK_CALL_NONE    (-1) /* blocked, but not in a system call */
#define STACK_CALL_RUNNING (-2)
#define STACK_CALL_UNKNOWN (-3) /* the file is not readable */

struct thread_stack {
    int32_t tid;
    char state;      /* as in /proc/PID/stat: R running, S sleeping, D in the kernel, T stopped; 0: unknown */
    char name[16];   /* sanitized to valid UTF-8 */
    char wait[32];   /* the kernel's function it waits in (wchan); empty: unknown */
    int64_t call;    /* number of the system call, or STACK_CALL_... */
    uint64_t sp, pc; /* 0: unknown */
    uint64_t cpu_ns; /* CPU time of the thread so far */
    uint64_t start_ticks; /* start time; distinguishes two threads with one TID */

    enum stack_python python;
    enum stack_native native;
    uint16_t python_count, native_count;
    uint32_t python_first, native_first; /* index in python_frames and native_frames */

    bool is_ours;     /* a thread of cuspan */
    bool is_torn;     /* it ran while its stack was read */
    bool holds_gil;   /* Python's lock belongs to this thread; false also if this is not known */
    uint64_t used_ns; /* by thread_stacks_compare(): CPU time between both looks */
    bool is_same;     /* by thread_stacks_compare(): same frames and lines in both looks */
    bool is_still;    /* is_same, and no CPU time was used between the looks */
};

/* About 600 KiB, of which a look touches only what it needs. */
struct thread_stacks {
    uint64_t taken_ns;     /* CLOCK_MONOTONIC at the start of the look */
    uint64_t look_ns;      /* duration of the look */
    uint32_t count;        /* threads */
    uint32_t left_out;     /* threads beyond STACK_THREADS_MAX */
    uint32_t python_minor; /* 11: Python 3.11; 0: no Python whose stacks can be read */
    bool is_incomplete;    /* Python's list of threads changed all the time; some threads may lack frames */
    uint32_t python_total, native_total, code_count, text_bytes;
    struct thread_stack threads[STACK_THREADS_MAX]; /* by TID */
    struct stack_python_frame python_frames[STACK_FRAMES_TOTAL];
    struct stack_native_frame native_frames[STACK_FRAMES_TOTAL];
    struct stack_code codes[STACK_CODES_MAX];
    char text[STACK_TEXT_BYTES]; /* text[0] is NUL */
};

/* The text at an offset of the names above. */
static inline const char *thread_stacks_text(const struct thread_stacks *stacks, uint32_t offset)
{
    return offset < STACK_TEXT_BYTES ? stacks->text + offset : "";
}
