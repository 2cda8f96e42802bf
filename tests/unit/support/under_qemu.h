#pragma once

#include <stdbool.h>
#include <stdlib.h>

/* Whether the test runs through qemu-user (tests/release/run.sh). It lacks MADV_DONTFORK, seccomp and the
 * program's signal masks in /proc, executes no other program of its architecture, and has neither caches nor
 * single steps. */
static inline bool is_under_qemu(void)
{
    return getenv("CUSPAN_UNDER_QEMU") != NULL;
}

/* Whether threads run in an emulator, qemu or valgrind, so that the kernel sees other registers and system
 * calls than the program has. */
static inline bool is_emulated(void)
{
    return is_under_qemu() || getenv("CUSPAN_UNDER_VALGRIND") != NULL;
}
