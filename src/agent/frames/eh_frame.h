/* Reads the unwind rule of an address from a library's .eh_frame, found by the binary search table of its
 * .eh_frame_hdr. Understands what compilers and C libraries write for x86-64 and arm64. With damaged bytes,
 * it reads no others, and its time is bounded by their number. */
#pragma once

#include "agent/frames/unwind_rule.h"

#include <stddef.h>

/* The unwind tables of a library. Both sections lie between `begin` and `end`, which must stay readable
 * during a call. Addresses in the tables are relative to the address of these bytes. */
struct eh_frame {
    const uint8_t *header, *begin, *end;
};

/* Fills `rule` with the rule of the instruction at `address`. */
void eh_frame_find_rule(const struct eh_frame *tables, uint64_t address, struct unwind_rule *rule);

/* Copies of a function's entry and of the common one that it refers to, each without its length. */
struct eh_frame_copy {
    const uint8_t *common, *own;
    size_t common_bytes, own_bytes;
    uint64_t own_address; /* of which `own` is a copy */
};

/* The same from copies, of entries whose addresses are relative to themselves, as compilers write them. */
void eh_frame_find_rule_of_copy(const struct eh_frame_copy *copy, uint64_t address, struct unwind_rule *rule);
