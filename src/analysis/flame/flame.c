#include "analysis/flame/flame.h"

#include "analysis/code/code_book.h"
#include "analysis/code/stack_lines.h"
#include "cli/util/text.h"
#include "analysis/stat/sections.h"
#include "cli/util/xalloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PAIRS_MAX (1u << 20) /* of an origin and a leaf; 40 bytes each; beyond, the leaf is "(other)" */

struct pair {
    uint32_t origin, name; /* a string of the trace; 0: "(other)" */
    uint64_t value;
};

struct reader {
    struct flame *flame;
    struct stat stat;
    struct int_map numbers;
    struct pair *pairs;
    size_t count, capacity;
};

const char *flame_value(const struct flame *flame, char *out, uint64_t value)
{
    if (flame->weight == FLAME_BYTES)
        return text_bytes(out, value);
    return flame->weight == FLAME_LAUNCHES ? text_count(out, value) : text_duration(out, value, true);
}

static void add(struct reader *reader, const struct trace_span *span, uint32_t name, uint64_t value)
{
    uint32_t origin = code_book_origin(reader->stat.code, &reader->stat, span);
    uint64_t key = (uint64_t)origin << 32 | name;
    if (reader->count >= PAIRS_MAX && int_map_get(&reader->numbers, key) == MAP_NONE) {
        key = (uint64_t)origin << 32;
        name = 0;
    }
    uint32_t number = int_map_number(&reader->numbers, key);
    if (number == reader->count)
        *XADD(reader->pairs, reader->count, reader->capacity) = (struct pair){origin, name, 0};
    reader->pairs[number].value += value;
}

/* The name of the launch's kernel, if its span is near. */
static uint32_t launched(const struct trace *trace, const struct trace_span *call)
{
    for (uint32_t at = call->first_child; at != TRACE_NONE; at = trace->spans[at].next_sibling) {
        if (trace_class_is_gpu(trace->spans[at].class))
            return trace->spans[at].name;
    }
    return call->name;
}

static void take_call(struct reader *reader, const struct trace_span *span)
{
    struct stat_call call = stat_call_of(&reader->stat, span);
    if (reader->flame->weight == FLAME_WAIT && code_call_waits(&call))
        add(reader, span, span->name, stat_duration(span));
    if (reader->flame->weight == FLAME_LAUNCHES && call.group == CALL_GROUP_LAUNCH)
        add(reader, span, launched(reader->stat.trace, span), 1);
}

static void take_work(struct reader *reader, const struct trace_span *span)
{
    if (reader->flame->weight == FLAME_GPU_TIME)
        add(reader, span, span->name, stat_duration(span));
    if (reader->flame->weight == FLAME_BYTES && span->class == CLASS_COPY)
        add(reader, span, span->name, stat_attr_int(&reader->stat, span, KEY_COPY_BYTES, 0));
}

static enum status take_segment(void *context, struct trace *segment, struct error *err)
{
    struct reader *reader = context;
    stat_learn(&reader->stat, segment);
    for (size_t i = 0; i < segment->span_count; i++) {
        const struct trace_span *span = &segment->spans[i];
        if (span->is_margin || stat_has(&reader->stat, span, KEY_STEP_COPIED))
            continue;
        if (span->class == CLASS_CALL)
            take_call(reader, span);
        else if (stat_is_work(&reader->stat, span))
            take_work(reader, span);
    }
    return STATUS_OK;
}

/* --- the tree --- */

struct path {
    uint32_t *frames; /* outermost first */
    size_t depth, capacity;
};

static void push(struct path *path, uint32_t frame)
{
    *XADD(path->frames, path->depth, path->capacity) = frame;
}

static void push_text(struct flame *flame, struct path *path, enum flame_kind kind, const char *text)
{
    struct flame_frame frame = {kind, text, "", 0};
    push(path, flame_tree_frame(&flame->tree, &frame));
}

static void push_frame(struct flame *flame, struct path *path, const struct code_frame *of)
{
    enum flame_kind kind = of->is_native                      ? FLAME_NATIVE
                           : stack_lines_is_library(of->file) ? FLAME_LIBRARY
                                                              : FLAME_PYTHON;
    struct flame_frame frame = {kind, of->name, of->file, flame->is_diff ? 0 : of->line};
    push(path, flame_tree_frame(&flame->tree, &frame));
}

