/* The tracestates of attached contexts, the latest ones: whoever remembers one asks whether it is still
 * there. */
#ifndef CUSPAN_CORRELATE_STATES_H
#define CUSPAN_CORRELATE_STATES_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tracestates;

enum status tracestates_create(struct tracestates **states) MUST_CHECK;
void tracestates_destroy(struct tracestates *states);

/* Keeps `bytes` of `text` for this trace; a few hundred later ones take its place. */
const char *tracestates_keep(struct tracestates *states, const uint8_t trace_id[16], const char *text,
                             size_t bytes);

/* What tracestates_keep gave for this trace, or NULL if its place is taken; other pointers come back as they
 * are.
 */
const char *tracestates_valid(const struct tracestates *states, const uint8_t trace_id[16], const char *text);

#endif
