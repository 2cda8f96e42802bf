/* Adds up calls, GPU work and times for a range, a session or a summary.
 *
 * GPU time is the union of intervals (busy.h), in a pool that all totals share. It is exact for work in order
 * of time. `is_estimated` is set if intervals were cut.
 *
 * The slowest kernels are those with the longest single execution, because few entries keep them exactly, in
 * any order of arrival. Those with the largest total time would need a table of all names for each account.
 */
#pragma once

#include "base/status.h"
#include "agent/correlate/join/gpu_work.h"
#include "agent/correlate/trace/devices.h"
#include "model/cuda/calls.h"
#include "model/record.h"
#include "model/span.h"

#include <stdbool.h>
#include <stdint.h>

#define TOTALS_SLOWEST 3

struct totals {
    uint64_t first_ns, last_ns;           /* first start and last end; 0: nothing counted */
    uint64_t call_ns, launch_ns, sync_ns; /* host time of all calls, of launches, and of waits */
    uint64_t delay_ns;                    /* sum of the times from a call's start to its work's start */
    uint64_t copied_bytes, filled_bytes;
    uint32_t calls, errors;
    uint32_t kernels, copies, fills, graphs;
    int32_t first_error; /* result of the first failed call, of first_error_domain */
    uint8_t first_error_domain;
    bool is_estimated; /* the GPU time is too low */
    bool is_incomplete;
    uint32_t devices; /* index in the pool, of the first device */
    struct {
        uint32_t label; /* totals_label; 0: none */
        uint64_t duration_ns;
    } slowest[TOTALS_SLOWEST]; /* longest execution by kernel name, the longest first */
};

/* A struct totals of zeros is empty. */
struct totals_pool;

enum status totals_pool_create(struct totals_pool **pool) MUST_CHECK;
void totals_pool_destroy(struct totals_pool *pool);

void totals_add_call(struct totals *totals, const struct call_info *info, const struct call_record *call);

void totals_add_work(struct totals_pool *pool, struct totals *totals, const struct gpu_work *work);

/* Whether to call totals_add_kernel() besides totals_add_work(). Mostly false, so that names need not be
 * resolved. */
bool totals_wants_kernel(const struct totals *totals, uint64_t duration_ns);
void totals_add_kernel(struct totals *totals, uint32_t label, uint64_t duration_ns);
/* Returns the name's number, from 1, for the life of the pool. Names beyond its room share one number. */
uint32_t totals_label(struct totals_pool *pool, const char *name, uint32_t bytes);

/* Returns the GPU time, added over devices. */
uint64_t totals_gpu_ns(const struct totals_pool *pool, const struct totals *totals);

/* Adds the totals to the span, and `gpu_ns` as the GPU's time, without devices. Borrows from the pool until
 * the next call. Adds nothing if nothing was counted. */
void totals_write_sums(struct totals_pool *pool, const struct totals *totals, uint64_t gpu_ns,
                       struct span *span);

/* Adds the totals to the span. With several devices, each becomes an event in `events`, which holds
 * span->event_count events and has room for `events_max`. Borrows from `devices`, and from the pool until the
 * next call. Adds nothing if nothing was counted. */
void totals_write(struct totals_pool *pool, const struct totals *totals, const struct devices *devices,
                  struct span *span, struct span_event *events, uint32_t events_max);

/* Empties the totals and returns their memory to the pool. */
void totals_clear(struct totals_pool *pool, struct totals *totals);
