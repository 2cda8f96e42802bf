#include "agent/watch/stacks/python_look.h"

#include "agent/frames/python_text.h"
#include "agent/watch/stacks/stack_text.h"
#include "base/hash.h"
#include "base/process/self_memory.h"

#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OWNER_INTERPRETER 3 /* this owner and above: the frame stands for a call from C */
#define SKIPS_MAX         (2 * STACK_PYTHON_FRAMES_MAX)
#define INTERPRETERS_MAX  64
#define LISTS_MAX         4 /* attempts */
#define OBJECT_BYTES      256
#define TID_AT_MAX        2048 /* bytes of the C library's description of a thread */
#define TID_AT_UNKNOWN    UINT32_MAX
#define DEBUG_WORDS       256

static uint64_t read_word(uint64_t address)
{
    uint64_t word;
    return self_memory_read(address, &word, sizeof word) ? word : 0;
}

static uint64_t word_in(const uint8_t *object, size_t offset)
{
    uint64_t word;
    memcpy(&word, object + offset, sizeof word);
    return word;
}

static uint32_t half_in(const uint8_t *object, size_t offset)
{
    uint32_t half;
    memcpy(&half, object + offset, sizeof half);
    return half;
}

/* ---- The interpreter ----------------------------------------------------------------------------------- */

/* Returns the minor version; 0: another one than those known. */
static unsigned version_of(const struct map_library *library)
{
    uint64_t version = process_map_symbol(library, "Py_Version");
    if (version) {
        version = read_word(version);
        return version >> 24 == 3 ? version >> 16 & 0xff : 0;
    }
    /* Functions that came with a version. */
    return process_map_symbol(library, "PyIter_Send")       ? 10
           : process_map_symbol(library, "PyFrame_GetCode") ? 9
                                                            : 0;
}

/* Replaces the known offsets by those that the interpreter states itself (_Py_DebugOffsets). */
static bool read_debug_offsets(struct python_process *python)
{
    uint64_t words[DEBUG_WORDS];
    struct python_layout *layout = &python->layout;
    if (!self_memory_read(python->runtime, words, sizeof words) || memcmp(words, "xdebugpy", 8) != 0 ||
        words[1] >> 16 != (0x300u | layout->minor))
        return false;
    const struct python_layout *found = python_layout_find(layout->minor, words[2] != 0);
    if (!found)
        return false;
    *layout = *found;
    for (int field = 0; field < PYTHON_FIELDS; field++) {
        uint8_t word = layout->debug_word[field];
        if (word && words[word] >= PYTHON_NO_FIELD)
            return false;
        if (word)
            layout->at[field] = (uint16_t)words[word];
    }
    return true;
}

static bool has_size(const struct python_process *python, const struct map_library *library, const char *type,
                     enum python_field size)
{
    uint64_t address = process_map_symbol(library, type);
    return address && read_word(address + python->layout.at[PYTHON_TYPE_SIZE]) == python->layout.at[size];
}

/* Fills `python`, if the library is an interpreter with a known layout. */
static bool open_library(struct python_process *python, const struct map_library *library)
{
    *python = (struct python_process){.runtime = process_map_symbol(library, "_PyRuntime")};
    unsigned minor = python->runtime ? version_of(library) : 0;
    const struct python_layout *layout = python_layout_find(minor, false);
    if (!layout)
        return false;
    python->layout = *layout;
    if (minor >= 13 && !read_debug_offsets(python))
        return false;
    python->library = library->base;
    python->code_type = process_map_symbol(library, "PyCode_Type");
    python->string_type = process_map_symbol(library, "PyUnicode_Type");
    python->bytes_type = process_map_symbol(library, "PyBytes_Type");
    return has_size(python, library, "PyCode_Type", PYTHON_CODE_OBJECT_SIZE) &&
           has_size(python, library, "PyFrame_Type", PYTHON_FRAME_OBJECT_SIZE) &&
           has_size(python, library, "PyUnicode_Type", PYTHON_STRING_OBJECT_SIZE) && python->bytes_type;
}

bool python_look_find(struct python_process *python, struct process_map *map)
{
    uint64_t known = python->library;
    for (int again = known == 0; again < 2; again++)
        for (uint32_t i = 0; i < map->library_count; i++) {
            if (!again && map->libraries[i].base != known)
                continue;
            const struct map_library *library = process_map_library(map, i);
            if (library && open_library(python, library))
                return true;
        }
    *python = (struct python_process){0};
    return false;
}

/* ---- Threads ------------------------------------------------------------------------------------------- */

