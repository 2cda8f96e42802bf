/* Detects that CUPTI no longer returns activity buffers. When another tool registers buffers with the classic
 * API, as PyTorch's profiler does, CUPTI silently drops ours (13.0). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct buffer_stall {
    uint64_t buffers; /* buffers requested and finished, at the last change */
    uint64_t flushes; /* flushes at the last change of `buffers` */
    uint32_t waiting; /* minimum of waiting calls since then */
    bool is_known;
};

/* `buffers` counts buffer requests and completions, `flushes` the flushes, `waiting` the calls that wait for
 * their GPU work; `room` is how many records fit into the buffers that CUPTI holds. Returns true once per
 * stall: more work was launched than fits into those buffers, and CUPTI neither requested nor returned a
 * buffer in several flushes. */
bool buffer_stall_check(struct buffer_stall *buffer_stall, uint64_t buffers, uint64_t flushes,
                        uint32_t waiting, uint32_t room);
