#include "correlate/gpu_counted.h"

#include "base/counters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct launch {
    uint32_t correlation_id; /* 0: free */
    uint32_t count;
    double values[GPU_COUNTERS_MAX];
};

struct gpu_counted {
    uint32_t key_count, waiting;
    struct attr_key keys[GPU_COUNTERS_MAX];
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
    for (size_t i = 0; i < metrics->count && i < GPU_COUNTERS_MAX; i++)
        (void)gpu_counter_key(metrics->patterns[i], &(*counted)->keys[(*counted)->key_count++]);
    return STATUS_OK;
}

void gpu_counted_destroy(struct gpu_counted *counted)
{
    free(counted);
}

static struct launch *place_of(struct gpu_counted *counted, uint32_t correlation_id)
{
    return &counted->launches[correlation_id % GPU_COUNTED_MAX];
}

uint32_t gpu_counted_add(struct gpu_counted *counted, const struct gpu_counters_record *record)
{
    struct launch *launch = place_of(counted, record->correlation_id);
    if (launch->correlation_id)
        counter_add(COUNTER_gpu_counts_lost, 1);
    counted->waiting += launch->correlation_id == 0;
    launch->correlation_id = record->correlation_id;
    launch->count = record->count < counted->key_count ? record->count : counted->key_count;
    memcpy(launch->values, record->values, launch->count * sizeof *launch->values);
    return counted->waiting;
}

static void put_values(const struct gpu_counted *counted, const struct launch *launch, struct span *span)
{
    for (uint32_t i = 0; i < launch->count; i++) {
        struct span_attr *attr =
            isfinite(launch->values[i]) ? span_attr_add(span, &counted->keys[i], ATTR_DOUBLE) : NULL;
        if (attr)
            attr->d = launch->values[i];
    }
}

void gpu_counted_put(struct gpu_counted *counted, uint32_t correlation_id, struct span *span)
{
    struct launch *launch = place_of(counted, correlation_id);
    if (correlation_id == 0 || launch->correlation_id != correlation_id)
        return;
    put_values(counted, launch, span);
    launch->correlation_id = 0;
    counted->waiting--;
}
