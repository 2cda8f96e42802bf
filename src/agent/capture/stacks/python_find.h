/* Finds the Python interpreter of this process and the layout of its structures.
 *
 * Python may be the program, a library that the program is linked with, or an embedded interpreter that a
 * plugin loads at any time. So all loaded objects are searched for `_PyRuntime`. With two Pythons in a
 * process, the one that was loaded first is used. */
#pragma once

#include "base/status.h"
#include "agent/frames/python_layouts.h"

#include <stdbool.h>
#include <stdint.h>

/* A Python interpreter. python_find() fills it, then it is constant. */
struct python {
    const struct python_layout *layout;
    void *(*thread_state)(void);
    int (*is_finalizing)(void);
    uintptr_t runtime;
    uintptr_t code_type, string_type, bytes_type;
    bool has_one_interpreter; /* frames are known only while this process has one */
    bool has_positions;       /* false: only functions and their first lines are known (free-threaded) */
    unsigned long long loads; /* the loader's count of loaded objects when python_find() last searched them */
};

/* Searches the interpreter in the process, which need not be initialized. `python` is all zero before the
 * first call. STATUS_NOT_FOUND: none is loaded, try again later; if no library was loaded since the last
 * call, this costs microseconds. STATUS_UNSUPPORTED: an unknown version or layout, with the reason in `err`;
 * do not try again. On success the interpreter's library stays loaded. Reads only static memory of that
 * library. Not on a host's thread: it uses the loader. To hand `python` to other threads, publish it with a
 * release store. */
enum status python_find(struct python *python, struct error *err) MUST_CHECK;
