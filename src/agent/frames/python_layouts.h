/* The offsets at which each minor version of CPython keeps the fields that cuspan reads. They come
 * from the headers of these versions (tools/gen_python_layouts.py, tools/python_layouts/print_layout.c). They
 * hold for every 64-bit processor, and from the first release candidate on for all releases of a minor
 * version. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PYTHON_OLDEST_MINOR 9
#define PYTHON_NEWEST_MINOR 15

/* Offsets in bytes, except where noted. */
enum python_field {
    PYTHON_RUNTIME_INTERPRETERS, /* _PyRuntime: the newest interpreter */
    PYTHON_INTERPRETER_NEXT,     /* PyInterpreterState: the next older one */
    PYTHON_STATE_INTERPRETER,    /* PyThreadState: its interpreter */
    PYTHON_STATE_THREAD,         /* pthread_self() of its thread */
    PYTHON_STATE_FRAME,          /* the innermost frame; in 3.11 and 3.12 a _PyCFrame with it */
    PYTHON_CFRAME_FRAME,         /* _PyCFrame, only in 3.11 and 3.12: the innermost frame */
    PYTHON_FRAME_CODE,           /* PyFrameObject, from 3.11 on _PyInterpreterFrame: the code object */
    PYTHON_FRAME_PREVIOUS,
    PYTHON_FRAME_POSITION, /* index of the instruction; from 3.11 on a pointer */
    PYTHON_FRAME_OWNER,    /* from 3.12 on: which frames are the interpreter's own */
    PYTHON_OBJECT_TYPE,
    PYTHON_CODE_FILE,
    PYTHON_CODE_NAME,
    PYTHON_CODE_QUALNAME, /* from 3.11 on */
    PYTHON_CODE_FIRST_LINE,
    PYTHON_CODE_LINES,   /* the table of lines */
    PYTHON_CODE_VERSION, /* from 3.12 on: a number of its own for each code object */
    PYTHON_CODE_START,   /* from 3.11 on: the instructions */
    PYTHON_STRING_LENGTH,
    PYTHON_STRING_HASH,
    PYTHON_STRING_STATE,
    PYTHON_STRING_ASCII, /* the characters of a string that is all ASCII */
    PYTHON_STRING_OTHER, /* those of any other string */
    PYTHON_KIND_BIT,     /* lowest bit of a string's kind in its state */
    PYTHON_COMPACT_BIT,
    PYTHON_ASCII_BIT,
    PYTHON_BYTES_LENGTH,
    PYTHON_BYTES_START,
    PYTHON_TYPE_SIZE,          /* PyTypeObject.tp_basicsize */
    PYTHON_CODE_OBJECT_SIZE,   /* that of PyCode_Type */
    PYTHON_FRAME_OBJECT_SIZE,  /* that of PyFrame_Type; from 3.11 on it contains that of a frame */
    PYTHON_STRING_OBJECT_SIZE, /* that of PyUnicode_Type */
    /* Only for the threads of the whole process. */
    PYTHON_INTERPRETER_THREADS, /* PyInterpreterState: its newest thread */
    PYTHON_STATE_NEXT,          /* PyThreadState: the next older one of the interpreter */
    PYTHON_STATE_TID,           /* from 3.11 on: the kernel's ID of its thread */
    PYTHON_RUNTIME_GIL,         /* up to 3.11: the GIL inside _PyRuntime */
    PYTHON_INTERPRETER_GIL,     /* from 3.12 on: PyInterpreterState's pointer to the GIL */
    PYTHON_GIL_HOLDER,          /* inside the GIL: the thread state that has or had it */
    PYTHON_GIL_LOCKED,
    PYTHON_FRAME_COPY,   /* from 3.14 on, free-threaded: which copy of the instructions runs */
    PYTHON_CODE_COPIES,  /* pointer to the copies' number and addresses */
    PYTHON_COPIES_FIRST, /* the first address */
    PYTHON_FIELDS
};

#define PYTHON_NO_FIELD UINT16_MAX
#define PYTHON_FRAME_FIELDS                                                                                  \
    PYTHON_INTERPRETER_THREADS /* the fields before it lead to the frames of one thread */

struct python_layout {
    uint8_t minor;
    bool is_free_threaded;
    uint16_t at[PYTHON_FIELDS];
    /* From 3.13 on: the index of the same offset in the words of _Py_DebugOffsets. 0: it is not there. */
    uint8_t debug_word[PYTHON_FIELDS];
};

/* Returns the layout of a minor version; NULL: this build of cuspan does not know it. */
const struct python_layout *python_layout_find(unsigned minor, bool is_free_threaded);
