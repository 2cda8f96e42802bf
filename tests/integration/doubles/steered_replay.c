/* The library that replays recordings, with a function of the program that runs before each flush, on the
 * agent's thread, and with a clock that the program can move. */
#include "agent/abi/cupti_abi.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

extern _Atomic(void (*)(void)) steered_flush;
_Atomic(void (*)(void)) steered_flush; /* set by the program; NULL: none */
extern _Atomic uint64_t steered_ns;
_Atomic uint64_t steered_ns; /* how far the program has moved the clock */

cuptiActivityFlushAll_fn cuptiActivityFlushAll;
uint32_t cuptiActivityFlushAll(uint32_t flag)
{
    void (*before)(void) = atomic_load(&steered_flush);
    cuptiActivityFlushAll_fn *flush = (cuptiActivityFlushAll_fn *)dlsym(RTLD_NEXT, "cuptiActivityFlushAll");
    if (before)
        before();
    return flush(flag);
}

cuspan_replay_clock_fn cuspan_replay_clock;
uint64_t cuspan_replay_clock(void)
{
    static _Atomic(cuspan_replay_clock_fn *) found;
    cuspan_replay_clock_fn *clock = atomic_load(&found);
    if (!clock) {
        clock = (cuspan_replay_clock_fn *)dlsym(RTLD_NEXT, "cuspan_replay_clock");
        atomic_store(&found, clock);
    }
    return clock() + atomic_load(&steered_ns);
}
