/* Folded stacks: a line of text each. */
#include "analysis/flame/flame.h"

#include "cli/util/xalloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct path {
    uint32_t *frames; /* outermost first */
    size_t depth, capacity;
};

static void find_path(const struct flame_tree *tree, uint32_t node, struct path *path)
{
    path->depth = 0;
    for (uint32_t at = node; at; at = tree->nodes[at].parent)
        path->depth++;
    path->frames = xgrow(path->frames, &path->capacity, path->depth + 1, sizeof *path->frames);
    for (size_t i = path->depth; node; node = tree->nodes[node].parent)
        path->frames[--i] = tree->nodes[node].frame;
}

static bool has_value(const struct flame_node *node)
{
    return node->self[FLAME_OLD] || node->self[FLAME_NEW];
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
        if (!has_value(node))
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
