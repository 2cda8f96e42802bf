/* Launches in files that Inductor generated: their origins get the line of the program. */
#include "cli/code/code_origins.h"
#include "cli/code/inductor.h"

#include <string.h>

struct resolving {
    struct code_book *book;
    const struct stat *stat;
    struct inductor *inductor;
    struct int_map known; /* frame of a launch → frame of the program; the former: there is none */
    size_t frame_count;   /* of spans */
};

/* As the agent shows the path: relative, if the spans have such a path that it ends with. */
static const char *shown_path(const struct resolving *r, const char *path)
{
    const char *longest = NULL;
    size_t len = strlen(path);
    for (size_t i = 0; *path == '/' && i < r->frame_count; i++) {
        const char *file = r->book->frames[i].file;
        size_t bytes = strlen(file);
        bool is_end = *file != '/' && bytes && bytes < len && path[len - bytes - 1] == '/' &&
                      strcmp(path + len - bytes, file) == 0;
        if (is_end && (!longest || bytes > strlen(longest)))
            longest = file;
    }
    return longest ? longest : path;
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
    struct resolving r = {.book = book, .stat = stat, .inductor = inductor, .frame_count = book->frame_count};
    for (uint32_t i = ORIGIN_FIRST_STACK; inductor_has_kernels(inductor) && i < book->origin_count; i++) {
        if (book->origins[i].kind == ORIGIN_IS_STACK && !book->origins[i].label)
            resolve(&r, i);
    }
    int_map_deinit(&r.known);
}
