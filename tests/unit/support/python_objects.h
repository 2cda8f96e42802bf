/* Objects of an interpreter that a test builds in its own memory, in any known layout. Each is an allocation
 * of exactly its size, so that AddressSanitizer sees every read outside. For one test file. */
#pragma once

#include "agent/frames/python_layouts.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#define FRAMES  5
#define OBJECTS 64

enum kind { RUNTIME, INTERPRETER, STATE, CFRAME, FRAME, CODE, STRING, BYTES, TYPE };

struct object {
    enum kind kind;
    uint8_t *memory;
    size_t size;
};

/* Function `i` of FRAMES is the caller of function `i - 1`. The types are of code, strings and bytes. */
static struct {
    const struct python_layout *layout;
    struct object objects[OBJECTS];
    size_t count;
    uint8_t *types[3], *frames[FRAMES], *codes[FRAMES];
} made;

static uint8_t *make(enum kind kind, size_t size)
{
    assert_true(made.count < OBJECTS);
    uint8_t *memory = calloc(1, size);
    made.objects[made.count++] = (struct object){.kind = kind, .memory = memory, .size = size};
    return memory;
}

static void put(uint8_t *object, enum python_field field, uint64_t value, size_t bytes)
{
    if (made.layout->at[field] != PYTHON_NO_FIELD)
        memcpy(object + made.layout->at[field], &value, bytes);
}

static void put_pointer(uint8_t *object, enum python_field field, const void *value)
{
    put(object, field, (uint64_t)(uintptr_t)value, 8);
}

static size_t at(enum python_field field)
{
    return made.layout->at[field];
}

/* `unit` is 0 for a string that is all ASCII. */
static uint8_t *make_string(const void *chars, size_t count, unsigned unit)
{
    size_t start = at(unit ? PYTHON_STRING_OTHER : PYTHON_STRING_ASCII), bytes = unit ? unit : 1;
    uint8_t *string = make(STRING, start + (count + 1) * bytes);
    uint32_t state = (uint32_t)bytes << at(PYTHON_KIND_BIT) | 1u << at(PYTHON_COMPACT_BIT) |
                     (unit == 0 ? 1u << at(PYTHON_ASCII_BIT) : 0);
    put_pointer(string, PYTHON_OBJECT_TYPE, made.types[1]);
    put(string, PYTHON_STRING_LENGTH, count, 8);
    put(string, PYTHON_STRING_HASH, 0x123456789abcdef0u + count, 8);
    put(string, PYTHON_STRING_STATE, state, 4);
    memcpy(string + start, chars, count * bytes);
    return string;
}

static uint8_t *make_bytes(const void *content, size_t size)
{
    uint8_t *bytes = make(BYTES, at(PYTHON_BYTES_START) + size + 1);
    put_pointer(bytes, PYTHON_OBJECT_TYPE, made.types[2]);
    put(bytes, PYTHON_BYTES_LENGTH, size, 8);
    memcpy(bytes + at(PYTHON_BYTES_START), content, size);
    return bytes;
}

/* Lines of the instructions 0, 5 and 9 of a function in line 100: 100, 300, 298. */
static uint8_t *make_table(void)
{
    static const uint8_t pairs[] = {10, 127, 0, 73, 8, 0xfe, 6, 1};
    static const uint8_t ranges[] = {10, 0, 0, 127, 8, 73, 10, 0xfe, 2, 0x80};
    /* 5 units of line 100; 4 units of 200 lines more, with columns; 2 units of 2 lines less; 1 unit without.
     */
    static const uint8_t entries[] = {
        0x80 | 0 << 3 | 4,  0x11, 0x80 | 14 << 3 | 3, 0x40 | (400 & 63), 400 >> 6, 0, 1, 2,
        0x80 | 13 << 3 | 1, 5,    0x80 | 15 << 3};
    if (made.layout->minor == 9)
        return make_bytes(pairs, sizeof pairs);
    return made.layout->minor == 10 ? make_bytes(ranges, sizeof ranges) : make_bytes(entries, sizeof entries);
}

