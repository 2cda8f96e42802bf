/* Moves from a frame of native code to its caller's, by an unwind rule and the stack's memory. */
#pragma once

#include "agent/frames/unwind_rule.h"

#include <stdint.h>

#define UNWIND_ADDRESS_MASK 0xffffffffffffu

/* Why a stack has no further frame. */
enum native_end {
    NATIVE_END_OUTERMOST,   /* the stack is complete */
    NATIVE_END_FULL,        /* there is no room for more frames */
    NATIVE_END_UNKNOWN,     /* the last frame's rule is not known yet */
    NATIVE_END_NO_TABLES,   /* the last frame's code has no unwind tables (generated code, assembly) */
    NATIVE_END_UNSUPPORTED, /* its tables need more than this code supports */
    NATIVE_END_DAMAGED,     /* its tables or the stack are damaged */
    NATIVE_END_STACK        /* the rest is outside the known part of the thread's stack */
};

struct unwind_cursor {
    uint64_t address; /* a return address: the rule is that of the instruction before it */
    uint64_t sp, fp;
    uint64_t link; /* arm64: the link register; 0: unknown */
};

/* Readable memory: at least 8 bytes from the address `low` on, whose content is at `shift` from there. */
struct unwind_memory {
    uint64_t low, bytes, shift;
};

/* A walk reads what other functions have on the stack, also what AddressSanitizer considers unreadable. */
#define READS_STACK __attribute__((no_sanitize("address")))

READS_STACK static inline enum native_end unwind_read_word(const struct unwind_memory *memory,
                                                           uint64_t address, uint64_t *value)
{
    uint64_t offset = address - memory->low;
    if (__builtin_expect(offset > memory->bytes - 8 || (address & 7), 0))
        return address < memory->low || (address & 7) ? NATIVE_END_DAMAGED : NATIVE_END_STACK;
    *value = *(const uint64_t *)(uintptr_t)(address + memory->shift);
    return NATIVE_END_OUTERMOST;
}

/* Offsets at which the kernel stores registers, from the stack pointer in the function that the handler
 * returns to. They are part of the kernel's binary interface (struct rt_sigframe). */
#if defined(__aarch64__)
enum { UNWIND_SAVED_FP = 544, UNWIND_SAVED_LINK = 552, UNWIND_SAVED_SP = 560, UNWIND_SAVED_PC = 568 };
#else
enum { UNWIND_SAVED_FP = 120, UNWIND_SAVED_LINK = 120, UNWIND_SAVED_SP = 160, UNWIND_SAVED_PC = 168 };
#endif

READS_STACK static inline enum native_end unwind_leave_signal(struct unwind_cursor *at,
                                                              const struct unwind_memory *memory)
{
    uint64_t sp = at->sp, pc;
    enum native_end end = unwind_read_word(memory, sp + UNWIND_SAVED_PC, &pc);
    end = end ? end : unwind_read_word(memory, sp + UNWIND_SAVED_FP, &at->fp);
    end = end ? end : unwind_read_word(memory, sp + UNWIND_SAVED_LINK, &at->link);
    end = end ? end : unwind_read_word(memory, sp + UNWIND_SAVED_SP, &at->sp);
    if (end)
        return end;
    at->address = pc + 1;
    at->link &= UNWIND_ADDRESS_MASK;
    return at->sp > sp + UNWIND_SAVED_PC && at->sp - memory->low < memory->bytes ? NATIVE_END_OUTERMOST
                                                                                 : NATIVE_END_STACK;
}

/* Moves from a frame to its caller's. Returns OUTERMOST if the walk can go on, else the reason of its end. */
READS_STACK static inline enum native_end
unwind_step(const struct unwind_rule *rule, struct unwind_cursor *at, const struct unwind_memory *memory)
{
    enum native_end end;
    uint64_t cfa, next, fp = at->fp;
    switch (rule->kind) {
    case UNWIND_SP:
        cfa = at->sp + (uint64_t)(int64_t)rule->cfa_offset;
        break;
    case UNWIND_FP:
        cfa = fp + (uint64_t)(int64_t)rule->cfa_offset;
        break;
    case UNWIND_AT_SP:
    case UNWIND_AT_FP:
        cfa = (rule->kind == UNWIND_AT_SP ? at->sp : fp) + (uint64_t)(int64_t)rule->cfa_offset;
        end = unwind_read_word(memory, cfa, &cfa);
        if (end)
            return end;
        cfa += (uint64_t)(int64_t)rule->cfa_add;
        break;
    case UNWIND_SIGNAL:
        return unwind_leave_signal(at, memory);
    case UNWIND_NONE:
        return NATIVE_END_NO_TABLES;
    case UNWIND_DAMAGED:
        return NATIVE_END_DAMAGED;
    default:
        return NATIVE_END_UNSUPPORTED;
    }
    if (rule->return_in == UNWIND_RETURN_AT_CFA) {
        end = unwind_read_word(memory, cfa + (uint64_t)(int64_t)rule->return_offset, &next);
        if (end)
            return end;
    } else {
        next = at->link;
    }
    if (rule->fp == UNWIND_FP_AT_CFA || rule->fp == UNWIND_FP_AT_FP) {
        uint64_t base = rule->fp == UNWIND_FP_AT_CFA ? cfa : fp;
        end = unwind_read_word(memory, base + (uint64_t)(int64_t)rule->fp_offset, &at->fp);
        if (end)
            return end;
    } else if (rule->fp == UNWIND_FP_LOST) {
        at->fp = 0;
    }
    /* Each frame is above the last one, so that walks end. Only a function that a signal has interrupted, or
     * an arm64 function without a frame, may have none of its own. */
    if (cfa <= at->sp && !(cfa == at->sp && rule->return_in == UNWIND_RETURN_IN_LINK && at->link))
        return NATIVE_END_DAMAGED;
    at->sp = cfa;
    at->link = 0;
#if defined(__aarch64__)
    next &= UNWIND_ADDRESS_MASK; /* signed return addresses */
#endif
    at->address = next;
    return NATIVE_END_OUTERMOST;
}
