/* Text formats: folded stacks, and speedscope's JSON. */
#include "cli/flame/flame.h"

#include "cli/util/text.h"
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

static void write_speedscope_frames(FILE *out, const struct flame_tree *tree)
{
    struct text text = {0};
    for (size_t i = 0; i < tree->frame_count; i++) {
        const struct flame_frame *frame = &tree->frames[i];
        text_clear(&text);
        text_add(&text, i ? ",\n{\"name\":" : "\n{\"name\":");
        text_add_json_string(&text, *frame->name ? frame->name : *frame->file ? frame->file : "?");
        if (*frame->file) {
            text_add(&text, ",\"file\":");
            text_add_json_string(&text, frame->file);
        }
        if (frame->line)
            text_add_format(&text, ",\"line\":%u", frame->line);
        text_add(&text, "}");
        fputs(text.data, out);
    }
    text_deinit(&text);
}

void flame_write_speedscope(FILE *out, const struct flame *flame)
{
    static const char *const names[] = {"GPU time", "waits for the GPU", "copied bytes", "launches"};
    static const char *const units[] = {"nanoseconds", "nanoseconds", "bytes", "none"};
    const struct flame_tree *tree = &flame->tree;
    struct path path = {0};
    struct text weights = {0};
    text_clear(&weights);
    fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"cuspan\",\n"
          "\"shared\":{\"frames\":[",
          out);
    write_speedscope_frames(out, tree);
    fprintf(out,
            "]},\n\"profiles\":[{\"type\":\"sampled\",\"name\":\"%s\",\"unit\":\"%s\",\"startValue\":0,"
            "\"endValue\":%" PRIu64 ",\n\"samples\":[",
            names[flame->weight], units[flame->weight], tree->nodes[0].total[FLAME_NEW]);
    bool is_first = true;
    for (uint32_t at = 0; at != FLAME_NONE; at = flame_tree_next(tree, at)) {
        if (!has_value(&tree->nodes[at]))
            continue;
        find_path(tree, at, &path);
        fputs(is_first ? "\n[" : ",\n[", out);
        for (size_t i = 0; i < path.depth; i++)
            fprintf(out, i ? ",%" PRIu32 : "%" PRIu32, path.frames[i]);
        fputs("]", out);
        text_add_format(&weights, is_first ? "%" PRIu64 : ",%" PRIu64, tree->nodes[at].self[FLAME_NEW]);
        is_first = false;
    }
    fprintf(out, "],\n\"weights\":[%s]}]}\n", weights.data);
    text_deinit(&weights);
    free(path.frames);
}
