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

/* Goes through the loaded libraries one by one, so that the caller may use dlopen() in between. All zero:
 * before the first one. */
struct loader_walk {
    unsigned next;      /* the next library's index */
    bool is_refused;    /* another thread is in fork(); try again later */
    bool has_variables; /* the library has thread-local ones */
    char path[4096];    /* the library's; empty: the program */
};
/* False: there are no more libraries, or is_refused. */
bool loader_next(struct loader_walk *walk);

/* How many libraries the loader has loaded so far; 0: unknown, because another thread is in fork(). */
unsigned long long loader_loads(void);

#define LOADER_LOCK_WAIT_MS  50
#define LOADER_VISIT_WAIT_MS 1000
