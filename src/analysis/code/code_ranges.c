/* Origins that the NVTX ranges around a call tell: the forward line of a backward operator, and the line of
 * an operation of XLA. */
#include "base/hash.h"
#include "analysis/code/code_origins.h"
#include "analysis/code/range_lines.h"
#include "analysis/stat/base/places.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

#define XLA_FRAMES_MAX 64
#define PARENTS_MAX    256 /* further ones are ignored */

enum { KEY_OF_BACKWARD = 5, KEY_OF_XLA }; /* added to hashes, beside those of code_book.c */

/* The ranges around a span, innermost first. */
struct ranges {
    const struct trace_span *spans;
    uint32_t next, left; /* a span's number; how many may still be looked at */
};

static struct ranges ranges_of(const struct stat *stat, const struct trace_span *span)
{
    return (struct ranges){stat->trace->spans, span->parent, PARENTS_MAX};
}

/* NULL: there are no more. */
static const struct trace_span *next_range(struct ranges *ranges)
{
    while (ranges->next != TRACE_NONE && ranges->left) {
        const struct trace_span *span = &ranges->spans[ranges->next];
        ranges->next = span->parent;
        ranges->left--;
        if (span->class == CLASS_OTHER)
            return span;
    }
    return NULL;
}

/* --- forward and backward --- */

static bool is_in_backward(const struct stat *stat, const struct trace_span *span)
{
    struct ranges ranges = ranges_of(stat, span);
    for (const struct trace_span *range; (range = next_range(&ranges));) {
        if (stack_lines_autograd_range(trace_string(stat->trace, range->name)).len)
            return true;
    }
    return false;
}

static void note(struct code_book *book, const struct stat *stat, const struct trace_span *span,
                 uint64_t number, uint64_t start_ns, uint32_t origin)
{
    const struct forward_op op = {.number = number,
                                  .start_ns = start_ns,
                                  .process = places_process(stat->places, span),
                                  .thread = span->thread,
                                  .origin = origin};
    forward_lines_note(&book->forward, &op);
}

void code_ranges_learn(struct code_book *book, const struct stat *stat, const struct trace_span *span,
                       uint32_t origin)
{
    struct ranges ranges = ranges_of(stat, span);
    uint64_t number = 0, last = 0, start_ns = 0;
    bool is_open = false;
    if (span->thread == TRACE_NONE)
        return;
    if (span->class == CLASS_OTHER) {
        const char *name = trace_string(stat->trace, span->name);
        is_open = range_lines_sequence(name, &last) && !stack_lines_autograd_range(name).len;
        start_ns = span->start_ns;
        if (!is_open)
            return;
    }
    if (is_in_backward(stat, span))
        return;
    for (const struct trace_span *range; (range = next_range(&ranges));) {
        if (!range_lines_sequence(trace_string(stat->trace, range->name), &number))
            continue;
        if (is_open && number != last)
            note(book, stat, span, last, start_ns, origin);
        is_open = true;
        last = number;
        start_ns = range->start_ns;
    }
    if (is_open)
        note(book, stat, span, last, start_ns, origin);
}

static uint32_t backward_of(struct code_book *book, uint32_t forward)
{
    uint64_t key = int_map_mix(forward + 1ull) + KEY_OF_BACKWARD;
    uint32_t number = int_map_get(&book->by_key, key);
    if (number != MAP_NONE)
        return number;
    number = code_origins_add(book, NULL);
    if (number == ORIGIN_OTHERS)
        return number;
    struct code_frame place = book->frames[book->origins[forward].place];
    place.is_backward = true;
    struct origin *origin = &book->origins[number];
    origin->kind = ORIGIN_IS_BACKWARD;
    origin->of = forward;
    origin->place = code_origins_frame(book, &place);
    int_map_set(&book->by_key, key, number);
    return number;
}

static uint32_t labeled(struct code_book *book, const struct stat *stat, const char *what,
                        struct frame_text name)
{
    char *text = xasprintf("(%s: %.*s)", what, (int)name.len, name.at);
    uint32_t number = code_origins_labeled(book, stat, text);
    free(text);
    return number;
}

uint32_t code_ranges_node(struct code_book *book, const struct stat *stat, const struct trace_span *span,
                          bool by_name)
{
    struct ranges ranges = ranges_of(stat, span);
    struct frame_text node = {NULL, 0}, operation = {NULL, 0};
    uint64_t number;
    for (const struct trace_span *range; (range = next_range(&ranges));) {
        const char *name = trace_string(stat->trace, range->name);
        struct frame_text found = stack_lines_autograd_range(name);
        if (!operation.len)
            operation = range_lines_xla_operation(name);
        if (!found.len)
            continue;
        if (!node.len)
            node = found;
        uint32_t process = places_process(stat->places, range), forward = MAP_NONE;
        if (range_lines_sequence(name, &number))
            forward = forward_lines_find(&book->forward, process, number, range->start_ns);
        if (forward != MAP_NONE)
            return backward_of(book, forward);
    }
    if (by_name && node.len)
        return labeled(book, stat, "backward", node);
    return by_name && operation.len ? labeled(book, stat, "XLA", operation) : MAP_NONE;
}

