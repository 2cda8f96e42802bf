/* Live statistics of the program. Correlate adds them up, encode makes metrics of them, and the agent sends
 * them to `cuspan top`. Durations are ns, times are ns since 1970, sizes are bytes.
 *
 * Everything is bounded. The first kernel names have their own entry, and the others share one. A device's
 * part is created when it is first seen. Only correlate's thread reads and writes them; a view is a copy. */
#pragma once

#include "base/limits.h"
#include "model/iteration.h"
#include "model/step.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LIVE_STATS_KERNELS_MAX    256 /* names of kernels, each on each device */
#define LIVE_STATS_NAME_BYTES     192 /* of a kernel's short name, NUL included; longer ones are cut */
#define LIVE_STATS_COPY_KINDS     12  /* CUPTI's kinds of copies, 0: unknown */
#define LIVE_STATS_VIEW_KERNELS   64
#define HISTOGRAM_BOUNDS          22 /* explicit by default: 1 us to 10 s; buckets: one more */
#define HISTOGRAM_EXEMPLARS       (HISTOGRAM_BOUNDS + 1)
#define HISTOGRAM_BUCKETS_MAX     160
#define HISTOGRAM_BOUNDS_MAX      (HISTOGRAM_BUCKETS_MAX - 1)
#define HISTOGRAM_SCALE_MAX       8 /* 256 buckets between a value and its double: 0.3 % wide */
#define LIVE_STATS_DEVICE_UNKNOWN UINT32_MAX

/* Which measurements may be exemplars: those with an exported span, all, or none. */
enum exemplar_filter { EXEMPLAR_TRACE_BASED, EXEMPLAR_ALWAYS_ON, EXEMPLAR_ALWAYS_OFF };

/* A measurement and its span. Both IDs are 0 if the span is not exported. time_ns 0: none. */
struct exemplar {
    uint64_t time_ns, value_ns;
    uint8_t trace_id[16];
    uint8_t span_id[8];
};

enum histogram_form { HISTOGRAM_EXPLICIT, HISTOGRAM_EXPONENTIAL };

/* The buckets of a histogram. */
struct histogram_shape {
    uint8_t form; /* enum histogram_form */
    bool records_min_max;
    int8_t scale_max;     /* exponential: at most HISTOGRAM_SCALE_MAX */
    uint16_t buckets_max; /* exponential: from 2 to HISTOGRAM_BUCKETS_MAX */
    uint16_t bound_count; /* explicit: at most HISTOGRAM_BOUNDS_MAX */
    /* Inclusive upper bounds of the explicit buckets, in seconds as exported, and the longest duration in ns
     * that is not above it; -1: there is none. */
    double bounds[HISTOGRAM_BOUNDS_MAX];
    int64_t limits_ns[HISTOGRAM_BOUNDS_MAX];
};

/* Durations. The exponential buckets are in seconds, as exported: bucket i of scale s holds (b^(offset + i),
 * b^(offset + i + 1)] with b = 2^(2^-s). */
struct histogram {
    const struct histogram_shape *shape;
    struct histogram *next; /* the same durations in another shape, or NULL */
    uint64_t count, sum_ns, min_ns, max_ns;
    uint64_t zeros; /* exponential: durations of 0 */
    int8_t scale;
    uint16_t used; /* exponential: number of `buckets` in use, from `offset` on */
    int32_t offset;
    uint64_t buckets[HISTOGRAM_BUCKETS_MAX];
    struct exemplar exemplars[HISTOGRAM_EXEMPLARS]; /* the latest in each explicit bucket or in adjacent ones;
                                                       exponential: by the default explicit buckets */
};

static inline bool exemplar_has_span(const struct exemplar *exemplar)
{
    uint64_t id; /* never 0 for a span */
    memcpy(&id, exemplar->span_id, sizeof id);
    return id != 0;
}

struct duration_sum {
    uint64_t count, total_ns;
};

/* A kernel's name on one device. */
struct kernel_stats {
    uint32_t device_id;
    uint32_t hash;
    struct duration_sum sum;     /* since the statistics started */
    struct histogram *histogram; /* NULL: metrics are off */
    char name[LIVE_STATS_NAME_BYTES];
};

enum memory_kind {
    MEMORY_DEVICE,   /* cudaMalloc and similar */
    MEMORY_POOL,     /* allocated from a stream-ordered pool */
    MEMORY_MANAGED,  /* unified */
    MEMORY_PHYSICAL, /* cuMemCreate */
    MEMORY_PINNED,   /* page-locked host memory, of no device */
    MEMORY_KINDS
};

const char *memory_kind_name(enum memory_kind kind);

struct memory_use {
    uint64_t live, peak;
};

struct device_memory {
    struct memory_use kinds[MEMORY_KINDS], total;
};

