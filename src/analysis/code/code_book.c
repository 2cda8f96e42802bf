#include "analysis/code/code_book.h"

#include "base/hash.h"
#include "analysis/code/code_origins.h"
#include "analysis/stat/base/places.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

/* Some call of the thread has a stack. */
enum { THREAD_HAS_LAUNCHES = 1, THREAD_HAS_ALLOCATIONS = 2 };

/* The stack attributes of a span. */
struct attributes {
    const struct trace_attr *id, *function, *file, *line, *text;
};

uint32_t code_origins_add(struct code_book *book, const char *label)
{
    if (book->origin_count == CODE_ORIGINS_MAX)
        return ORIGIN_OTHERS;
    *XADD(book->origins, book->origin_count, book->origin_capacity) =
        (struct origin){.label = label, .place = MAP_NONE, .kind = ORIGIN_IS_STACK};
    return (uint32_t)book->origin_count - 1;
}

struct code_book *code_book_create(void)
{
    struct code_book *book = xcalloc(1, sizeof *book);
    static const char *const labels[] = {[ORIGIN_NOT_SAMPLED] = "(not sampled)",
                                         [ORIGIN_NO_CALL] = "(no call)",
                                         [ORIGIN_NO_PYTHON] = "(no Python)",
                                         [ORIGIN_OTHERS] = "(other stacks)"};
    for (size_t i = 0; i < ORIGIN_FIRST_STACK; i++)
        code_origins_add(book, labels[i]);
    return book;
}

void code_book_destroy(struct code_book *book)
{
    if (!book)
        return;
    free(book->origins);
    free(book->frames);
    free(book->stack_frames);
    free(book->thread_has_stacks);
    int_map_deinit(&book->by_key);
    int_map_deinit(&book->frame_numbers);
    forward_lines_deinit(&book->forward);
    free(book);
}

bool code_book_has_stacks(const struct code_book *book)
{
    return book->has_stacks || book->has_xla;
}

bool code_book_has_allocation_stacks(const struct code_book *book)
{
    return book->has_allocation_stacks;
}

size_t code_book_origin_count(const struct code_book *book)
{
    return book->origin_count;
}

/* --- frames --- */

const char *code_origins_keep(const struct stat *stat, struct frame_text text)
{
    char name[CODE_NAME_BYTES_MAX + 4];
    size_t len = text.len < CODE_NAME_BYTES_MAX ? text.len : CODE_NAME_BYTES_MAX;
    while (len < text.len && len && ((unsigned char)text.at[len] & 0xc0) == 0x80)
        len--;
    memcpy(name, text.at, len);
    strcpy(name + len, len < text.len ? "..." : "");
    return stat_keep_some(stat, name);
}

static struct frame_text text_of(const struct stat *stat, const struct trace_attr *attr)
{
    const char *text = attr ? trace_attr_text(stat->trace, attr) : "";
    return (struct frame_text){text, strlen(text)};
}

/* Kept texts are equal if their addresses are. */
uint32_t code_origins_frame(struct code_book *book, const struct code_frame *frame)
{
    uint64_t key = int_map_mix((uint64_t)(uintptr_t)frame->file) ^ (uint64_t)(uintptr_t)frame->name;
    key = int_map_mix(key) +
          ((uint64_t)frame->line << 2 | (uint64_t)frame->is_backward << 1 | frame->is_native);
    uint32_t number;
    while ((number = int_map_get(&book->frame_numbers, key)) != MAP_NONE) {
        const struct code_frame *known = &book->frames[number];
        if (known->file == frame->file && known->name == frame->name && known->line == frame->line &&
            known->is_native == frame->is_native && known->is_backward == frame->is_backward)
            return number;
        key++;
    }
    number = (uint32_t)book->frame_count;
    *XADD(book->frames, book->frame_count, book->frame_capacity) = *frame;
    int_map_set(&book->frame_numbers, key, number);
    return number;
}

const struct code_frame *code_book_frame(const struct code_book *book, uint32_t frame)
{
    return &book->frames[frame];
}

