/* Adds up GPU time by stack, for profiles (profiles.enabled). The place of a call is its stack with the span
 * that it works for. It gets a number with the call, by which it is found again when the GPU work arrives.
 *
 * Memory is bounded, and no time is lost: work whose place is forgotten or that finds a table full counts
 * without its link or stack, and is counted (profile_unplaced). */
#pragma once

#include "base/status.h"
#include "agent/correlate/stacks/code_stacks.h"
#include "model/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_profile;

/* `stacks` must keep frames and outlive the profile; NULL: calls have no stack. Starts the first interval.
 * Fails with NO_MEMORY only. */
enum status code_profile_create(struct code_stacks *stacks, struct code_profile **profile) MUST_CHECK;
void code_profile_destroy(struct code_profile *profile);

/* Returns the number of the place with this stack (NULL: unknown) and link (NULL: no sampled span); 0: both
 * are NULL. */
uint32_t code_profile_place(struct code_profile *profile, const struct code_stack *stack,
                            const struct profile_link *link);

/* Returns the number of the place with the link of `place` and with this stack, for work whose code is not
 * its call's. */
uint32_t code_profile_place_with(struct code_profile *profile, uint32_t place,
                                 const struct code_stack *stack);

/* Adds `ns` of GPU time to the call's place. `number` is unique for `name`; 0: the name has none. */
void code_profile_add(struct code_profile *profile, uint32_t place, enum profile_kind kind,
                      struct profile_string name, uint64_t number, uint64_t ns);

/* Whether a table is nearly full, so that the interval should end. */
bool code_profile_is_full(const struct code_profile *profile);

/* Ends the current interval and returns its profile, not owned, valid until the next call of another
 * function. code_profile_begin() starts the next interval, with an empty profile. */
const struct profile *code_profile_end(struct code_profile *profile);
void code_profile_begin(struct code_profile *profile);
