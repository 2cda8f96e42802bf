/* Chooses the thread of a target that is stopped: one that sleeps in a system call which the C library never
 * makes while it holds a lock of malloc or of the loader.
 *
 * A thread that was stopped anywhere may hold such a lock, and then waits for itself in pthread_create().
 * Other threads may hold them, because they run on and release them. A system call alone is no safe place:
 * malloc maps memory under its lock, and dlopen reads files under its own. */
#pragma once

#include "agent/operate/attach/machine.h"
#include "agent/operate/attach/remote_memory.h"
#include "agent/operate/attach/target.h"

/* A line of /proc/PID/task/TID/syscall. False: the thread runs, or sleeps outside a system call. */
bool sleepers_parse(const char *line, struct sleep *sleep);

/* Whether no lock of malloc or the loader can be held in this call. */
bool sleepers_is_safe_call(const struct sleep *sleep, const struct remote_maps *maps);

/* Whether no function of the loader or of an allocator, and no signal handler, which may have interrupted
 * malloc, is on the stack. Old words on the stack count, too. `signal_return`: where handlers return to. */
bool sleepers_is_clear_stack(const uint64_t *words, size_t count, const struct remote_maps *maps,
                             uint64_t signal_return);

/* Both, for a thread of the target. */
bool sleepers_is_safe(const struct target *target, const struct remote_maps *maps, pid_t thread,
                      uint64_t signal_return, struct sleep *sleep);

/* The stack alone, from this pointer on. */
bool sleepers_has_clear_stack(const struct target *target, const struct remote_maps *maps, uint64_t stack,
                              uint64_t signal_return);
