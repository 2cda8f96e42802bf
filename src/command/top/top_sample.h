/* The response of an agent to `figures` (docs/control.md), and the difference of two responses. */
#pragma once

#include "base/limits.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOP_KERNELS_MAX 64 /* as many as an agent reports */
#define TOP_KERNELS_ALL (4 * TOP_KERNELS_MAX)
#define TOP_NAME_BYTES  192
#define TOP_ID_BYTES    64
#define TOP_STEPS_MAX   8 /* sampled ones, as many as an agent reports */

/* All values except memory count from the start of the agent's collection. Times are ns, sizes bytes. */
struct top_sample {
    bool is_on;                 /* else nothing was counted yet */
    uint64_t time_ns, since_ns; /* by the agent's clock */
    uint64_t window_ns;         /* of a difference: its interval */
    uint64_t calls, call_ns, errors, waiting_ns, launches;
    size_t device_count;
    struct top_device {
        char id[TOP_ID_BYTES]; /* its UUID, else its index */
        char name[TOP_NAME_BYTES];
        uint32_t index;
        uint64_t busy_ns, kernels, kernel_ns, copies, copy_bytes, fills;
        uint64_t memory_live, memory_peak; /* as they are now */
    } devices[DEVICES_MAX];
    size_t kernel_count;
    struct top_kernel {
        char name[TOP_NAME_BYTES];
        uint64_t count, total_ns;
    } kernels[TOP_KERNELS_ALL];
    uint64_t others_count, others_ns; /* kernels that are not reported by name */
    struct top_steps {
        bool is_there; /* the program has reported steps */
        char job[TOP_ID_BYTES];
        int64_t rank; /* -1: unknown */
        int64_t number;
        char kind[16];            /* of the current step; "": none */
        uint64_t count, total_ns; /* complete training steps */
        uint64_t last_ns;         /* duration of the latest one */
        size_t sampled_count;     /* the latest first */
        struct top_step {
            int64_t number;
            uint64_t compute_ns, exposed_ns, copies_ns, idle_ns; /* disjoint */
            uint64_t communication_ns;                           /* in collectives */
            uint64_t host_ns;                                    /* that the host worked for it; 0: unknown */
            bool is_whole;                                       /* it can be compared */
        } sampled[TOP_STEPS_MAX];
    } steps; /* not in sums of agents */
    uint64_t spans, lost;
    bool has_callbacks;   /* they were timed */
    uint64_t callback_ns; /* cuspan's own, on the program's threads */
    uint64_t threads_ns;  /* CPU time of cuspan's threads */
    uint64_t cupti_ns;    /* CUPTI's overhead, from its records */
};

/* False: not such a response. Missing values are 0. */
bool top_sample_read(const cJSON *answer, struct top_sample *sample);

/* The difference since `before`, or since the agent restarted its collection. False: not known yet. */
bool top_sample_difference(const struct top_sample *before, const struct top_sample *now,
                           struct top_sample *difference);

/* Adds another agent's difference. Values of the same device and kernel are summed, including memory. */
void top_sample_add(struct top_sample *sum, const struct top_sample *other);