/* The frame of the code.* attributes, or MAP_NONE. */
static uint32_t place_of(struct code_book *book, const struct stat *stat, const struct attributes *attributes)
{
    if (!attributes->function && !attributes->file)
        return MAP_NONE;
    uint64_t line = attributes->line ? trace_attr_int(stat->trace, attributes->line) : 0;
    struct code_frame frame = {.file = code_origins_keep(stat, text_of(stat, attributes->file)),
                               .name = code_origins_keep(stat, text_of(stat, attributes->function)),
                               .line = line <= INT32_MAX ? (uint32_t)line : 0,
                               .is_native = !attributes->file};
    return code_origins_frame(book, &frame);
}

/* --- origins --- */

static bool read_attributes(const struct code_book *book, const struct stat *stat,
                            const struct trace_span *span, struct attributes *out)
{
    if (!book->knows_attributes)
        return false;
    *out = (struct attributes){.id = stat_find(stat, span, KEY_STACK_ID),
                               .function = stat_find(stat, span, KEY_CODE_FUNCTION),
                               .file = stat_find(stat, span, KEY_CODE_FILE),
                               .line = stat_find(stat, span, KEY_CODE_LINE),
                               .text = stat_find(stat, span, KEY_STACK)};
    return out->id || out->function || out->file || out->text;
}

static uint64_t id_of(const struct stat *stat, const struct trace_attr *id)
{
    return id->type == TRACE_INT ? id->value : strtoull(trace_attr_text(stat->trace, id), NULL, 16);
}

bool code_origins_push(struct code_book *book, struct origin *origin, const struct code_frame *frame)
{
    if (book->stack_frame_count >= CODE_STACK_FRAMES_MAX || origin->depth == CODE_DEPTH_MAX)
        return false;
    if (!origin->depth)
        origin->first = (uint32_t)book->stack_frame_count;
    *XADD(book->stack_frames, book->stack_frame_count, book->stack_frame_capacity) =
        code_origins_frame(book, frame);
    origin->depth++;
    return true;
}

static void set_text(struct code_book *book, const struct stat *stat, struct origin *origin, const char *text)
{
    struct stack_frame frame;
    while (stack_lines_next(&text, &frame)) {
        if (frame.kind == FRAME_CUT) {
            origin->is_cut = true;
            continue;
        }
        struct code_frame known = {.file = code_origins_keep(stat, frame.file),
                                   .name = code_origins_keep(stat, frame.name),
                                   .line = frame.line,
                                   .is_native = frame.kind == FRAME_NATIVE};
        if (!code_origins_push(book, origin, &known)) {
            origin->is_cut = true;
            break;
        }
    }
}

/* The same stack of another process may be another one: an ID is a hash of addresses. */
static uint32_t origin_at(struct code_book *book, const struct stat *stat, const struct trace_span *span,
                          const struct attributes *attributes)
{
    uint32_t process = places_process(stat->places, span), place = MAP_NONE;
    const char *text = attributes->text ? trace_attr_text(stat->trace, attributes->text) : NULL;
    uint64_t key;
    if (attributes->id) {
        uint64_t id = id_of(stat, attributes->id);
        if (!id)
            return ORIGIN_NO_PYTHON;
        key = int_map_mix(int_map_mix(id) + process);
    } else if (text) {
        key = int_map_mix(hash_text(HASH_START, text) + 1);
    } else {
        place = place_of(book, stat, attributes);
        key = int_map_mix(place + 1ull) + 2;
    }
    uint32_t number = int_map_get(&book->by_key, key);
    if (number == MAP_NONE) {
        number = code_origins_add(book, NULL);
        if (number != ORIGIN_OTHERS)
            int_map_set(&book->by_key, key, number);
    }
    struct origin *origin = &book->origins[number];
    if (number == ORIGIN_OTHERS)
        return number;
    if (origin->place == MAP_NONE)
        origin->place = place != MAP_NONE ? place : place_of(book, stat, attributes);
    if (text && !origin->depth)
        set_text(book, stat, origin, text);
    return number;
}

