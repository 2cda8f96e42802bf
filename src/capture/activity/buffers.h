/* Activity buffers: ready-made, zeroed, bounded, lent to CUPTI and taken back.
 *
 * CUPTI asks for a buffer on a host's thread and gives it back on any: both are lock-free and touch only a
 * bitmap or a list head. The pipeline thread takes finished buffers, and zeroes and returns them after
 * decoding, so that neither CUPTI nor the host ever clears or faults in memory on the way of a launch. */
#ifndef CUSPAN_CAPTURE_ACTIVITY_BUFFERS_H
#define CUSPAN_CAPTURE_ACTIVITY_BUFFERS_H

#include "base/status.h"
#include "abi/cupti_abi.h"

#include <stdbool.h>
#include <stdint.h>

struct activity_buffer {
    uint8_t *data;
    uint32_t valid;       /* bytes that hold records */
    _Atomic bool is_lent; /* CUPTI has it: a buffer that comes back twice is taken once */
    _Atomic int32_t next; /* in the list of finished buffers; -1: the last */
};

/* NO_MEMORY. `record_bytes` 0: CUPTI takes NULL for "no buffer" (12.9 and later); else it gets a small buffer
 * whose records are thrown away and counted, each taken to be that long. */
enum status buffers_init(uint32_t bytes, uint32_t count, uint32_t record_bytes) MUST_CHECK;

/* CUPTI's entries, of both APIs. */
cupti_request_fn buffers_request;
cupti_complete_fn buffers_complete;
cupti_request_v2_fn buffers_request_v2;
cupti_complete_v2_fn buffers_complete_v2;

/* Set once before CUPTI is told of the entries: sees the layouts that come with a buffer of user-defined
 * records. */
extern void (*buffers_on_layouts)(struct cupti_record_layout *const *layouts, size_t count);

/* Pipeline thread, at the end: `on_late` sees what it has not taken, and each buffer that completes from then
 * on, on the thread that completes it. */
void buffers_end(void (*on_late)(uint8_t *data, size_t valid));

/* Pipeline thread: the oldest finished buffer, or NULL. Give it back after decoding. */
struct activity_buffer *buffers_take_finished(void);
void buffers_give_back(struct activity_buffer *buffer);

/* How many are neither lent nor finished. */
uint32_t buffers_free(void);

/* How many CUPTI has. */
uint32_t buffers_lent(void);

#endif
