/* Prints where one version of CPython keeps what the agent reads (src/agent/frames/python_layouts.h), as "NAME OFFSET" or
 * "NAME OFFSET WORD" lines: WORD is the index of the same offset in _Py_DebugOffsets, which Python 3.13 and later
 * have at the start of _PyRuntime. tools/gen_python_layouts.py compiles it with the headers of each version. All
 * figures are constants of these headers, so neither Python nor its processor is needed. */
#define Py_BUILD_CORE 1
#include <Python.h>

#include <frameobject.h>

#include "internal/pycore_code.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#if PY_VERSION_HEX >= 0x030B0000
#include "internal/pycore_frame.h"
#endif
#if PY_VERSION_HEX >= 0x030E0000
#include "internal/pycore_interpframe.h"
#endif

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define SINCE(minor)       (PY_VERSION_HEX >= (0x03000000 | (minor) << 16))
#define PUT(name, offset)  printf("%s %zu\n", name, (size_t)(offset))
#define FIELD(name, of, m) PUT(name, offsetof(of, m))
#if SINCE(13)
#define PUT_KNOWN(name, offset, debug)                                                                       \
    printf("%s %zu %zu\n", name, (size_t)(offset), offsetof(_Py_DebugOffsets, debug) / sizeof(uint64_t))
#define KNOWN(name, of, m, debug) PUT_KNOWN(name, offsetof(of, m), debug)
#else
#define PUT_KNOWN(name, offset, debug) PUT(name, offset)
#define KNOWN(name, of, m, debug)      FIELD(name, of, m)
#endif

static void print_thread_and_frame(void)
{
    KNOWN("runtime_interpreters", _PyRuntimeState, interpreters.head, runtime_state.interpreters_head);
    KNOWN("interpreter_next", PyInterpreterState, next, interpreter_state.next);
    KNOWN("state_interpreter", PyThreadState, interp, thread_state.interp);
    KNOWN("state_thread", PyThreadState, thread_id, thread_state.thread_id);
#if SINCE(13)
    KNOWN("state_frame", PyThreadState, current_frame, thread_state.current_frame);
#elif SINCE(11)
    FIELD("state_frame", PyThreadState, cframe);
    FIELD("cframe_frame", _PyCFrame, current_frame);
#else
    FIELD("state_frame", PyThreadState, frame);
#endif
#if SINCE(13)
    KNOWN("frame_code", _PyInterpreterFrame, f_executable, interpreter_frame.executable);
    KNOWN("frame_position", _PyInterpreterFrame, instr_ptr, interpreter_frame.instr_ptr);
#elif SINCE(11)
    FIELD("frame_code", _PyInterpreterFrame, f_code);
    FIELD("frame_position", _PyInterpreterFrame, prev_instr);
#else
    FIELD("frame_code", PyFrameObject, f_code);
    FIELD("frame_position", PyFrameObject, f_lasti);
    FIELD("frame_previous", PyFrameObject, f_back);
    PUT("frame_object_size", sizeof(PyFrameObject));
#endif
#if SINCE(11)
    KNOWN("frame_previous", _PyInterpreterFrame, previous, interpreter_frame.previous);
    /* PyFrame_Type.tp_basicsize, which has the size of the interpreter's frame in it. */
    PUT("frame_object_size",
        offsetof(PyFrameObject, _f_frame_data) + offsetof(_PyInterpreterFrame, localsplus));
#endif
#if SINCE(12)
    KNOWN("frame_owner", _PyInterpreterFrame, owner, interpreter_frame.owner);
#endif
}

static void print_code(void)
{
    PUT_KNOWN("object_type", offsetof(PyObject, ob_type), pyobject.ob_type);
    KNOWN("code_file", PyCodeObject, co_filename, code_object.filename);
    KNOWN("code_name", PyCodeObject, co_name, code_object.name);
    KNOWN("code_first_line", PyCodeObject, co_firstlineno, code_object.firstlineno);
#if SINCE(10)
    KNOWN("code_lines", PyCodeObject, co_linetable, code_object.linetable);
#else
    FIELD("code_lines", PyCodeObject, co_lnotab);
#endif
#if SINCE(11)
    KNOWN("code_qualname", PyCodeObject, co_qualname, code_object.qualname);
    KNOWN("code_start", PyCodeObject, co_code_adaptive, code_object.co_code_adaptive);
    PUT("code_object_size", offsetof(PyCodeObject, co_code_adaptive));
#else
    PUT("code_object_size", sizeof(PyCodeObject));
#endif
#if SINCE(12)
    FIELD("code_version", PyCodeObject, co_version);
#endif
}

/* The fields that lead to the frames of all threads, and to the holder of the GIL. */
static void print_threads(void)
{
    KNOWN("state_next", PyThreadState, next, thread_state.next);
    PUT("gil_holder", offsetof(struct _gil_runtime_state, last_holder));
    PUT("gil_locked", offsetof(struct _gil_runtime_state, locked));
#if SINCE(11)
    KNOWN("interpreter_threads", PyInterpreterState, threads.head, interpreter_state.threads_head);
    KNOWN("state_tid", PyThreadState, native_thread_id, thread_state.native_thread_id);
#else
    FIELD("interpreter_threads", PyInterpreterState, tstate_head);
#endif
#if SINCE(12)
    KNOWN("interpreter_gil", PyInterpreterState, ceval.gil, interpreter_state.ceval_gil);
#else
    FIELD("runtime_gil", _PyRuntimeState, ceval.gil);
#endif
#if SINCE(14) && defined(Py_GIL_DISABLED)
    FIELD("frame_copy", _PyInterpreterFrame, tlbc_index);
    FIELD("code_copies", PyCodeObject, co_tlbc);
    FIELD("copies_first", _PyCodeArray, entries);
#endif
}

/* The lowest bit of a bit field of a string's state. */
#define BIT(name, m, all_ones)                                                                               \
    do {                                                                                                     \
        PyASCIIObject string;                                                                                \
        uint32_t word;                                                                                       \
        memset(&string, 0, sizeof string);                                                                   \
        string.state.m = all_ones;                                                                           \
        memcpy(&word, (char *)&string + offsetof(PyASCIIObject, state), sizeof word);                        \
        PUT(name, __builtin_ctz(word));                                                                      \
    } while (0)

static void print_objects(void)
{
    PUT_KNOWN("string_length", offsetof(PyASCIIObject, length), unicode_object.length);
    PUT("string_hash", offsetof(PyASCIIObject, hash));
    PUT_KNOWN("string_state", offsetof(PyASCIIObject, state), unicode_object.state);
    PUT_KNOWN("string_ascii", sizeof(PyASCIIObject), unicode_object.asciiobject_size);
    PUT("string_other", sizeof(PyCompactUnicodeObject));
    PUT("string_object_size", sizeof(PyUnicodeObject));
    BIT("kind_bit", kind, 7);
    BIT("compact_bit", compact, 1);
    BIT("ascii_bit", ascii, 1);
    PUT_KNOWN("bytes_length", offsetof(PyBytesObject, ob_base.ob_size), bytes_object.ob_size);
    PUT_KNOWN("bytes_start", offsetof(PyBytesObject, ob_sval), bytes_object.ob_sval);
    PUT("type_size", offsetof(PyTypeObject, tp_basicsize));
}

int main(void)
{
    PUT("minor", PY_MINOR_VERSION);
#ifdef Py_GIL_DISABLED
    PUT("free_threaded", 1);
#else
    PUT("free_threaded", 0);
#endif
    print_thread_and_frame();
    print_threads();
    print_code();
    print_objects();
    return 0;
}
