/* Reads the Python frames of all threads, without the GIL and without Python's functions. Everything is read
 * by system calls and checked, because threads run and free what is being read. */
#pragma once

#include "agent/frames/python_layouts.h"
#include "agent/watch/stacks/process_map.h"
#include "agent/watch/stacks/stack_result.h"

#include <stdbool.h>
#include <stdint.h>

#define PYTHON_TABLE_BYTES (64 * 1024) /* of a table of lines; lines beyond are unknown */
#define PYTHON_CHARS_MAX   4096        /* of a path; longer ones are cut */

/* The interpreter of this process; all zero: not found yet. */
struct python_process {
    struct python_layout layout;
    uint64_t library; /* where its first byte is mapped */
    uint64_t runtime, code_type, string_type, bytes_type;
};

/* Finds the interpreter by the symbols of the loaded files, and checks that it is the known one. False: there
 * is none of CPython 3.9 to 3.15 whose layout is known. */
bool python_look_find(struct python_process *python, struct process_map *map);

/* A thread as Python knows it. */
struct python_thread {
    int32_t tid;
    bool holds_gil;
    uint64_t state; /* address of its PyThreadState */
};

/* Lists Python's threads that are among the `tid_count` ascending `tids`, at most `max`. `is_incomplete`: the
 * list changed all the time. */
uint32_t python_look_list(const struct python_process *python, const int32_t *tids, uint32_t tid_count,
                          struct python_thread *threads, uint32_t max, bool *is_incomplete);

/* A walk's frames, innermost first. */
struct python_stack_walk {
    enum stack_python end;
    uint32_t count;
    struct {
        uint64_t code;
        uint32_t position;
    } frames[STACK_PYTHON_FRAMES_MAX];
};

void python_look_walk(const struct python_process *python, uint64_t state, struct python_stack_walk *walk);

/* Whether both have the same functions, which may be elsewhere in the innermost one. */
bool python_look_is_same(const struct python_stack_walk *a, const struct python_stack_walk *b);

/* Known texts of a look. All zero at its start. */
struct python_texts {
    /* By the address of a code object or string. */
    struct {
        uint64_t address;
        uint32_t value;
    } known[4096];
    struct stack_python_frame frames[1024]; /* described last, by a hash of their contents */
    uint32_t known_count;
    uint64_t table_of; /* code object whose table of lines is in `table` */
    bool has_table;
    uint32_t table_bytes;
    uint8_t table[PYTHON_TABLE_BYTES];
    char chars[PYTHON_CHARS_MAX * 4];
};

/* Fills a frame. Its function's texts are added to `into`, unless they are there or there is no room. */
void python_look_describe(const struct python_process *python, struct python_texts *texts, uint64_t code,
                          uint32_t position, enum stack_detail detail, struct thread_stacks *into,
                          struct stack_python_frame *frame);
