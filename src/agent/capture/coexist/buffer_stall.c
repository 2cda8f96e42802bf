#include "agent/capture/coexist/buffer_stall.h"

#define FLUSHES_MIN 5
#define LAUNCHES_MIN                                                                                         \
    1024 /* a stream holds about as many launches behind a long kernel, which delays their records */

bool buffer_stall_check(struct buffer_stall *buffer_stall, uint64_t buffers, uint64_t flushes,
                        uint32_t waiting, uint32_t room)
{
    if (buffers != buffer_stall->buffers) {
        *buffer_stall = (struct buffer_stall){.buffers = buffers, .flushes = flushes, .waiting = waiting};
        return false;
    }
    if (waiting < buffer_stall->waiting)
        buffer_stall->waiting = waiting;
    bool is_silent = waiting - buffer_stall->waiting > (uint64_t)room + LAUNCHES_MIN &&
                     flushes - buffer_stall->flushes >= FLUSHES_MIN;
    bool is_new = is_silent && !buffer_stall->is_known;
    buffer_stall->is_known = buffer_stall->is_known || is_silent;
    return is_new;
}