static void note_thread(struct code_book *book, uint32_t thread, uint8_t has)
{
    if (thread == TRACE_NONE)
        return;
    book->thread_has_stacks = xgrow(book->thread_has_stacks, &book->thread_capacity, (size_t)thread + 1,
                                    sizeof *book->thread_has_stacks);
    while (book->thread_count <= thread)
        book->thread_has_stacks[book->thread_count++] = 0;
    book->thread_has_stacks[thread] |= has;
}

static bool allocates(const struct stat *stat, const struct trace_span *span)
{
    return span->class == CLASS_CALL && stat_call_of(stat, span).group == CALL_GROUP_ALLOC;
}

static void learn_span(struct code_book *book, const struct stat *stat, const struct trace_span *span)
{
    struct attributes attributes;
    if (!read_attributes(book, stat, span, &attributes))
        return;
    bool has_line = span->class == CLASS_CALL && attributes.file && book->forward.ops;
    if (has_line || (attributes.id && attributes.text)) {
        uint32_t origin = origin_at(book, stat, span, &attributes);
        if (has_line && book->origins[origin].place != MAP_NONE)
            code_ranges_learn(book, stat, span, origin);
    }
    /* For the stack of an allocation, the text is enough. */
    bool is_allocation = allocates(stat, span);
    book->has_allocation_stacks |= is_allocation;
    if (!is_allocation && !attributes.id && !attributes.file && !attributes.function)
        return;
    book->has_stacks |= !is_allocation;
    note_thread(book, span->thread, is_allocation ? THREAD_HAS_ALLOCATIONS : THREAD_HAS_LAUNCHES);
}

void code_book_learn(struct code_book *book, const struct stat *stat)
{
    const struct trace *trace = stat->trace;
    book->knows_attributes |= stat_knows(stat, KEY_STACK_ID) || stat_knows(stat, KEY_CODE_FUNCTION) ||
                              stat_knows(stat, KEY_CODE_FILE) || stat_knows(stat, KEY_STACK);
    book->knows_xla |= stat_knows(stat, KEY_XLA_FRAMES) || stat_knows(stat, KEY_XLA_FILE);
    for (size_t i = 0; book->knows_attributes && i < trace->span_count; i++) {
        const struct trace_span *span = &trace->spans[i];
        if (span->is_margin)
            continue;
        if (span->class == CLASS_OTHER)
            code_ranges_learn(book, stat, span, MAP_NONE);
        else if (span->class == CLASS_CALL || trace_class_is_gpu(span->class))
            learn_span(book, stat, span);
    }
}

uint32_t code_origins_labeled(struct code_book *book, const struct stat *stat, const char *text)
{
    const char *label = stat_keep_some(stat, text);
    uint64_t key = int_map_mix((uint64_t)(uintptr_t)label) + 3;
    uint32_t number = int_map_get(&book->by_key, key);
    if (number == MAP_NONE) {
        number = code_origins_add(book, label);
        int_map_set(&book->by_key, key, number);
    }
    return number;
}

/* The agent gives calls without Python no stack, as calls that were not sampled. The thread's other calls
 * tell which of both it is. */
static uint32_t origin_of_thread(struct code_book *book, uint32_t thread, bool allocates)
{
    if (thread == TRACE_NONE)
        return ORIGIN_NOT_SAMPLED;
    uint64_t key = int_map_mix(thread + 1ull) + 4 + allocates;
    uint32_t number = int_map_get(&book->by_key, key);
    if (number != MAP_NONE)
        return number;
    number = code_origins_add(book, NULL);
    if (number != ORIGIN_OTHERS) {
        book->origins[number].kind = ORIGIN_IS_THREAD;
        book->origins[number].of = thread;
        book->origins[number].allocates = allocates;
        int_map_set(&book->by_key, key, number);
    }
    return number;
}