/* --- XLA --- */

struct xla_stack {
    struct code_frame frames[XLA_FRAMES_MAX]; /* outermost first */
    size_t depth;
};

static const char *text_of(const struct stat *stat, const struct trace_span *span, enum stat_key key)
{
    const char *text = stat_attr(stat, span, key);
    return text ? text : "";
}

/* XLA escapes angle brackets: "[&lt;module&gt;]". */
static const char *keep_unescaped(const struct stat *stat, struct frame_text text)
{
    char *plain = xasprintf("%.*s", (int)text.len, text.at), *to = plain;
    for (const char *at = plain; *at; to++) {
        bool is_less = strncmp(at, "&lt;", 4) == 0, is_more = strncmp(at, "&gt;", 4) == 0;
        *to = is_less ? '<' : is_more ? '>' : *at;
        at += is_less || is_more ? 4 : 1;
    }
    const char *kept = code_origins_keep(stat, (struct frame_text){plain, (size_t)(to - plain)});
    free(plain);
    return kept;
}

static bool has_frame(const struct xla_stack *stack, const struct code_frame *wanted, const char **name)
{
    for (size_t i = stack->depth; i-- > 0;) {
        if (stack->frames[i].file != wanted->file || stack->frames[i].line != wanted->line)
            continue;
        *name = stack->frames[i].name;
        return true;
    }
    return false;
}

/* The call stack with the wanted frame, whose name it sets; otherwise the first one. */
static void read_stack(const struct stat *stat, const char *text, struct code_frame *wanted,
                       struct xla_stack *chosen)
{
    struct xla_stack stack = {.depth = 0};
    struct xla_frame frame;
    chosen->depth = 0;
    for (bool is_end = false; !is_end;) {
        is_end = !range_lines_next_xla(&text, &frame);
        bool is_whole = is_end || frame.depth <= stack.depth;
        if (is_whole && !chosen->depth)
            *chosen = stack;
        if (is_whole && *wanted->file && has_frame(&stack, wanted, &wanted->name)) {
            *chosen = stack;
            return;
        }
        if (is_end || frame.depth > XLA_FRAMES_MAX)
            continue;
        stack.depth = frame.depth - 1 < stack.depth ? frame.depth - 1 : stack.depth;
        stack.frames[stack.depth++] = (struct code_frame){.file = keep_unescaped(stat, frame.file),
                                                          .name = keep_unescaped(stat, frame.name),
                                                          .line = frame.line};
    }
}

static void describe(struct code_book *book, const struct stat *stat, const struct trace_span *range,
                     struct origin *origin)
{
    struct xla_stack stack;
    const char *file = text_of(stat, range, KEY_XLA_FILE);
    uint64_t line = stat_attr_int(stat, range, KEY_XLA_LINE, 0);
    struct code_frame place = {.file = code_origins_keep(stat, (struct frame_text){file, strlen(file)}),
                               .name = code_origins_keep(stat, (struct frame_text){"", 0}),
                               .line = line <= INT32_MAX ? (uint32_t)line : 0};
    read_stack(stat, text_of(stat, range, KEY_XLA_FRAMES), &place, &stack);
    for (size_t i = stack.depth; i-- > 0;)
        code_origins_push(book, origin, &stack.frames[i]);
    origin->is_cut = true; /* the frames that the whole module shares are missing */
    if (*file && (!stack.depth || !stack_lines_is_library(file)))
        origin->place = code_origins_frame(book, &place);
}

static uint32_t xla_of_range(struct code_book *book, const struct stat *stat, const struct trace_span *range)
{
    struct xla_frame frame;
    const char *frames = text_of(stat, range, KEY_XLA_FRAMES), *file = text_of(stat, range, KEY_XLA_FILE);
    const char *at = frames;
    if (!*file && !range_lines_next_xla(&at, &frame))
        return MAP_NONE;
    uint64_t key = hash_text(hash_text(HASH_START, frames), file);
    key = int_map_mix(int_map_mix(key) + stat_attr_int(stat, range, KEY_XLA_LINE, 0)) + KEY_OF_XLA;
    uint32_t number = int_map_get(&book->by_key, key);
    if (number != MAP_NONE)
        return number;
    number = code_origins_add(book, NULL);
    if (number == ORIGIN_OTHERS)
        return number;
    int_map_set(&book->by_key, key, number);
    describe(book, stat, range, &book->origins[number]);
    book->has_xla = true;
    return number;
}

uint32_t code_ranges_xla(struct code_book *book, const struct stat *stat, const struct trace_span *span)
{
    uint32_t number = MAP_NONE;
    if (!book->knows_xla)
        return MAP_NONE;
    struct ranges ranges = ranges_of(stat, span);
    for (const struct trace_span *range; number == MAP_NONE && (range = next_range(&ranges));)
        number = xla_of_range(book, stat, range);
    return number;
}
