/* Keeps the hardware counter values of launches by correlation ID until the kernel's record arrives. IDs
 * count up; a newer launch in the same slot replaces the older one. */
#pragma once

#include "base/status.h"
#include "model/gpu_counter_names.h"
#include "model/record.h"
#include "model/settings/settings.h"
#include "model/span.h"

#define GPU_COUNTED_MAX 4096 /* a power of two */

struct gpu_counted;

/* `*counted` becomes NULL if the settings name no counters. The caller owns it: free(). Fails with NO_MEMORY
 * only. */
enum status gpu_counted_create(const struct settings *settings, struct gpu_counted **counted) MUST_CHECK;

void gpu_counted_add(struct gpu_counted *counted, const struct gpu_counters_record *record);

/* Whether the values of this launch were announced but have not arrived, so that the kernel's record must
 * wait. */
bool gpu_counted_awaits(struct gpu_counted *counted, uint32_t correlation_id);

/* Adds the launch's values to its kernel's span, whose times must be set, and forgets them. */
void gpu_counted_put(struct gpu_counted *counted, uint32_t correlation_id, struct span *span);