uint32_t code_book_origin(struct code_book *book, const struct stat *stat, const struct trace_span *span)
{
    struct attributes attributes = {0};
    const struct trace_span *with = span;
    uint32_t origin = ORIGIN_NOT_SAMPLED;
    bool has_any = read_attributes(book, stat, span, &attributes);
    if (!has_any && trace_class_is_gpu(span->class)) {
        with = stat_call_of_work(stat, span);
        has_any = with && read_attributes(book, stat, with, &attributes);
    }
    if (!with)
        return ORIGIN_NO_CALL;
    uint32_t of_range = code_ranges_xla(book, stat, span);
    if (of_range != MAP_NONE)
        return of_range;
    if (has_any)
        origin = origin_at(book, stat, with, &attributes);
    bool has_none = origin == ORIGIN_NOT_SAMPLED || origin == ORIGIN_NO_PYTHON;
    if (has_none || !attributes.file) { /* a native stack tells less than the forward line */
        of_range = code_ranges_node(book, stat, span, has_none);
        if (of_range != MAP_NONE)
            return of_range;
    }
    return origin == ORIGIN_NOT_SAMPLED ? origin_of_thread(book, with->thread, allocates(stat, with))
                                        : origin;
}

/* --- at the end --- */

static bool is_same_place(const struct code_frame *a, const struct code_frame *b, bool with_file)
{
    return a->line == b->line && a->name == b->name && (!with_file || a->file == b->file);
}

/* Of Python: text that was executed belongs to its caller. */
static bool is_programs(const struct code_book *book, const uint32_t *frames, size_t depth, size_t at)
{
    while (at + 1 < depth && stack_lines_is_executed(book->frames[frames[at]].file))
        at++;
    const struct code_frame *frame = &book->frames[frames[at]];
    return !frame->is_native && !stack_lines_is_library(frame->file);
}

bool code_book_is_programs(const struct code_book *book, const struct code_stack *stack, size_t at)
{
    const struct code_frame *frame = &book->frames[stack->frames[at]], *place = &book->frames[stack->place];
    if (frame->is_native)
        return place->is_native && frame->file == place->file && !strstr(frame->file, ".so");
    return is_programs(book, stack->frames, stack->depth, at);
}

/* The index of the frame of the code.* attributes. The text may have the full path where the attribute has a
 * relative one. SIZE_MAX: there is none. */
static size_t find_place(const struct code_book *book, const struct origin *origin)
{
    const uint32_t *frames = book->stack_frames + origin->first;
    const struct code_frame *place = origin->place == MAP_NONE ? NULL : &book->frames[origin->place];
    for (int with_file = 1; place && with_file >= 0; with_file--) {
        for (size_t i = 0; i < origin->depth; i++)
            if (is_same_place(&book->frames[frames[i]], place, with_file))
                return i;
    }
    return SIZE_MAX;
}

/* The index of the program's innermost frame in its stack; otherwise that of a line which Inductor generated,
 * or of any Python. SIZE_MAX: there is no Python frame. */
static size_t find_self(const struct code_book *book, const struct origin *origin)
{
    const uint32_t *frames = book->stack_frames + origin->first;
    size_t place = find_place(book, origin), innermost = SIZE_MAX;
    bool is_placed = place != SIZE_MAX && (book->frames[frames[place]].is_native ||
                                           is_programs(book, frames, origin->depth, place));
    for (size_t i = 0; !is_placed && place == SIZE_MAX && i < origin->depth; i++) {
        if (is_programs(book, frames, origin->depth, i))
            return i;
    }
    for (size_t i = 0; !is_placed && i < origin->depth; i++) {
        if (stack_lines_is_inductor(book->frames[frames[i]].file))
            return i;
    }
    for (size_t i = origin->depth; i-- > 0;)
        innermost = book->frames[frames[i]].is_native ? innermost : i;
    return place != SIZE_MAX ? place : innermost;
}