/* Returns where the C library keeps a thread's TID, from pthread_self(); 0: unknown. */
static uint32_t tid_offset(void)
{
    uint64_t self = (uint64_t)(uintptr_t)pthread_self();
    uint32_t word, tid = (uint32_t)syscall(SYS_gettid);
    for (uint32_t at = 16; at < TID_AT_MAX; at += sizeof word) {
        if (!self_memory_read(self + at, &word, sizeof word))
            return 0;
        if (word == tid)
            return at;
    }
    return 0;
}

static bool is_among(const int32_t *tids, uint32_t count, uint64_t tid)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if ((uint64_t)tids[middle] < tid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && (uint64_t)tids[low] == tid;
}

/* Returns the thread state that holds the GIL of an interpreter; 0: none. */
static uint64_t gil_holder(const struct python_process *python, uint64_t interpreter)
{
    const uint16_t *at = python->layout.at;
    uint32_t locked;
    uint64_t gil = at[PYTHON_RUNTIME_GIL] != PYTHON_NO_FIELD
                       ? python->runtime + at[PYTHON_RUNTIME_GIL]
                       : read_word(interpreter + at[PYTHON_INTERPRETER_GIL]);
    if (!self_memory_read(gil + at[PYTHON_GIL_LOCKED], &locked, sizeof locked) || locked != 1)
        return 0;
    return read_word(gil + at[PYTHON_GIL_HOLDER]);
}

struct list {
    const struct python_process *python;
    const int32_t *tids;
    uint32_t tid_count, max, count, tid_at;
    struct python_thread *threads;
};

static void add_thread(struct list *list, const uint8_t *state, uint64_t address, uint64_t holder)
{
    const uint16_t *at = list->python->layout.at;
    uint64_t tid = at[PYTHON_STATE_TID] != PYTHON_NO_FIELD ? word_in(state, at[PYTHON_STATE_TID]) : 0;
    if (!is_among(list->tids, list->tid_count, tid)) { /* before 3.11, or in the child of a fork */
        uint32_t word = 0;
        uint64_t thread = word_in(state, at[PYTHON_STATE_THREAD]);
        if (list->tid_at == TID_AT_UNKNOWN)
            list->tid_at = tid_offset();
        tid = list->tid_at && self_memory_read(thread + list->tid_at, &word, sizeof word) ? word : 0;
        if (!is_among(list->tids, list->tid_count, tid))
            return;
    }
    list->threads[list->count++] =
        (struct python_thread){.tid = (int32_t)tid, .state = address, .holds_gil = address == holder};
}

/* False: the list changed meanwhile. */
static bool list_interpreter(struct list *list, uint64_t interpreter)
{
    const uint16_t *at = list->python->layout.at;
    uint8_t state[512];
    size_t bytes = at[PYTHON_STATE_THREAD] + 8u;
    if (at[PYTHON_STATE_TID] != PYTHON_NO_FIELD && bytes < at[PYTHON_STATE_TID] + 8u)
        bytes = at[PYTHON_STATE_TID] + 8u;
    uint64_t next, holder = gil_holder(list->python, interpreter);
    if (bytes > sizeof state || !self_memory_read(interpreter + at[PYTHON_INTERPRETER_THREADS], &next, 8))
        return false;
    for (uint32_t i = 0; next; i++) {
        if (i == 4 * STACK_THREADS_MAX || list->count == list->max)
            return true;
        if (!self_memory_read(next, state, bytes) ||
            word_in(state, at[PYTHON_STATE_INTERPRETER]) != interpreter)
            return false;
        add_thread(list, state, next, holder);
        next = word_in(state, at[PYTHON_STATE_NEXT]);
    }
    return true;
}

uint32_t python_look_list(const struct python_process *python, const int32_t *tids, uint32_t tid_count,
                          struct python_thread *threads, uint32_t max, bool *is_incomplete)
{
    const uint16_t *at = python->layout.at;
    struct list list = {python, tids, tid_count, max, 0, TID_AT_UNKNOWN, threads};
    *is_incomplete = true;
    for (int attempt = 0; attempt < LISTS_MAX && *is_incomplete; attempt++) {
        uint64_t interpreter = read_word(python->runtime + at[PYTHON_RUNTIME_INTERPRETERS]);
        list.count = 0;
        *is_incomplete = false;
        for (int i = 0; interpreter && i < INTERPRETERS_MAX && !*is_incomplete; i++) {
            *is_incomplete = !list_interpreter(&list, interpreter);
            interpreter = read_word(interpreter + at[PYTHON_INTERPRETER_NEXT]);
        }
    }
    return list.count;
}

/* ---- Frames -------------------------------------------------------------------------------------------- */

static bool is_code(const struct python_process *python, uint64_t code)
{
    return read_word(code + python->layout.at[PYTHON_OBJECT_TYPE]) == python->code_type;
}

