/* Visits the loaded libraries under the loader's lock, and keeps fork() away meanwhile: glibc does not reset
 * this lock in a child process, where dlopen() and (before glibc 2.35) exceptions would then wait forever. */
#pragma once

#include <link.h>
#include <stdbool.h>

/* As dl_iterate_phdr(), for threads of ours. No library is unloaded during the visit. False: nothing was
 * visited, because another thread is in fork(). fork() waits until a visit is over, at most
 * LOADER_VISIT_WAIT_MS. A visit that still waits for the loader's lock, which the forking thread may hold,
 * delays it by LOADER_LOCK_WAIT_MS at most. */
bool loader_visit(int (*visit)(struct dl_phdr_info *info, size_t size, void *context), void *context);

#define LOADER_LOCK_WAIT_MS  50
#define LOADER_VISIT_WAIT_MS 1000
