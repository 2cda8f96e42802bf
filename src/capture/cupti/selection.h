/* What is traced, from the settings: which calls have a callback, which kinds of activity are on, with which
 * fields. */
#ifndef CUSPAN_CAPTURE_CUPTI_SELECTION_H
#define CUSPAN_CAPTURE_CUPTI_SELECTION_H

#include "model/cuda/activities.h"
#include "model/cuda/calls.h"
#include "model/settings.h"

/* Whether the call has a callback. Of the driver's calls those that the runtime makes on its own behalf have
 * one too, and leave again at once: CUPTI can't be told of the difference, and switching callbacks while
 * calls are in flight upsets its correlation IDs (docs/cupti.md). */
bool selection_has_call(const struct settings *settings, enum call_domain domain, uint32_t cbid);

/* Whether a runtime call that is left out by name has a callback all the same where driver calls have one:
 * without it, the driver calls inside it would be taken for the program's own. */
bool selection_hides_call(const struct settings *settings, enum call_domain domain, uint32_t cbid);

/* Kinds that are facts (devices, contexts) are always on. */
bool selection_has_activity(const struct settings *settings, uint16_t kind);

/* The fields of the kind that its detail asks for, as bits. The first, the kind itself, is always among them.
 */
uint64_t selection_fields(const struct settings *settings, uint16_t kind);

/* True if every call that launches GPU work is traced, so that a GPU record may be expected to find its call.
 */
bool selection_has_all_launches(const struct settings *settings);

#endif
