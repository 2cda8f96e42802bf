/* Selects, from the settings, which calls have callbacks, and which activity kinds and fields CUPTI records.
 */
#pragma once

#include "model/cuda/activities.h"
#include "model/cuda/calls.h"
#include "model/settings/settings.h"

/* Whether the call gets a callback. Driver calls nested in runtime calls also have one, which returns at
 * once: CUPTI cannot tell them apart, and toggling callbacks while calls are in flight upsets its correlation
 * IDs (docs/cupti.md). */
bool selection_has_call(const struct settings *settings, enum call_domain domain, uint32_t cbid);

/* Whether a runtime call that is excluded by name still needs a callback, because otherwise driver calls
 * nested in it would look like the program's own. */
bool selection_hides_call(const struct settings *settings, enum call_domain domain, uint32_t cbid);

/* Whether the activity kind is enabled. Kinds that describe the system (devices, contexts) always are. */
bool selection_has_activity(const struct settings *settings, uint16_t kind);

/* Returns a bit mask of the kind's fields at the settings' level of detail. Bit 0, the kind itself, is always
 * set. */
uint64_t selection_fields(const struct settings *settings, uint16_t kind);

/* Whether every call that launches GPU work is traced, so that every GPU record should find its call. */
bool selection_has_all_launches(const struct settings *settings);