/* From the outermost frame to the program's innermost one and beyond. */
static void push_stack(struct reader *reader, struct path *path, uint32_t origin)
{
    struct code_book *book = reader->stat.code;
    struct code_stack stack = code_book_stack(book, &reader->stat, origin);
    if (stack.is_backward)
        push_text(reader->flame, path, FLAME_LABEL, "(backward)");
    if (stack.label && !code_book_has_stacks(book))
        push_text(reader->flame, path, FLAME_LABEL, "(no stacks: set capture.launch_stacks)");
    else if (stack.label)
        push_text(reader->flame, path, FLAME_LABEL, stack.label);
    else if (!stack.depth || stack.is_cut)
        push_text(reader->flame, path, FLAME_LABEL, stack.depth ? "(more callers)" : "(unknown callers)");
    for (size_t i = stack.depth; i-- > 0;)
        push_frame(reader->flame, path, code_book_frame(book, stack.frames[i]));
    if (!stack.depth && !stack.label)
        push_frame(reader->flame, path, code_book_frame(book, stack.place));
}

static void build(struct reader *reader, int run)
{
    struct path path = {0};
    struct flame *flame = reader->flame;
    for (size_t i = 0; i < reader->count; i++) {
        const struct pair *pair = &reader->pairs[i];
        path.depth = 0;
        push_stack(reader, &path, pair->origin);
        push_text(flame, &path, FLAME_WORK,
                  pair->name ? trace_string(reader->stat.trace, pair->name) : "(other)");
        if (pair->value)
            flame_tree_add(&flame->tree, run, path.frames, path.depth, pair->value);
    }
    flame->has_stacks |= code_book_has_stacks(reader->stat.code);
    free(path.frames);
}

enum status flame_read(struct flame *flame, int run, const struct trace_input *input,
                       struct trace_facts *facts, struct error *err)
{
    struct reader reader = {.flame = flame};
    struct trace trace;
    stat_init(&reader.stat);
    enum status status = trace_read(input, &trace, take_segment, &reader, facts, err);
    if (status == STATUS_OK)
        build(&reader, run);
    free(reader.pairs);
    int_map_deinit(&reader.numbers);
    stat_deinit(&reader.stat);
    trace_deinit(&trace);
    return status;
}

/* --- folded stacks: a line of text each --- */

static void find_path(const struct flame_tree *tree, uint32_t node, struct path *path)
{
    path->depth = 0;
    for (uint32_t at = node; at; at = tree->nodes[at].parent)
        path->depth++;
    path->frames = xgrow(path->frames, &path->capacity, path->depth + 1, sizeof *path->frames);
    for (size_t i = path->depth; node; node = tree->nodes[node].parent)
        path->frames[--i] = tree->nodes[node].frame;
}

/* A semicolon separates frames, so a name may not have any. */
static void write_folded_frame(FILE *out, const struct flame_frame *frame)
{
    char *text = flame_frame_text(frame);
    for (const char *at = text; *at; at++)
        fputc(*at == ';' ? ',' : *at, out);
    free(text);
}

void flame_write_folded(FILE *out, const struct flame *flame)
{
    const struct flame_tree *tree = &flame->tree;
    struct path path = {0};
    for (uint32_t at = 0; at != FLAME_NONE; at = flame_tree_next(tree, at)) {
        const struct flame_node *node = &tree->nodes[at];
        if (!node->self[FLAME_OLD] && !node->self[FLAME_NEW])
            continue;
        find_path(tree, at, &path);
        for (size_t i = 0; i < path.depth; i++) {
            fputs(i ? ";" : "", out);
            write_folded_frame(out, &tree->frames[path.frames[i]]);
        }
        if (!path.depth)
            fputs("(other)", out);
        if (flame->is_diff)
            fprintf(out, " %" PRIu64, node->self[FLAME_OLD]);
        fprintf(out, " %" PRIu64 "\n", node->self[FLAME_NEW]);
    }
    free(path.frames);
}
