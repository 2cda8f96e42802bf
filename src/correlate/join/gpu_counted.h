/* What the hardware counted of launches, until their kernels' records come, by correlation ID. CUPTI counts
 * the IDs up: of two that share a place the older one has to go. */
#ifndef CUSPAN_CORRELATE_GPU_COUNTED_H
#define CUSPAN_CORRELATE_GPU_COUNTED_H

#include "base/status.h"
#include "model/gpu_counter_names.h"
#include "model/record.h"
#include "model/settings.h"
#include "model/span.h"

#define GPU_COUNTED_MAX 4096 /* a power of two */

struct gpu_counted;

/* `*counted` NULL: the settings want no counters. NO_MEMORY. */
enum status gpu_counted_create(const struct settings *settings, struct gpu_counted **counted) MUST_CHECK;
void gpu_counted_destroy(struct gpu_counted *counted);

void gpu_counted_add(struct gpu_counted *counted, const struct gpu_counters_record *record);

/* Of this launch it is known that values will come, and not yet which: its kernel's span has to wait. */
bool gpu_counted_awaits(struct gpu_counted *counted, uint32_t correlation_id);

/* Puts what was counted of this launch on the span of its kernel, which has its times, once. */
void gpu_counted_put(struct gpu_counted *counted, uint32_t correlation_id, struct span *span);

#endif
