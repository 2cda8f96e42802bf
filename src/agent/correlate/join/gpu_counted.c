#include "agent/correlate/join/gpu_counted.h"

#include "base/accounting/counters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct launch {
    uint32_t correlation_id; /* 0: free */
    uint32_t count;          /* number of values; 0: they were announced and follow */
    double range_ns;
    double values[GPU_COUNTERS_MAX];
};

struct gpu_counted {
    uint32_t key_count;
    struct attr_key keys[GPU_COUNTERS_MAX];
    bool are_rates[GPU_COUNTERS_MAX];
    struct launch launches[GPU_COUNTED_MAX];
};

enum status gpu_counted_create(const struct settings *settings, struct gpu_counted **counted)
{
    const struct pattern_list *metrics = &settings->counters.metrics;
    *counted = NULL;
    if (metrics->count == 0)
        return STATUS_OK;
    *counted = calloc(1, sizeof **counted);
    if (!*counted)
        return STATUS_NO_MEMORY;
    for (uint32_t i = 0; i < metrics->count && i < GPU_COUNTERS_MAX; i++) {
        (void)gpu_counter_key(metrics->patterns[i], &(*counted)->keys[i]);
        (*counted)->are_rates[i] = gpu_counter_is_rate(metrics->patterns[i]);
        (*counted)->key_count = i + 1;
    }
    return STATUS_OK;
}

static struct launch *place_of(struct gpu_counted *counted, uint32_t correlation_id)
{
    return &counted->launches[correlation_id % GPU_COUNTED_MAX];
}

void gpu_counted_add(struct gpu_counted *counted, const struct gpu_counters_record *record)
{
    struct launch *launch = place_of(counted, record->correlation_id);
    bool is_known = launch->correlation_id == record->correlation_id;
    if (is_known && record->count == 0)
        return; /* the values arrived before their announcement */
    if (launch->correlation_id && !is_known)
        counter_add(COUNTER_gpu_counts_lost, launch->count > 0);
    launch->correlation_id = record->correlation_id;
    launch->count = record->count < counted->key_count ? record->count : counted->key_count;
    launch->range_ns = record->range_ns;
    memcpy(launch->values, record->values, launch->count * sizeof *launch->values);
}

bool gpu_counted_awaits(struct gpu_counted *counted, uint32_t correlation_id)
{
    const struct launch *launch = place_of(counted, correlation_id);
    return correlation_id && launch->correlation_id == correlation_id && launch->count == 0;
}

/* Returns a value for the span. A rate refers to the counted time, in which only this kernel ran, so it is
 * scaled to the kernel's own time. */
static double value_of(const struct gpu_counted *counted, const struct launch *launch, uint32_t i,
                       const struct span *span)
{
    uint64_t kernel_ns = span->end_ns - span->start_ns;
    bool is_diluted = counted->are_rates[i] && launch->range_ns > 0 && kernel_ns > 0;
    return is_diluted ? launch->values[i] * launch->range_ns / (double)kernel_ns : launch->values[i];
}

void gpu_counted_put(struct gpu_counted *counted, uint32_t correlation_id, struct span *span)
{
    struct launch *launch = place_of(counted, correlation_id);
    if (correlation_id == 0 || launch->correlation_id != correlation_id)
        return;
    for (uint32_t i = 0; i < launch->count; i++) {
        double value = value_of(counted, launch, i, span);
        if (isfinite(value))
            span_attr_double(span, &counted->keys[i], value);
    }
    launch->correlation_id = 0;
}