/* Returns the frame's position as python_text_line() expects it. */
static uint32_t position_of(const struct python_process *python, const uint8_t *frame, uint64_t code)
{
    const uint16_t *at = python->layout.at;
    uint64_t position = word_in(frame, at[PYTHON_FRAME_POSITION]);
    if (python->layout.minor < 11)
        return (uint32_t)position;
    if (at[PYTHON_FRAME_COPY] != PYTHON_NO_FIELD) { /* threads may have copies of the instructions */
        uint32_t number = half_in(frame, at[PYTHON_FRAME_COPY]);
        uint64_t copies = number ? read_word(code + at[PYTHON_CODE_COPIES]) : 0;
        if (copies && number < read_word(copies))
            return (uint32_t)(position - read_word(copies + at[PYTHON_COPIES_FIRST] + (uint64_t)number * 8) +
                              at[PYTHON_CODE_START]);
    }
    return (uint32_t)(position - code);
}

static size_t frame_bytes(const uint16_t *at)
{
    static const enum python_field fields[] = {PYTHON_FRAME_CODE, PYTHON_FRAME_PREVIOUS,
                                               PYTHON_FRAME_POSITION, PYTHON_FRAME_OWNER, PYTHON_FRAME_COPY};
    size_t bytes = 0;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (at[fields[i]] != PYTHON_NO_FIELD && bytes < at[fields[i]] + 8u)
            bytes = at[fields[i]] + 8u;
    return bytes;
}

void python_look_walk(const struct python_process *python, uint64_t state, struct python_stack_walk *walk)
{
    const uint16_t *at = python->layout.at;
    uint8_t object[OBJECT_BYTES];
    size_t bytes = frame_bytes(at);
    uint64_t frame;
    walk->count = 0;
    walk->end = STACK_PYTHON_UNREADABLE;
    if (bytes > sizeof object || !self_memory_read(state + at[PYTHON_STATE_FRAME], &frame, sizeof frame) ||
        (at[PYTHON_CFRAME_FRAME] != PYTHON_NO_FIELD &&
         !self_memory_read(frame + at[PYTHON_CFRAME_FRAME], &frame, sizeof frame)))
        return;
    for (uint32_t skips = 0; frame;) {
        if (!self_memory_read(frame, object, bytes))
            return;
        frame = word_in(object, at[PYTHON_FRAME_PREVIOUS]);
        uint64_t code = word_in(object, at[PYTHON_FRAME_CODE]) & ~(uint64_t)7;
        if ((at[PYTHON_FRAME_OWNER] != PYTHON_NO_FIELD &&
             object[at[PYTHON_FRAME_OWNER]] >= OWNER_INTERPRETER) ||
            !is_code(python, code)) {
            if (++skips > SKIPS_MAX)
                return;
            continue;
        }
        if (walk->count == STACK_PYTHON_FRAMES_MAX) {
            walk->end = STACK_PYTHON_CUT;
            return;
        }
        walk->frames[walk->count].code = code;
        walk->frames[walk->count++].position = position_of(python, object, code);
    }
    walk->end = walk->count ? STACK_PYTHON_COMPLETE : STACK_PYTHON_IDLE;
}

bool python_look_is_same(const struct python_stack_walk *a, const struct python_stack_walk *b)
{
    if (a->end != b->end || a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->frames[i].code != b->frames[i].code ||
            (i > 0 && a->frames[i].position != b->frames[i].position))
            return false;
    return true;
}

/* ---- Texts --------------------------------------------------------------------------------------------- */

/* Returns the place of an address, whose value is set if its address is; NULL: there is no room. */
static uint32_t *known(struct python_texts *texts, uint64_t address, bool *is_known)
{
    const uint32_t places = sizeof texts->known / sizeof *texts->known;
    uint32_t at = (uint32_t)((address * HASH_SPREAD) >> 52) % places;
    while (texts->known[at].address && texts->known[at].address != address)
        at = (at + 1) % places;
    *is_known = texts->known[at].address == address;
    if (!*is_known) {
        if (texts->known_count >= places / 4 * 3)
            return NULL;
        texts->known_count++;
        texts->known[at].address = address;
    }
    return &texts->known[at].value;
}

