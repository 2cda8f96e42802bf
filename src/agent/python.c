#include "agent/python.h"

#include <stddef.h>

#define SWITCHED 1 /* Py_CONTEXT_SWITCHED */

static const struct cuspan_python *python;

/* A signal's handler may have run in the call: then Ctrl-C comes again, after the switch. */
static void drop_raised(void)
{
    void *raised = python->get_raised();
    if (!raised)
        return;
    if (python->matches(raised, python->keyboard_interrupt))
        python->interrupt();
    python->release(raised);
}

static int on_switch(int event, void *context)
{
    if (event != SWITCHED)
        return 0;
    void *raised = python->get_raised();
    void *result = python->call(python->on_switch, context);
    if (result)
        python->release(result);
    else
        drop_raised();
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