static const uint16_t wide_name[] = {0x6f22, 0x5b57, 0xdc80, 'x'};
static const uint32_t widest_name[] = {0x1f600, 'x', 0x110000};

/* Names with characters of each width. `file` is a string. */
static uint8_t *make_code(int number, const uint8_t *file)
{
    size_t size = at(PYTHON_CODE_OBJECT_SIZE) + (made.layout->minor >= 11 ? 32 : 0);
    uint8_t *code = make(CODE, size);
    uint8_t *name = number == 1   ? make_string("f\xfcr", 3, 1)
                    : number == 2 ? make_string(wide_name, 4, 2)
                    : number == 3 ? make_string(widest_name, 3, 4)
                                  : make_string("plain", 5, 0);
    put_pointer(code, PYTHON_OBJECT_TYPE, made.types[0]);
    put_pointer(code, PYTHON_CODE_FILE, file);
    put_pointer(code, PYTHON_CODE_NAME, name);
    put_pointer(code, PYTHON_CODE_QUALNAME, name);
    put_pointer(code, PYTHON_CODE_LINES, make_table());
    put(code, PYTHON_CODE_FIRST_LINE, 100, 4);
    put(code, PYTHON_CODE_VERSION, 7 + (unsigned)number, 4);
    return code;
}

static void set_position(int number, uint32_t instruction)
{
    if (made.layout->minor == 9)
        put(made.frames[number], PYTHON_FRAME_POSITION, 2 * (uint64_t)instruction, 4);
    else if (made.layout->minor == 10)
        put(made.frames[number], PYTHON_FRAME_POSITION, instruction, 4);
    else
        put_pointer(made.frames[number], PYTHON_FRAME_POSITION,
                    made.codes[number] + at(PYTHON_CODE_START) + (ptrdiff_t)2 * (int32_t)instruction);
}

static void make_frames(const char *file)
{
    size_t size = made.layout->minor >= 11 ? 80 : at(PYTHON_FRAME_OBJECT_SIZE);
    for (int i = FRAMES - 1; i >= 0; i--) {
        made.codes[i] = make_code(i, make_string(file, strlen(file), 0));
        made.frames[i] = make(FRAME, size);
        put_pointer(made.frames[i], PYTHON_FRAME_CODE, made.codes[i]);
        put_pointer(made.frames[i], PYTHON_FRAME_PREVIOUS, i == FRAMES - 1 ? NULL : made.frames[i + 1]);
        set_position(i, 5);
    }
}

/* Makes the types and the functions. */
static void make_functions(const struct python_layout *layout, const char *file)
{
    made.layout = layout;
    for (int i = 0; i < 3; i++)
        made.types[i] = make(TYPE, 64);
    make_frames(file);
}

/* Sets the innermost frame of a thread's state. */
static void set_frame(uint8_t *state, const uint8_t *frame)
{
    if (at(PYTHON_CFRAME_FRAME) != PYTHON_NO_FIELD) {
        uint8_t *cframe = make(CFRAME, 24);
        put_pointer(cframe, PYTHON_CFRAME_FRAME, frame);
        frame = cframe;
    }
    put_pointer(state, PYTHON_STATE_FRAME, frame);
}

static void free_objects(void)
{
    for (size_t i = 0; i < made.count; i++)
        free(made.objects[i].memory);
    memset(&made, 0, sizeof made);
}

/* Runs a test in each layout, between `setup` and `teardown`. */
static void in_layouts(void (*setup)(const struct python_layout *layout), void (*test)(void),
                       void (*teardown)(void))
{
    int count = 0;
    for (unsigned minor = PYTHON_OLDEST_MINOR; minor <= PYTHON_NEWEST_MINOR; minor++)
        for (int free_threaded = 0; free_threaded < 2; free_threaded++) {
            const struct python_layout *layout = python_layout_find(minor, free_threaded);
            if (!layout)
                continue;
            setup(layout);
            test();
            teardown();
            count++;
        }
    assert_int_equal(count, 10);
}
