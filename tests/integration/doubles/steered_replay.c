/* The library that replays recordings, with a function of the program that runs before each flush, on the
 * agent's thread. */
#include "agent/abi/cupti_abi.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

extern _Atomic(void (*)(void)) steered_flush;
_Atomic(void (*)(void)) steered_flush; /* set by the program; NULL: none */

cuptiActivityFlushAll_fn cuptiActivityFlushAll;
uint32_t cuptiActivityFlushAll(uint32_t flag)
{
    void (*before)(void) = atomic_load(&steered_flush);
    cuptiActivityFlushAll_fn *flush = (cuptiActivityFlushAll_fn *)dlsym(RTLD_NEXT, "cuptiActivityFlushAll");
    if (before)
        before();
    return flush(flag);
}
