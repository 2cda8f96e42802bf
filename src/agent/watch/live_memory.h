/* The memory of the live state (model/hang/live_state.h): a memfd that is sealed against changes of its size
 * and against other writers, and that others read through /proc/PID/fd. Its mapping lasts until the process
 * ends. */
#pragma once

#include "base/process/guarded_fd.h"
#include "model/hang/live_state.h"

/* Makes the memory and begins the live state. NULL: no memory. `file` becomes the memfd; it is
 * GUARDED_FD_NONE if the process may have none, and then no other process sees the state. Handles the host's
 * signals for writing. */
struct live_header *live_memory_begin(const struct live_identity *identity, struct guarded_fd *file);

/* Field 22 of /proc/self/stat: with the PID, it tells processes apart. 0: unknown. */
uint64_t live_memory_started_ticks(void);
