/* Reads the unwind rule of an address from a library's .eh_frame, found by the binary search table of its
 * .eh_frame_hdr. Understands what compilers and C libraries write for x86-64 and arm64. With damaged bytes,
 * it reads no others, and its time is bounded by their number. */
#pragma once

#include "agent/capture/stacks/unwind_rule.h"

/* The unwind tables of a library. Both sections lie between `begin` and `end`, which must stay readable
 * during a call. Addresses in the tables are relative to the address of these bytes. */
struct eh_frame {
    const uint8_t *header, *begin, *end;
};

/* Fills `rule` with the rule of the instruction at `address`. */
void eh_frame_find_rule(const struct eh_frame *tables, uint64_t address, struct unwind_rule *rule);