/* Copies a string object's characters to texts->chars. */
static bool read_string(const struct python_process *python, struct python_texts *texts, uint64_t object,
                        struct python_string *string)
{
    const uint16_t *at = python->layout.at;
    uint8_t head[OBJECT_BYTES];
    size_t start;
    if (!self_memory_read(object, head, at[PYTHON_STRING_ASCII]) ||
        word_in(head, at[PYTHON_OBJECT_TYPE]) != python->string_type ||
        !python_text_kind(&python->layout, half_in(head, at[PYTHON_STRING_STATE]), string, &start))
        return false;
    uint64_t length = word_in(head, at[PYTHON_STRING_LENGTH]);
    size_t chars = length < PYTHON_CHARS_MAX ? (size_t)length : PYTHON_CHARS_MAX;
    string->data = texts->chars;
    if (!self_memory_read(object + start, texts->chars, chars * string->kind))
        return false;
    python_text_end(string, chars);
    return true;
}

static uint32_t add_string(const struct python_process *python, struct python_texts *texts, uint64_t object,
                           bool is_path, struct thread_stacks *into)
{
    char text[STACK_FILE_BYTES > STACK_NAME_BYTES ? STACK_FILE_BYTES : STACK_NAME_BYTES];
    struct python_string string;
    bool is_known;
    uint32_t *value = known(texts, object, &is_known);
    if (!value)
        return 0;
    if (!is_known) {
        *value = 0;
        if (read_string(python, texts, object, &string)) {
            size_t length = is_path ? python_text_copy_path(&string, text, STACK_FILE_BYTES)
                                    : python_text_copy(&string, text, STACK_NAME_BYTES);
            *value = stack_text_add(into, text, length);
        }
    }
    return *value;
}

/* Copies a code object's table of lines to texts->table, unless it is there. */
static void read_table(const struct python_process *python, struct python_texts *texts, uint64_t code,
                       uint64_t bytes)
{
    const uint16_t *at = python->layout.at;
    if (texts->table_of == code)
        return;
    texts->table_of = code;
    texts->has_table = false;
    if (read_word(bytes + at[PYTHON_OBJECT_TYPE]) != python->bytes_type)
        return;
    uint64_t length = read_word(bytes + at[PYTHON_BYTES_LENGTH]); /* 0 for a function of one line in 3.9 */
    length = length < PYTHON_TABLE_BYTES ? length : PYTHON_TABLE_BYTES;
    texts->table_bytes = (uint32_t)length;
    texts->has_table = self_memory_read(bytes + at[PYTHON_BYTES_START], texts->table, length);
}

static uint32_t add_code(const struct python_process *python, struct python_texts *texts, uint64_t code,
                         const uint8_t *object, enum stack_detail detail, struct thread_stacks *into)
{
    const uint16_t *at = python->layout.at;
    bool is_known;
    uint32_t *value = known(texts, code, &is_known);
    if (!value)
        return STACK_NO_CODE;
    if (!is_known) {
        *value = STACK_NO_CODE;
        if (into->code_count < STACK_CODES_MAX) {
            uint32_t number = into->code_count++;
            bool is_full = detail == STACK_DETAIL_FULL;
            enum python_field name =
                at[PYTHON_CODE_QUALNAME] != PYTHON_NO_FIELD ? PYTHON_CODE_QUALNAME : PYTHON_CODE_NAME;
            *value = number;
            into->codes[number] = (struct stack_code){
                .address = code,
                .first_line = is_full ? half_in(object, at[PYTHON_CODE_FIRST_LINE]) : 0,
                .name = add_string(python, texts, word_in(object, at[name]), false, into),
                .file = is_full ? add_string(python, texts, word_in(object, at[PYTHON_CODE_FILE]), true, into)
                                : 0};
        }
    }
    return *value;
}

void python_look_describe(const struct python_process *python, struct python_texts *texts, uint64_t code,
                          uint32_t position, enum stack_detail detail, struct thread_stacks *into,
                          struct stack_python_frame *frame)
{
    const uint16_t *at = python->layout.at;
    uint8_t object[OBJECT_BYTES];
    struct stack_python_frame *last = &texts->frames[((code + position) * HASH_SPREAD) >> 54];
    *frame = (struct stack_python_frame){.code = code, .position = position, .function = STACK_NO_CODE};
    if (last->code == code && last->position == position) {
        *frame = *last;
        return;
    }
    if (at[PYTHON_CODE_OBJECT_SIZE] > sizeof object ||
        !self_memory_read(code, object, at[PYTHON_CODE_OBJECT_SIZE]) ||
        word_in(object, at[PYTHON_OBJECT_TYPE]) != python->code_type)
        return;
    frame->function = add_code(python, texts, code, object, detail, into);
    if (detail == STACK_DETAIL_FULL) {
        read_table(python, texts, code, word_in(object, at[PYTHON_CODE_LINES]));
        if (texts->has_table)
            frame->line = python_text_line(&python->layout, texts->table, texts->table_bytes, position,
                                           half_in(object, at[PYTHON_CODE_FIRST_LINE]));
    }
    *last = *frame;
}
