/* Frames of call stacks, and the limits of a code book (code_book.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CODE_ORIGINS_MAX      (1u << 20) /* 32 bytes each */
#define CODE_STACK_FRAMES_MAX (1u << 22) /* 4 bytes each */
#define CODE_DEPTH_MAX        1024       /* frames of a stack; outer ones count as cut */
#define CODE_NAME_BYTES_MAX   512        /* longer names are cut */

/* Origins without a frame. */
enum { ORIGIN_NOT_SAMPLED, ORIGIN_NO_CALL, ORIGIN_NO_PYTHON, ORIGIN_OTHERS, ORIGIN_FIRST_STACK };

struct code_frame {
    const char *file; /* Python: the path; native: the module; "": unknown */
    const char *name; /* the function; "": unknown */
    uint32_t line;    /* 0: unknown */
    bool is_native;
    bool is_backward; /* a place only: the backward of this line, which is a row of its own */
};