/* Of a stack without Python: the autograd node that ran, or NULL. */
static const char *find_node(const struct code_book *book, const struct stat *stat,
                             const struct origin *origin)
{
    bool is_engines = false; /* between two nodes, it adds gradients */
    for (size_t i = 0; i < origin->depth; i++) {
        const struct code_frame *frame = &book->frames[book->stack_frames[origin->first + i]];
        struct stack_frame native = {.kind = frame->is_native ? FRAME_NATIVE : FRAME_PYTHON,
                                     .name = {frame->name, strlen(frame->name)}};
        struct frame_text node = stack_lines_autograd(&native);
        is_engines |= stack_lines_is_autograd_engine(&native);
        if (!node.len)
            continue;
        char *text = xasprintf("(backward: %.*s)", (int)node.len, node.at);
        const char *label = stat_keep_some(stat, text);
        free(text);
        return label;
    }
    return is_engines ? "(backward: autograd engine)" : NULL;
}

/* The forward stack, with a marked place. */
static struct code_stack backward_stack(const struct code_book *book, const struct stat *stat,
                                        const struct origin *origin)
{
    struct code_stack stack = code_book_stack(book, stat, origin->of);
    stack.is_backward = true;
    stack.place = origin->place;
    return stack;
}

struct code_stack code_book_stack(const struct code_book *book, const struct stat *stat, uint32_t number)
{
    const struct origin *origin = &book->origins[number];
    if (origin->kind == ORIGIN_IS_BACKWARD)
        return backward_stack(book, stat, origin);
    struct code_stack stack = {.label = origin->label,
                               .frames = book->stack_frames ? book->stack_frames + origin->first : NULL,
                               .depth = origin->depth,
                               .place = origin->place,
                               .is_cut = origin->is_cut};
    if (origin->kind == ORIGIN_IS_THREAD) {
        uint8_t has = origin->of < book->thread_count ? book->thread_has_stacks[origin->of] : 0;
        bool has_others = origin->allocates ? has != 0 : has & THREAD_HAS_LAUNCHES;
        bool is_python_free = (book->has_stacks || origin->allocates) && !has_others;
        stack.label = book->origins[is_python_free ? ORIGIN_NO_PYTHON : ORIGIN_NOT_SAMPLED].label;
    }
    if (origin->kind == ORIGIN_IS_COMPILED)
        stack.self = origin->of;
    if (stack.label || origin->kind == ORIGIN_IS_COMPILED)
        return stack;
    size_t self = find_self(book, origin);
    bool has_python = (self != SIZE_MAX && !book->frames[stack.frames[self]].is_native) ||
                      (stack.place != MAP_NONE && !book->frames[stack.place].is_native);
    stack.self = self == SIZE_MAX ? 0 : self;
    const char *file = stack.place != MAP_NONE ? book->frames[stack.place].file : "";
    bool is_generated = self != SIZE_MAX && stack_lines_is_inductor(book->frames[stack.frames[self]].file);
    if (self != SIZE_MAX && (!*file || is_generated))
        stack.place = stack.frames[self];
    if (!has_python)
        stack.label = find_node(book, stat, origin);
    if (!stack.label && stack.place == MAP_NONE)
        stack.label = origin->depth ? "(no Python)" : "(unknown stack)";
    if (stack.label)
        stack.place = MAP_NONE;
    return stack;
}

char *code_place_text(const char *label, const struct code_frame *frame, enum stat_code_by by)
{
    if (label)
        return xstrdup(label);
    if (by == STAT_CODE_BY_LINE)
        return code_frame_place(frame);
    return code_frame_module(frame);
}

char *code_frame_place(const struct code_frame *frame)
{
    if (frame->is_native || !frame->line)
        return code_frame_module(frame);
    return xasprintf("%s:%u%s", frame->file, frame->line, frame->is_backward ? CODE_BACKWARD : "");
}

char *code_frame_module(const struct code_frame *frame)
{
    return xasprintf("%s%s", *frame->file ? frame->file : frame->name,
                     frame->is_backward ? CODE_BACKWARD : "");
}
