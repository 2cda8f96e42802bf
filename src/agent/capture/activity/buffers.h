/* Activity buffers: a bounded pool, allocated and zeroed in advance, lent to CUPTI.
 *
 * CUPTI requests a buffer on a host thread and returns it on any thread. Both paths are lock-free and touch
 * only a bitmap or a list head. The pipeline thread decodes, zeroes and recycles finished buffers, so that no
 * page fault or memset happens during a launch.
 *
 * All threads share the buffer that CUPTI fills (docs/cupti.md). The size is 64 KiB although launches took
 * 111 ns less with 128 KiB, and 689 ns more with 32 KiB than with 128 KiB: medians of six rounds, H200,
 * empty handlers. */
#pragma once

#include "base/status.h"
#include "agent/abi/cupti_abi.h"

#include <stdbool.h>
#include <stdint.h>

struct activity_buffer {
    uint8_t *data;
    uint32_t valid;       /* bytes that hold records */
    _Atomic bool is_lent; /* lent to CUPTI; makes a second return of the same buffer harmless */
    _Atomic int32_t next; /* next finished buffer; -1: last */
};

/* Allocates `count` buffers of `bytes`. Can fail with NO_MEMORY. `record_bytes` 0: CUPTI takes NULL for "no
 * buffer" (12.9 and later). Otherwise CUPTI gets a small buffer whose records are discarded and counted,
 * assuming `record_bytes` per record. */
enum status buffers_init(uint32_t bytes, uint32_t count, uint32_t record_bytes) MUST_CHECK;

/* CUPTI's buffer callbacks for both APIs. */
cupti_request_fn buffers_request;
cupti_complete_fn buffers_complete;
cupti_request_v2_fn buffers_request_v2;
cupti_complete_v2_fn buffers_complete_v2;

/* Called with the layouts that come with a buffer of user-defined records. Set it before the callbacks are
 * registered. */
extern void (*buffers_on_layouts)(struct cupti_record_layout *const *layouts, size_t count);

/* Passes the finished buffers that were not taken to `on_late`, and from now on each buffer that completes,
 * on the completing thread. Pipeline thread, at exit. */
void buffers_end(void (*on_late)(uint8_t *data, size_t valid));

/* Returns the oldest finished buffer; NULL: none. The caller passes it to buffers_give_back() after decoding.
 * Pipeline thread. */
struct activity_buffer *buffers_take_finished(void);
void buffers_give_back(struct activity_buffer *buffer);

/* Returns the number of buffers that are neither lent nor finished. */
uint32_t buffers_free(void);

/* Returns the number of buffers that CUPTI holds. */
uint32_t buffers_lent(void);
