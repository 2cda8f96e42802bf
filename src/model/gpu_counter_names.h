/* Hardware counters as the user names them: by a plain name for what people ask most ("dram.read"), which
 * each chip may have under another metric, by the chip's own metric ("dram__bytes_read.sum"), or by that with
 * a name of his own before it ("reads=dram__bytes_read.sum"). */
#ifndef CUSPAN_MODEL_GPU_COUNTER_NAMES_H
#define CUSPAN_MODEL_GPU_COUNTER_NAMES_H

#include "model/span.h"

#include <stdbool.h>
#include <stddef.h>

#define GPU_COUNTERS_MAX           16 /* metrics at a time */
#define GPU_COUNTER_CANDIDATES_MAX 3

struct gpu_counter_name {
    const char *name; /* plain */
    const char *unit; /* UCUM: "By", "%", "s", "1" */
    const char *description;
    const char *metrics[GPU_COUNTER_CANDIDATES_MAX + 1]; /* the first that the chip has; NULL-terminated */
};

extern const struct gpu_counter_name gpu_counter_names[];
extern const size_t gpu_counter_name_count;

/* CUPTI runs it around what it counts, and records it under the launch's correlation ID: it is none of the
 * program's. */
#define GPU_COUNTERS_OWN_KERNEL "WaitNs"

#define GPU_COUNTER_PREFIX "cuda.counter."

/* NULL: it is no plain name. */
const struct gpu_counter_name *gpu_counter_find(const char *name);

/* Whether this setting's metric is by the time for which was counted. */
bool gpu_counter_is_rate(const char *setting);

/* What a sample's value is a level of, for metrics: how much in a second, or a share. */
enum gpu_counter_kind {
    GPU_COUNTER_THROUGHPUT, /* bytes a second */
    GPU_COUNTER_RATE,       /* anything else that is counted, a second */
    GPU_COUNTER_RATIO       /* percentages as shares of 1; what is by cycle; all else as it is */
};
enum gpu_counter_kind gpu_counter_kind(const char *setting);
/* The level of this kind that `value`, of a stretch of so many ns, stands for. */
double gpu_counter_level(const char *setting, double value, double ns);

/* The metric itself, or the plain name. */
const char *gpu_counter_metric(const char *setting);
/* The key of its attribute: the prefix and the name. False: it is too long, and has been cut. */
bool gpu_counter_key(const char *setting, struct attr_key *key);

#endif
