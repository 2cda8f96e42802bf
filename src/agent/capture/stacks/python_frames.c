#include "agent/capture/stacks/python_frames.h"

#include "agent/frames/python_text.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define OWNER_INTERPRETER 3 /* this owner and above: the frame stands for a call from C */
#define SKIPS_PER_FRAME   2 /* frames of such calls that are skipped, for each wanted one */
#define POINTER_MIN       ((uintptr_t)0x10000)
#define POINTER_MAX       (((uintptr_t)1 << 48) - 0x10000)
#define STRING_CHARS_MAX  4096
#define TABLE_BYTES_MAX   (1u << 20)

/* ---- Reading the interpreter's memory ---- */

/* Whether the address is neither in the first 64 KiB nor in the kernel's part. */
static inline bool is_pointer(uintptr_t address)
{
    return address - POINTER_MIN <= POINTER_MAX - POINTER_MIN;
}

static inline uint64_t word_at(uintptr_t address, size_t offset)
{
    uint64_t word;
    memcpy(&word, (const char *)address + offset, sizeof word);
    return word;
}

static inline uint32_t half_at(uintptr_t address, size_t offset)
{
    uint32_t half;
    memcpy(&half, (const char *)address + offset, sizeof half);
    return half;
}

static inline uint8_t byte_at(uintptr_t address, size_t offset)
{
    return *((const uint8_t *)address + offset);
}

static bool is_a(const struct python *python, uintptr_t object, uintptr_t type)
{
    return is_pointer(object) && word_at(object, python->layout->at[PYTHON_OBJECT_TYPE]) == type;
}

/* ---- The walk ---- */

static inline uint64_t rotate(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

/* Hashes a code object's identity. Pointers to objects of one interpreter differ in bits 4 to 40, so two fit
 * into one word without much overlap. */
static inline uint64_t identify(uint64_t code, uint64_t file, uint64_t name, uint64_t lines, uint64_t number)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)(code ^ rotate(lines, 24)) * (name ^ rotate(file, 24) ^ number);
    return (uint64_t)(product ^ product >> 64);
}

/* Returns the address of the innermost frame; 0: none, for the reason in walk->stack. */
static uintptr_t innermost(const struct python *python, struct python_walk *walk)
{
    const uint16_t *at = python->layout->at;
    *walk = (struct python_walk){.stack = PYTHON_STACK_FINALIZING};
    if (python->is_finalizing())
        return 0;
    uintptr_t state = (uintptr_t)python->thread_state();
    walk->stack = PYTHON_STACK_NO_THREAD;
    if (!state)
        return 0;
    walk->stack = PYTHON_STACK_UNREADABLE;
    if (!is_pointer(state) || word_at(state, at[PYTHON_STATE_THREAD]) != (uint64_t)pthread_self())
        return 0;
    if (python->has_one_interpreter) {
        /* A newer interpreter's memory may already be free, so only our own is read. */
        uintptr_t interpreter = word_at(state, at[PYTHON_STATE_INTERPRETER]);
        if (!is_pointer(interpreter))
            return 0;
        if (word_at(python->runtime, at[PYTHON_RUNTIME_INTERPRETERS]) != interpreter ||
            word_at(interpreter, at[PYTHON_INTERPRETER_NEXT]) != 0) {
            walk->stack = PYTHON_STACK_INTERPRETERS;
            return 0;
        }
    }
    uintptr_t frame = word_at(state, at[PYTHON_STATE_FRAME]);
    if (at[PYTHON_CFRAME_FRAME] != PYTHON_NO_FIELD) {
        if (!is_pointer(frame))
            return 0;
        frame = word_at(frame, at[PYTHON_CFRAME_FRAME]);
    }
    walk->stack = PYTHON_STACK_EMPTY;
    return frame;
}

struct hot_fields {
    size_t frame_code, frame_previous, frame_position, frame_owner;
    size_t object_type, file, name, lines, first_line, version, name_hash;
    bool has_owner, has_version, has_positions;
    uintptr_t position_base; /* all ones: positions are relative to the code object */
};

static inline __attribute__((always_inline)) void walk_from(const struct python *python, struct hot_fields at,
                                                            uintptr_t frame, struct python_frame *frames,
                                                            uint32_t max, struct python_walk *walk)
{
    const struct python_frame *end = frames + max;
    struct python_frame *next = frames;
    uint64_t hash = 0;
    uint32_t skips_left = SKIPS_PER_FRAME * max;
    bool is_readable = true;
    while (frame && (is_readable = is_pointer(frame))) {
        uintptr_t code = word_at(frame, at.frame_code) & ~(uintptr_t)7;
        if ((at.has_owner && byte_at(frame, at.frame_owner) >= OWNER_INTERPRETER) || !is_pointer(code) ||
            word_at(code, at.object_type) != python->code_type) {
            if (skips_left-- == 0)
                break;
            frame = word_at(frame, at.frame_previous);
            continue;
        }
        if (next == end)
            break;
        uint64_t name = word_at(code, at.name), number = 0;
        if (at.has_version)
            number = (uint64_t)half_at(code, at.version) << 32;
        if (!number) { /* no version before 3.12, and after 2^32 code objects */
            if (!(is_readable = is_pointer(name)))
                break;
            number = word_at(name, at.name_hash) + half_at(code, at.first_line);
        }
        uint64_t identity = identify(code, word_at(code, at.file), name, word_at(code, at.lines), number);
        uint32_t position = (uint32_t)(word_at(frame, at.frame_position) - (code & at.position_base));
        if (!at.has_positions)
            position = PYTHON_NO_POSITION;
        *next++ = (struct python_frame){.code = code, .identity = identity, .position = position};
        hash = rotate((hash ^ (identity + position)) * 0xa0761d6478bd642fu, 29);
        frame = word_at(frame, at.frame_previous);
    }
    walk->is_cut = frame != 0;
    walk->count = (uint32_t)(next - frames);
    walk->hash = hash ^ walk->is_cut;
    if (!is_readable)
        walk->stack = PYTHON_STACK_UNREADABLE;
    else if (walk->count)
        walk->stack = PYTHON_STACK_FRAMES;
}

