/* Launches in files that Inductor generated: their origins get the line of the program. */
#include "base/hash.h"
#include "analysis/code/code_book.h"
#include "analysis/code/code_origins.h"
#include "analysis/code/inductor.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

struct root {
    const char *path;
    size_t len; /* with the slash at its end */
};

struct resolving {
    struct code_book *book;
    const struct stat *stat;
    struct inductor *inductor;
    struct int_map known; /* frame of a launch → frame of the program; the former: there is none */
    struct int_map files; /* hash of a relative path in spans → frame */
    struct root *roots;   /* directories that paths in spans are relative to */
    size_t root_count, root_capacity;
};

static void note_files(struct resolving *r)
{
    for (size_t i = 0; i < r->book->frame_count; i++) {
        const char *file = r->book->frames[i].file;
        if (*file && *file != '/' && !r->book->frames[i].is_native)
            int_map_set(&r->files, hash_text(HASH_START, file), (uint32_t)i);
    }
}

/* The directory above the longest relative path in spans that the path ends with. */
static struct root root_of(const struct resolving *r, const char *path)
{
    for (const char *slash = *path == '/' ? path : NULL; slash; slash = strchr(slash + 1, '/')) {
        uint32_t frame = int_map_get(&r->files, hash_text(HASH_START, slash + 1));
        if (frame != MAP_NONE && strcmp(r->book->frames[frame].file, slash + 1) == 0)
            return (struct root){path, (size_t)(slash + 1 - path)};
    }
    return (struct root){path, 0};
}

/* The shortest directory above the path: with "/work/train.py" and "/work/nets/model.py", a "model.py" in
 * spans is another file. */
static struct root above(const struct resolving *r, const char *path)
{
    struct root shortest = {path, 0};
    for (size_t i = 0; i < r->root_count; i++) {
        const struct root *root = &r->roots[i];
        if (strncmp(path, root->path, root->len) == 0 && (!shortest.len || root->len < shortest.len))
            shortest = *root;
    }
    return shortest;
}

static void note_roots(struct resolving *r)
{
    const char *path;
    for (size_t i = 0; (path = inductor_path(r->inductor, i)); i++) {
        struct root root = root_of(r, path), known = above(r, path);
        if (!root.len || (known.len && known.len <= root.len))
            continue;
        *XADD(r->roots, r->root_count, r->root_capacity) = root;
    }
}

/* As the agent shows the path. */
static const char *shown_path(const struct resolving *r, const char *path)
{
    return path + (stack_lines_is_library(path) ? root_of(r, path) : above(r, path)).len;
}

/* The number of the program's frame; that of the launch's frame if it is unknown. */
static uint32_t resolve_frame(struct resolving *r, uint32_t launch)
{
    uint32_t number = int_map_get(&r->known, launch);
    struct code_frame frame = r->book->frames[launch];
    struct inductor_place place;
    if (number != MAP_NONE)
        return number;
    number = launch;
    if (inductor_find(r->inductor, frame.file, frame.line, &place)) {
        const char *file = shown_path(r, place.file);
        frame = (struct code_frame){
            .file = code_origins_keep(r->stat, (struct frame_text){file, strlen(file)}),
            .name = code_origins_keep(r->stat, (struct frame_text){place.name, strlen(place.name)}),
            .line = place.line};
        number = code_origins_frame(r->book, &frame);
    }
    int_map_set(&r->known, launch, number);
    return number;
}

/* Compiled backward is called by a method of AOTAutograd. */
static bool is_backward(const struct code_frame *frame)
{
    const char *dot = strrchr(frame->name, '.'), *name = dot ? dot + 1 : frame->name;
    return strcmp(name, "backward") == 0 && strstr(frame->file, "torch/_functorch/");
}

static void resolve(struct resolving *r, uint32_t number)
{
    struct origin *origin = &r->book->origins[number];
    struct code_stack stack = code_book_stack(r->book, r->stat, number);
    size_t at = 0;
    while (at < stack.depth && !stack_lines_is_inductor(r->book->frames[stack.frames[at]].file))
        at++;
    /* The program's own code that generated code calls keeps its line. */
    if (stack.label || at == stack.depth || at > stack.self)
        return;
    uint32_t launch = stack.frames[at], frame = resolve_frame(r, launch);
    if (frame == launch)
        return;
    bool is_of_backward = false;
    for (size_t i = at; i < stack.depth; i++)
        is_of_backward |= is_backward(&r->book->frames[stack.frames[i]]);
    if (is_of_backward) {
        struct code_frame marked = r->book->frames[frame];
        marked.is_backward = true;
        frame = code_origins_frame(r->book, &marked);
    }
    origin->kind = ORIGIN_IS_COMPILED;
    origin->of = (uint32_t)at;
    origin->place = frame;
}

void code_book_resolve(struct code_book *book, const struct stat *stat, struct inductor *inductor)
{
    struct resolving r = {.book = book, .stat = stat, .inductor = inductor};
    if (!inductor_has_kernels(inductor))
        return;
    note_files(&r);
    note_roots(&r);
    for (uint32_t i = ORIGIN_FIRST_STACK; i < book->origin_count; i++) {
        if (book->origins[i].kind == ORIGIN_IS_STACK && !book->origins[i].label)
            resolve(&r, i);
    }
    int_map_deinit(&r.known);
    int_map_deinit(&r.files);
    free(r.roots);
}
