#include "analysis/flame/flame_tree.h"

#include "base/hash.h"
#include "cli/util/sort.h"
#include "cli/util/text.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

static uint32_t add_node(struct flame_tree *tree, uint32_t parent, uint32_t frame)
{
    *XADD(tree->nodes, tree->count, tree->capacity) = (struct flame_node){
        .frame = frame, .parent = parent, .first_child = FLAME_NONE, .next_sibling = FLAME_NONE};
    return (uint32_t)tree->count - 1;
}

void flame_tree_init(struct flame_tree *tree)
{
    *tree = (struct flame_tree){0};
    add_node(tree, FLAME_NONE, FLAME_NONE);
}

void flame_tree_deinit(struct flame_tree *tree)
{
    for (size_t i = 0; i < tree->texts.count; i++)
        free(tree->texts.list[i]);
    free(tree->texts.list);
    free(tree->nodes);
    free(tree->frames);
    int_map_deinit(&tree->children);
    int_map_deinit(&tree->frame_numbers);
    int_map_deinit(&tree->texts.numbers);
    *tree = (struct flame_tree){0};
}

/* --- frames --- */

/* XML and JSON cannot represent all characters, and some change the direction of writing. */
static bool is_harmless(uint32_t code)
{
    bool is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    bool is_direction = (code >= 0x200e && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
                        (code >= 0x2066 && code <= 0x2069);
    bool is_no_character = (code & 0xfffe) == 0xfffe || (code >= 0xfdd0 && code <= 0xfdef);
    return !is_control && !is_direction && !is_no_character;
}

static void add_clean(struct text *clean, const char *text)
{
    while (*text) {
        const char *before = text;
        uint32_t code = text_next_char(&text);
        if (code == 0xfffd)
            text_add(clean, "\xef\xbf\xbd"); /* also for invalid bytes */
        else if (is_harmless(code))
            text_add_bytes(clean, before, (size_t)(text - before));
        else
            text_add(clean, "?");
    }
}

/* Equal texts are the same pointer. */
static const char *keep(struct flame_texts *texts, const char *text)
{
    struct text clean = {0};
    text_clear(&clean);
    add_clean(&clean, text);
    uint64_t key = int_map_mix(hash_text(HASH_START, clean.data));
    uint32_t number;
    while ((number = int_map_get(&texts->numbers, key)) != MAP_NONE &&
           strcmp(texts->list[number], clean.data) != 0)
        key++;
    if (number != MAP_NONE) {
        text_deinit(&clean);
        return texts->list[number];
    }
    int_map_set(&texts->numbers, key, (uint32_t)texts->count);
    return *XADD(texts->list, texts->count, texts->capacity) = clean.data;
}

uint32_t flame_tree_frame(struct flame_tree *tree, const struct flame_frame *frame)
{
    struct flame_frame own = {frame->kind, keep(&tree->texts, frame->name), keep(&tree->texts, frame->file),
                              frame->line};
    uint64_t key = int_map_mix((uint64_t)(uintptr_t)own.name) ^ (uint64_t)(uintptr_t)own.file;
    key = int_map_mix(key) + ((uint64_t)own.line << 4 | own.kind);
    uint32_t number;
    while ((number = int_map_get(&tree->frame_numbers, key)) != MAP_NONE) {
        const struct flame_frame *known = &tree->frames[number];
        if (known->name == own.name && known->file == own.file && known->line == own.line &&
            known->kind == own.kind)
            return number;
        key++;
    }
    int_map_set(&tree->frame_numbers, key, (uint32_t)tree->frame_count);
    *XADD(tree->frames, tree->frame_count, tree->frame_capacity) = own;
    return (uint32_t)tree->frame_count - 1;
}

/* Of an installed package: the path below the folder of packages. */
static const char *short_path(const char *file)
{
    static const char *const folders[] = {"/site-packages/", "/dist-packages/"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const char *at = strstr(file, folders[i]);
        if (at)
            return at + strlen(folders[i]);
    }
    return file;
}

char *flame_frame_text(const struct flame_frame *frame)
{
    const char *file = short_path(frame->file);
    if (!*frame->name)
        return xstrdup(*file ? file : "?");
    if (!*file)
        return xstrdup(frame->name);
    if (frame->line)
        return xasprintf("%s (%s:%u)", frame->name, file, frame->line);
    return xasprintf("%s (%s)", frame->name, file);
}

/* --- nodes --- */

void flame_tree_add(struct flame_tree *tree, int run, const uint32_t *path, size_t depth, uint64_t value)
{
    uint32_t at = 0;
    for (size_t i = 0; i < depth; i++) {
        uint64_t key = (uint64_t)at << 32 | path[i];
        uint32_t child = int_map_get(&tree->children, key);
        if (child == MAP_NONE && tree->count >= FLAME_NODES_MAX)
            break;
        if (child == MAP_NONE) {
            child = add_node(tree, at, path[i]);
            int_map_set(&tree->children, key, child);
        }
        at = child;
    }
    tree->nodes[at].self[run] += value;
}

static const struct flame_tree *sorted_tree; /* qsort takes no context; this program has one thread here */

static int compare_nodes(const void *a, const void *b)
{
    const struct flame_node *x = &sorted_tree->nodes[*(const uint32_t *)a];
    const struct flame_node *y = &sorted_tree->nodes[*(const uint32_t *)b];
    const struct flame_frame *p = &sorted_tree->frames[x->frame], *q = &sorted_tree->frames[y->frame];
    int order = ORDER(flame_node_value(y), flame_node_value(x));
    order = order ? order : strcmp(p->name, q->name);
    order = order ? order : strcmp(p->file, q->file);
    order = order ? order : ORDER(p->line, q->line);
    return order ? order : ORDER(p->kind, q->kind);
}

void flame_tree_finish(struct flame_tree *tree)
{
    size_t count = tree->count;
    uint32_t *order = xcalloc(count, sizeof *order);
    for (size_t i = count; i-- > 0;) {
        struct flame_node *node = &tree->nodes[i];
        for (int run = 0; run < FLAME_RUNS; run++) {
            node->total[run] += node->self[run];
            if (i)
                tree->nodes[node->parent].total[run] += node->total[run];
        }
    }
    for (size_t i = 1; i < count; i++)
        order[i - 1] = (uint32_t)i;
    sorted_tree = tree;
    sort_array(order, count - 1, sizeof *order, compare_nodes);
    for (size_t i = count - 1; i-- > 0;) { /* the last one first: each becomes its parent's first child */
        struct flame_node *node = &tree->nodes[order[i]];
        node->next_sibling = tree->nodes[node->parent].first_child;
        tree->nodes[node->parent].first_child = order[i];
    }
    free(order);
}

uint32_t flame_tree_next(const struct flame_tree *tree, uint32_t node)
{
    if (tree->nodes[node].first_child != FLAME_NONE)
        return tree->nodes[node].first_child;
    while (node != FLAME_NONE && tree->nodes[node].next_sibling == FLAME_NONE)
        node = tree->nodes[node].parent;
    return node == FLAME_NONE ? FLAME_NONE : tree->nodes[node].next_sibling;
}
