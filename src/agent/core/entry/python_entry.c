#include "agent/core/entry/python_entry.h"

#include <stdbool.h>
#include <stddef.h>

#define SWITCHED 1 /* Py_CONTEXT_SWITCHED */

static const struct cuspan_python *python;

/* Calls on_switch. True: a signal handler raised KeyboardInterrupt in it. */
static bool is_interrupted(void *context)
{
    void *result = python->call(python->on_switch, context);
    void *raised = result ? NULL : python->get_raised();
    bool interrupted = raised && python->matches(raised, python->keyboard_interrupt);
    if (result)
        python->release(result);
    if (raised)
        python->release(raised);
    return interrupted;
}

static int on_switch(int event, void *context)
{
    if (event != SWITCHED)
        return 0;
    void *raised = python->get_raised();
    if (is_interrupted(context)) {
        (void)is_interrupted(context); /* repeats the interrupted call */
        python->interrupt();           /* raises Ctrl-C again, after the switch */
    }
    if (raised)
        python->set_raised(raised);
    return 0;
}

cuspan_python_watcher_fn cuspan_python_watcher(const struct cuspan_python *given)
{
    const struct cuspan_python *none = NULL;
    if (!__atomic_compare_exchange_n(&python, &none, given, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return NULL;
    return on_switch;
}