/* The walk is three loops with constants where the versions agree: 20 frames of 3.12 take 1,080 instructions,
 * and 1,600 if all fields are variables. python_frames_test.c makes its objects by the layouts and notices a
 * wrong constant. */
void python_frames_walk(const struct python *python, struct python_frame *frames, uint32_t max,
                        struct python_walk *walk)
{
    const uint16_t *at = python->layout->at;
    uintptr_t frame = innermost(python, walk);
    if (python->layout->minor < 12) {
        size_t file = at[PYTHON_CODE_FILE];
        struct hot_fields older = {.frame_code = 32,
                                   .frame_previous = at[PYTHON_FRAME_PREVIOUS],
                                   .frame_position = at[PYTHON_FRAME_POSITION],
                                   .object_type = 8,
                                   .file = file,
                                   .name = file + 8,
                                   .lines = at[PYTHON_CODE_LINES],
                                   .first_line = at[PYTHON_CODE_FIRST_LINE],
                                   .name_hash = 24,
                                   .has_positions = true,
                                   .position_base = python->layout->minor == 11 ? UINTPTR_MAX : 0};
        walk_from(python, older, frame, frames, max, walk);
    } else if (python->has_positions) {
        struct hot_fields newer = {.frame_code = 0,
                                   .frame_previous = 8,
                                   .frame_position = 56,
                                   .frame_owner = at[PYTHON_FRAME_OWNER],
                                   .object_type = 8,
                                   .file = 112,
                                   .name = 120,
                                   .lines = 136,
                                   .first_line = 68,
                                   .version = 92,
                                   .name_hash = 24,
                                   .has_owner = true,
                                   .has_version = true,
                                   .has_positions = true,
                                   .position_base = UINTPTR_MAX};
        walk_from(python, newer, frame, frames, max, walk);
    } else {
        struct hot_fields free_threaded = {.frame_code = 0,
                                           .frame_previous = 8,
                                           .frame_position = 56,
                                           .frame_owner = at[PYTHON_FRAME_OWNER],
                                           .object_type = 24,
                                           .file = 128,
                                           .name = 136,
                                           .lines = 152,
                                           .first_line = 84,
                                           .version = 108,
                                           .name_hash = 40,
                                           .has_owner = true,
                                           .has_version = true};
        walk_from(python, free_threaded, frame, frames, max, walk);
    }
    /* The thread may have been interrupted in the middle of the walk, for longer than finalization takes. */
    atomic_thread_fence(memory_order_acquire);
    if (python->is_finalizing())
        *walk = (struct python_walk){.stack = PYTHON_STACK_FINALIZING};
}

/* ---- Texts ---- */

static uint32_t current_line(const struct python *python, uintptr_t code, uint32_t position, uint32_t first)
{
    const uint16_t *at = python->layout->at;
    if (!python->has_positions)
        return 0;
    uintptr_t bytes = word_at(code, at[PYTHON_CODE_LINES]);
    if (!is_a(python, bytes, python->bytes_type))
        return 0;
    uint64_t length = word_at(bytes, at[PYTHON_BYTES_LENGTH]);
    if (length > TABLE_BYTES_MAX)
        return 0;
    const uint8_t *table = (const uint8_t *)bytes + at[PYTHON_BYTES_START];
    return python_text_line(python->layout, table, length, position, first);
}

/* Opens a string object. The string ends at its terminator, even if its length is larger. False: the object
 * is no readable string. */
static bool open_string(const struct python *python, uintptr_t object, struct python_string *string)
{
    const uint16_t *at = python->layout->at;
    size_t start;
    if (!is_a(python, object, python->string_type) ||
        !python_text_kind(python->layout, half_at(object, at[PYTHON_STRING_STATE]), string, &start))
        return false;
    uint64_t length = word_at(object, at[PYTHON_STRING_LENGTH]);
    string->data = (const char *)object + start;
    python_text_end(string, length < STRING_CHARS_MAX ? (size_t)length : STRING_CHARS_MAX);
    return true;
}

void python_frame_describe(const struct python *python, const struct python_frame *frame,
                           struct python_frame_text *text)
{
    const uint16_t *at = python->layout->at;
    uintptr_t code = (uintptr_t)frame->code;
    struct python_string string;
    text->file_length = text->name_length = 0;
    text->first_line = text->line = 0;
    if (!is_a(python, code, python->code_type))
        return;
    text->first_line = half_at(code, at[PYTHON_CODE_FIRST_LINE]);
    text->line = current_line(python, code, frame->position, text->first_line);
    if (open_string(python, word_at(code, at[PYTHON_CODE_FILE]), &string))
        text->file_length = python_text_copy_path(&string, text->file, text->file_max);
    uint16_t name =
        at[PYTHON_CODE_QUALNAME] != PYTHON_NO_FIELD ? at[PYTHON_CODE_QUALNAME] : at[PYTHON_CODE_NAME];
    if (open_string(python, word_at(code, name), &string))
        text->name_length = python_text_copy(&string, text->name, text->name_max);
}
