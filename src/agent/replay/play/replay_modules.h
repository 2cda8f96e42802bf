/* With the fault MODULES: each kernel has a module of its own, and a name of its own in it, "jit_kernel_" and
 * the correlation ID of its launch. The module is unloaded after its launch has returned and the given number
 * of later ones have started. As with CUPTI, this frees the name that the kernel's record points to, in
 * versions that do not keep names. */
#pragma once

#include "model/record.h"
#include "agent/replay/state/timeline.h"

/* The name at the start and end of a call; NULL: it is no launch. `unload` tells subscribers that a module is
 * about to be unloaded. */
const char *replay_modules_symbol(const struct item *item, void (*unload)(uint32_t module_id));

/* After the callbacks of this start or end of a call. */
void replay_modules_end(const struct item *item);

/* The name in a kernel's record. */
const char *replay_modules_name(const struct activity_record *record);
