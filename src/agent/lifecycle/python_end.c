#include "agent/lifecycle/python_end.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

/* From Python's stable ABI. */
typedef int add_pending_call_fn(int (*call)(void *), void *argument);
typedef int at_exit_fn(void (*end)(void));

static void (*end_of_agent)(void);
static at_exit_fn *at_exit;

/* On Python's main thread, with its lock. */
static int register_end(void *unused)
{
    (void)unused;
    (void)at_exit(end_of_agent);
    return 0;
}

/* This thread may or may not hold the interpreter lock, and waiting for it could deadlock. A pending call
 * runs on a thread that holds it. */
void python_end_follow(void (*end)(void))
{
    add_pending_call_fn *add_pending_call =
        (add_pending_call_fn *)(uintptr_t)dlsym(RTLD_DEFAULT, "Py_AddPendingCall");
    at_exit = (at_exit_fn *)(uintptr_t)dlsym(RTLD_DEFAULT, "Py_AtExit");
    end_of_agent = end;
    if (add_pending_call && at_exit)
        (void)add_pending_call(register_end, NULL);
}
