/* For a test host that forks: a forked child may call exit() without the check for leaks.
 *
 * LeakSanitizer's check at exit takes the locks of its allocator and its thread registry. A thread of the
 * parent may have held one of them at the fork, and then the child waits forever. */
#pragma once

#include <unistd.h>

static pid_t first_process;

__attribute__((constructor)) static void remember_first_process(void)
{
    first_process = getpid();
}

/* LeakSanitizer calls this by its name, before it takes a lock. */
int __lsan_is_turned_off(void);
__attribute__((visibility("default"), used)) int __lsan_is_turned_off(void)
{
    return getpid() != first_process;
}
