/* How to find the caller's frame from a frame at one address: the unwind tables (.eh_frame) at that address,
 * reduced to what stacks of native code need. Registers other than the stack pointer, the frame pointer (rbp,
 * x29) and the link register (x30) are not followed. */
#pragma once

#include <assert.h>
#include <stdint.h>

enum unwind_kind {
    UNWIND_NONE,        /* there are no tables for the address */
    UNWIND_SP,          /* CFA = sp + cfa_offset */
    UNWIND_FP,          /* CFA = fp + cfa_offset */
    UNWIND_AT_SP,       /* CFA = value at sp + cfa_offset, + cfa_add */
    UNWIND_AT_FP,       /* CFA = value at fp + cfa_offset, + cfa_add */
    UNWIND_SIGNAL,      /* a signal handler's frame: the kernel has saved the registers at sp */
    UNWIND_OUTERMOST,   /* the thread's first function */
    UNWIND_UNSUPPORTED, /* the tables need more registers or operations */
    UNWIND_DAMAGED      /* the tables contradict their format */
};

enum unwind_fp { UNWIND_FP_SAME, UNWIND_FP_AT_CFA, UNWIND_FP_AT_FP, UNWIND_FP_LOST };
enum unwind_return { UNWIND_RETURN_AT_CFA, UNWIND_RETURN_IN_LINK };

/* The CFA is the caller's stack pointer. Compared byte by byte. */
struct unwind_rule {
    int32_t cfa_offset, cfa_add;
    int32_t fp_offset;     /* from the CFA or from fp to the caller's fp, by `fp` */
    int32_t return_offset; /* from the CFA to the return address */
    uint8_t kind, fp, return_in, unused;
};

static_assert(sizeof(struct unwind_rule) == 20, "no padding");
