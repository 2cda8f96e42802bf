/* Notices that CUPTI's buffers have stopped to come. Where another tool registers activity buffers by the
 * classic calls, as PyTorch's profiler does, CUPTI drops ours without a word (13.0). */
#ifndef CUSPAN_CAPTURE_COEXIST_BUFFER_STALL_H
#define CUSPAN_CAPTURE_COEXIST_BUFFER_STALL_H

#include <stdbool.h>
#include <stdint.h>

struct buffer_stall {
    uint64_t buffers; /* asked for and finished, when last one was */
    uint64_t flushes; /* at that time */
    uint32_t waiting; /* the fewest calls that waited since then */
    bool is_known;
};

/* `buffers`: how often CUPTI has asked for one or finished one; `flushes`: how often it was asked for
 * records; `waiting`: calls that wait for their GPU work; `room`: how many records the buffers that CUPTI has
 * can hold. True, once for each buffer_stall: more work was launched than fits into the buffers that CUPTI
 * has, and in several flushes it gave none and asked for none. */
bool buffer_stall_check(struct buffer_stall *buffer_stall, uint64_t buffers, uint64_t flushes,
                        uint32_t waiting, uint32_t room);

#endif
