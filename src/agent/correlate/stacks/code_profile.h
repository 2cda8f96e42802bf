/* Adds up GPU time by stack, for profiles (profiles.enabled). A call's place, its stack and the span that it
 * works for, is noted when the call is known, and found again by a number when its GPU work arrives.
 *
 * Memory is bounded, and no time is lost: work whose place is forgotten or that finds a table full counts
 * without its link or stack, and is counted (profile_unplaced). */
#ifndef CUSPAN_AGENT_CORRELATE_STACKS_CODE_PROFILE_H
#define CUSPAN_AGENT_CORRELATE_STACKS_CODE_PROFILE_H

#include "base/status.h"
#include "agent/correlate/stacks/code_stacks.h"
#include "model/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_profile;

/* `stacks` keep their frames and outlive it; NULL: calls have no stack. The first interval begins now.
 * NO_MEMORY. */
enum status code_profile_create(struct code_stacks *stacks, struct code_profile **profile) MUST_CHECK;
void code_profile_destroy(struct code_profile *profile);

/* Returns the number of a place; 0: neither stack nor link. `stack` NULL: unknown. `link` NULL: no sampled
 * span. */
uint32_t code_profile_place(struct code_profile *profile, const struct code_stack *stack,
                            const struct profile_link *link);

/* Returns the number of a place with the link of another one and this stack, for work whose code is not that
 * of its call. */
uint32_t code_profile_place_with(struct code_profile *profile, uint32_t place,
                                 const struct code_stack *stack);

/* Adds work of the call at `place`. `number` is unique for the name as long as it is not 0. */
void code_profile_add(struct code_profile *profile, uint32_t place, enum profile_kind kind,
                      struct profile_string name, uint64_t number, uint64_t ns);

/* Whether a table is nearly full, so that the interval should end. */
bool code_profile_is_full(const struct code_profile *profile);

/* The profile of the current interval, which ends now; valid until the next call of another function.
 * code_profile_begin() starts an empty one. */
const struct profile *code_profile_end(struct code_profile *profile);
void code_profile_begin(struct code_profile *profile);

#endif
