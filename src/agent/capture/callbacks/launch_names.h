/* Names of kernels, taken on the host thread at the launch.
 *
 * A kernel's record points to its name. Before CUPTI_VERSION_KEEPS_NAMES this text is freed when the program
 * unloads the module, maybe before the record comes. The launch's callback has the name, too, at an address
 * of its own, where it is valid. So the first launch of each function writes its name to the thread's ring,
 * and each one the address (activity/kernel_texts.h). A table of known addresses, which all threads share,
 * says which ones are new. It forgets all when a module is unloaded: another name may have the address after
 * that. */
#ifndef CUSPAN_AGENT_CAPTURE_CALLBACKS_LAUNCH_NAMES_H
#define CUSPAN_AGENT_CAPTURE_CALLBACKS_LAUNCH_NAMES_H

#include "base/hash.h"
#include "agent/abi/cupti_abi.h"
#include "agent/capture/threads/threads.h"

#include <stdatomic.h>
#include <stdbool.h>

#define LAUNCH_NAMES_PLACES_LOG2 12

struct launch_names {
    _Atomic uint64_t era;      /* changes when all is forgotten; never has the same value again */
    _Atomic uint64_t unloaded; /* ticks of the last unloading; 0: none */
    _Atomic uint64_t *known;   /* launch_names_mark(), by its upper bits; NULL: names are not taken */
};
extern struct launch_names launch_names;

/* Differs between the eras of one address: the factor is odd. */
static inline uint64_t launch_names_mark(const char *symbol)
{
    uint64_t era = atomic_load_explicit(&launch_names.era, memory_order_acquire);
    return ((uint64_t)(uintptr_t)symbol ^ era) * HASH_SPREAD;
}

#define LAUNCH_NAMES_BYTES (sizeof(uint64_t) << LAUNCH_NAMES_PLACES_LOG2)

/* Before callbacks are enabled. `known`: zeroed memory. */
static inline void launch_names_start(_Atomic uint64_t *known)
{
    launch_names.known = known;
}

/* At the start of a launch, so that what it writes is read before the kernel's record. */
void launch_names_take(struct host_thread *thread, const struct cupti_callback_data *data);

/* Of CUPTI's resource callbacks. */
static inline bool launch_names_concern(uint32_t cbid)
{
    return cbid == CUPTI_RESOURCE_MODULE_UNLOAD_STARTING || cbid == CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING;
}

/* A module is about to be unloaded, or a context destroyed. */
void launch_names_unload(void);

/* Every function is to be named again. */
void launch_names_forget(void);

#endif
