/* A context watcher for CPython 3.14, for the package in python/. A watcher may be called while an exception
 * is propagating, which Python code would lose. This one saves the exception, calls a Python function, and
 * restores it. It is called with the interpreter lock. Nothing here links with Python: the package passes
 * the functions of the interpreter. */
#pragma once

struct cuspan_python {
    void *(*get_raised)(void);             /* PyErr_GetRaisedException */
    void (*set_raised)(void *exception);   /* PyErr_SetRaisedException */
    void *(*call)(void *callable, void *); /* PyObject_CallOneArg */
    void (*release)(void *object);         /* Py_DecRef */
    int (*matches)(void *, void *);        /* PyErr_GivenExceptionMatches */
    void (*interrupt)(void);               /* PyErr_SetInterrupt */
    void *keyboard_interrupt;
    void *on_switch; /* called with the new context of the thread */
};

typedef int (*cuspan_python_watcher_fn)(int event, void *context);

/* The watcher for PyContext_AddWatcher(). `python` must stay valid. NULL: another interpreter of this
 * process has it. */
__attribute__((visibility("default"))) cuspan_python_watcher_fn
cuspan_python_watcher(const struct cuspan_python *python);
