/* Copies the names of kernels on the host thread, at the launch.
 *
 * A kernel's record points to its name. Before CUPTI_VERSION_KEEPS_NAMES this text is freed when the program
 * unloads the module, maybe before the record comes. The launch's callback has the name, too, at an address
 * of its own, where it is valid. So the first launch of each function writes its name to the thread's ring,
 * and each one the address (activity/kernel_texts.h). A table of known addresses, which all threads share,
 * tells which ones are new. It is emptied when a module is unloaded, because another name may then have the
 * address. */
#pragma once

#include "base/hash.h"
#include "agent/abi/cupti_abi.h"
#include "agent/capture/threads/threads.h"

#include <stdatomic.h>
#include <stdbool.h>

#define LAUNCH_NAMES_PLACES_LOG2 12

struct launch_names {
    _Atomic uint64_t era;      /* changes when all addresses are forgotten; never repeats */
    _Atomic uint64_t unloaded; /* ticks of the last unloading; 0: none */
    _Atomic uint64_t *known; /* table of launch_names_mark(), by its upper bits; NULL: names are not copied */
};
extern struct launch_names launch_names;

/* Returns a value for the table, which differs between eras of one address, because the factor is odd. */
static inline uint64_t launch_names_mark(const char *symbol)
{
    uint64_t era = atomic_load_explicit(&launch_names.era, memory_order_acquire);
    return ((uint64_t)(uintptr_t)symbol ^ era) * HASH_SPREAD;
}

#define LAUNCH_NAMES_BYTES (sizeof(uint64_t) << LAUNCH_NAMES_PLACES_LOG2)

/* Starts copying names. `known` is LAUNCH_NAMES_BYTES of zeroed memory, not owned. Call it before callbacks
 * are enabled. */
static inline void launch_names_start(_Atomic uint64_t *known)
{
    launch_names.known = known;
}

/* Writes the launch's name. Called at the start of the launch, so that its record is read before the
 * kernel's. */
void launch_names_take(struct host_thread *thread, const struct cupti_callback_data *data);

/* Whether a resource callback of CUPTI concerns names: call launch_names_unload(). */
static inline bool launch_names_concern(uint32_t cbid)
{
    return cbid == CUPTI_RESOURCE_MODULE_UNLOAD_STARTING || cbid == CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING;
}

/* Notes that a module is about to be unloaded, or a CUDA context destroyed. */
void launch_names_unload(void);

/* Forgets all known addresses, so that the next launch of each function writes its name again. */
void launch_names_forget(void);
