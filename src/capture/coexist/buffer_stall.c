#include "capture/coexist/buffer_stall.h"

#define FLUSHES_MIN 5
#define LAUNCHES_MIN                                                                                         \
    1024 /* a stream holds about as many: a long kernel keeps them, and their records, back */

bool silence_look(struct silence *silence, uint64_t buffers, uint64_t flushes, uint32_t waiting,
                  uint32_t room)
{
    if (buffers != silence->buffers) {
        *silence = (struct silence){.buffers = buffers, .flushes = flushes, .waiting = waiting};
        return false;
    }
    if (waiting < silence->waiting)
        silence->waiting = waiting;
    bool is_silent = waiting - silence->waiting > (uint64_t)room + LAUNCHES_MIN &&
                     flushes - silence->flushes >= FLUSHES_MIN;
    bool is_new = is_silent && !silence->is_known;
    silence->is_known = silence->is_known || is_silent;
    return is_new;
}
