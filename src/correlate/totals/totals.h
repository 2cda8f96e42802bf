/* What work adds up to: calls, GPU work, times. A range, a session and a summary have totals each.
 *
 * The time in which a GPU was busy is the union of the intervals of its work (busy.h), which lie in a pool
 * that all totals share. Work in the order of time is exact; where something was cut, the totals say so. */
#ifndef CUSPAN_CORRELATE_TOTALS_H
#define CUSPAN_CORRELATE_TOTALS_H

#include "base/status.h"
#include "correlate/trace/devices.h"
#include "model/cuda/calls.h"
#include "model/record.h"
#include "model/span.h"

#include <stdbool.h>
#include <stdint.h>

#define TOTALS_SLOWEST 3

struct totals {
    uint64_t first_ns, last_ns; /* all that is counted lies between; 0: nothing is */
    uint64_t call_ns, launch_ns,
        sync_ns;       /* on the host, in all calls, in those that launch, in those that wait */
    uint64_t delay_ns; /* from begins of calls to begins of their work */
    uint64_t copied_bytes, filled_bytes;
    uint32_t calls, errors;
    uint32_t kernels, copies, fills, graphs;
    int32_t first_error; /* the result of the first call that failed, of this domain */
    uint8_t first_error_domain;
    bool is_estimated; /* the GPU's time is less than it was */
    bool is_incomplete;
    uint32_t devices; /* in the pool: the first that worked */
    struct {
        uint32_t label; /* totals_label; 0: none */
        uint64_t duration_ns;
    } slowest[TOTALS_SLOWEST]; /* kernels of different names by their longest execution, the longest first */
};

/* All zero, totals are empty. */
struct totals_pool;

enum status totals_pool_create(struct totals_pool **pool) MUST_CHECK;
void totals_pool_destroy(struct totals_pool *pool);

void totals_add_call(struct totals *totals, const struct call_info *info, const struct call_record *call);

struct totals_work {
    uint16_t kind; /* enum activity_kind, one that is GPU work */
    uint32_t device_id;
    uint64_t start_ns, end_ns;
    uint64_t delay_ns; /* since the begin of its call; 0: unknown */
    uint64_t bytes;    /* copies and fills */
};
void totals_add_work(struct totals_pool *pool, struct totals *totals, const struct totals_work *work);

/* Whether a kernel of this length is to be given to totals_add_kernel, beside totals_add_work: most aren't,
 * so their names needn't be known. */
bool totals_wants_kernel(const struct totals *totals, uint64_t duration_ns);
void totals_add_kernel(struct totals *totals, uint32_t label, uint64_t duration_ns);
/* The name's number, from 1, the same for the same name as long as the pool lives. Names beyond the pool's
 * room have one together. */
uint32_t totals_label(struct totals_pool *pool, const char *name, uint32_t bytes);

/* The time in which GPUs were busy, the sum over devices. */
uint64_t totals_gpu_ns(const struct totals_pool *pool, const struct totals *totals);

/* Appends what was counted to the span: attributes, and where more than one device worked, an event for each
 * into `events`, which has room for `events_max` and holds span->event_count (it becomes the span's). Borrows
 * from pool and `devices`. Nothing, if there was no call and no work. */
void totals_write(const struct totals_pool *pool, const struct totals *totals, const struct devices *devices,
                  struct span *span, struct span_event *events, uint32_t events_max);

/* Empties them: what they had of the pool goes back. */
void totals_clear(struct totals_pool *pool, struct totals *totals);

#endif
