#include "agent/core/lifecycle/python_end.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

/* From Python's stable ABI. */
typedef int is_initialized_fn(void);
typedef int at_exit_fn(void (*end)(void));

static is_initialized_fn *find_is_initialized(void)
{
    return (is_initialized_fn *)(uintptr_t)dlsym(RTLD_DEFAULT, "Py_IsInitialized");
}

/* Without an interpreter, most functions of Python read memory that is not there. Py_AtExit() uses only
 * static memory (since 3.12 with a lock that exists from the initialization on), so it needs no interpreter
 * lock, which this thread may or may not hold, and runs no code in the program. */
void python_end_follow(void (*end)(void))
{
    is_initialized_fn *is_initialized = find_is_initialized();
    at_exit_fn *at_exit = (at_exit_fn *)(uintptr_t)dlsym(RTLD_DEFAULT, "Py_AtExit");
    if (is_initialized && at_exit && is_initialized())
        (void)at_exit(end);
}

bool python_may_begin(void)
{
    is_initialized_fn *is_initialized = find_is_initialized();
    return is_initialized && !is_initialized();
}
