/* Names of hardware counters in the settings: a common name ("dram.read"), which stands for different metrics
 * on different chips; a metric of the chip ("dram__bytes_read.sum"); or a metric with the user's name for it
 * ("reads=dram__bytes_read.sum"). */
#pragma once

#include "model/span.h"

#include <stdbool.h>
#include <stddef.h>

#define GPU_COUNTERS_MAX           16 /* metrics at a time */
#define GPU_COUNTER_CANDIDATES_MAX 3

struct gpu_counter_name {
    const char *name; /* the common name */
    const char *unit; /* UCUM: "By", "%", "s", "1" */
    const char *description;
    const char *metrics[GPU_COUNTER_CANDIDATES_MAX +
                        1]; /* the first one that the chip has is used; NULL-terminated */
};

extern const struct gpu_counter_name gpu_counter_names[];
extern const size_t gpu_counter_name_count;

/* CUPTI runs this kernel around what it counts, and records it with the launch's correlation ID. The program
 * did not launch it. */
#define GPU_COUNTERS_OWN_KERNEL "WaitNs"

#define GPU_COUNTER_PREFIX "cuda.counter."

/* NULL if it is not a common name. */
const struct gpu_counter_name *gpu_counter_find(const char *name);

/* Whether the setting's metric depends on the duration of counting. */
bool gpu_counter_is_rate(const char *setting);

/* How a sample is exported as a metric: as a rate, or as a ratio. */
enum gpu_counter_kind {
    GPU_COUNTER_THROUGHPUT, /* bytes per second */
    GPU_COUNTER_RATE,       /* other counts per second */
    GPU_COUNTER_RATIO       /* percentages as fractions of 1; other values unchanged */
};
enum gpu_counter_kind gpu_counter_kind(const char *setting);
/* Converts a `value` counted over so many ns. */
double gpu_counter_level(const char *setting, double value, double ns);

/* The metric, or the common name. */
const char *gpu_counter_metric(const char *setting);
/* The key of its attribute: prefix and name. False: it was too long and is truncated. */
bool gpu_counter_key(const char *setting, struct attr_key *key);