struct copy_stats {
    struct duration_sum sum;
    uint64_t bytes;
    struct histogram *histogram; /* NULL: metrics are off, or there was none */
};

struct device_stats {
    uint64_t busy_ns;  /* updated before each read */
    bool is_estimated; /* busy_ns is a lower bound */
    struct duration_sum kernels, graphs;
    struct kernel_stats others;                      /* the kernels without an entry of their own */
    struct copy_stats copies[LIVE_STATS_COPY_KINDS]; /* by CUPTI's kind */
    struct copy_stats fills;
    struct histogram *latency; /* from a call's start to its kernel's start; NULL: metrics are off */
    struct device_memory memory;
};

/* How the GPUs of a process spent a sampled step. The parts are disjoint: compute counts before
 * communication, communication before copies. */
enum step_part { STEP_COMPUTE, STEP_EXPOSED_COMMUNICATION, STEP_COPIES, STEP_IDLE, STEP_PARTS };

const char *step_part_name(enum step_part part);

struct measured_step {
    int64_t number;
    uint8_t kind;  /* enum step_kind */
    bool is_whole; /* its beginning and end are known, and nothing divides it: ranks can be compared in it */
    bool has_host;
    uint64_t host_ns; /* that the host worked for it (model/cuda/step_host.h) */
    uint64_t parts_ns[STEP_PARTS];
    uint64_t
        communication_ns; /* in collectives, also while compute ran, and including the wait for other ranks */
};

#define MEASURED_STEPS_KEPT 8

/* The steps of a training job. */
struct step_times {
    int64_t rank, world_size;            /* -1: unknown */
    uint64_t job;                        /* the same on all ranks, or of this process alone */
    int64_t number;                      /* of the current step */
    uint8_t kind, source;                /* of the current step; STEP_NONE: there is none */
    struct duration_sum sums[STEP_NONE]; /* of complete steps, by kind */
    uint64_t last_ns;                    /* duration of the latest training step; 0: none is complete */
    uint64_t measured_count;             /* the latest ones are in `measured`, a ring */
    struct measured_step measured[MEASURED_STEPS_KEPT];
    /* NULL: metrics are off, or there was none. */
    struct histogram *durations[STEP_NONE][STEP_BY_NONE];
    struct histogram *parts[STEP_NONE][STEP_PARTS];
    struct histogram *communication[STEP_NONE];
};

#define LIVE_STATS_ENGINES_MAX 4

/* A serving engine, by its name, on one rank. */
struct engine_figures {
    bool is_used, is_others; /* is_others: all beyond the maximum */
    char name[ENGINE_NAME_BYTES];
    int32_t rank;
    uint64_t active; /* requests */
    uint64_t tokens[REQUEST_PHASES], preemptions;
    uint64_t gpu_ns[ITERATION_KINDS];
    /* NULL: there was none. */
    struct histogram *iterations[ITERATION_KINDS];
    struct histogram *requests[REQUEST_ENDS], *queue, *first_token, *per_token;
};

struct live_stats {
    bool is_on;
    uint64_t since_ns;
    uint64_t calls, errors, launches;
    uint64_t call_ns, waiting_ns;              /* waiting_ns: in calls that wait for the GPU */
    struct memory_use pinned;                  /* host memory */
    struct device_stats *devices[DEVICES_MAX]; /* NULL: not seen */
    uint32_t kernel_count;
    struct kernel_stats *kernels[LIVE_STATS_KERNELS_MAX];
    struct step_times *steps; /* NULL: the program has reported none */
    const struct engine_figures
        *engines; /* LIVE_STATS_ENGINES_MAX, and one for all others; NULL: the program has reported none */
};

/* CUPTI's name for the direction of a copy: "HostToDevice". */
const char *copy_kind_name(uint32_t kind);

/* A copy for readers, with only the sums. */
struct live_stats_view {
    bool is_on;
    uint64_t time_ns, since_ns;
    uint64_t calls, errors, launches, call_ns, waiting_ns;
    uint32_t device_count;
    struct device_view {
        uint32_t index;
        char id[48], name[96]; /* "" if unknown */
        uint64_t busy_ns, kernels, kernel_ns, copies, copy_bytes, fills, memory_live, memory_peak;
    } devices[DEVICES_MAX];
    uint32_t kernel_count; /* those with the largest totals over all devices, in descending order */
    struct {
        char name[LIVE_STATS_NAME_BYTES];
        struct duration_sum sum;
    } kernels[LIVE_STATS_VIEW_KERNELS];
    struct duration_sum others;
    bool has_steps;
    struct step_view {
        int64_t rank, world_size, number;
        uint64_t job;
        uint8_t kind, source;
        struct duration_sum sum; /* of complete training steps */
        uint64_t last_ns;
        uint32_t measured_count; /* sampled training steps, the latest first */
        struct measured_step measured[MEASURED_STEPS_KEPT];
    } steps;
};
