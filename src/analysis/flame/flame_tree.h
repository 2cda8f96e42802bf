/* A tree of call stacks with a value at each, for flame graphs. The root stands for everything; its children
 * are the outermost frames, and the leaves are kernels, copies or calls. Two runs can be in one tree. */
#pragma once

#include "cli/util/int_map.h"

#include <stddef.h>
#include <stdint.h>

#define FLAME_NODES_MAX                                                                                      \
    (1u << 21) /* 48 bytes each, and a share of a map; beyond, outer frames get the value */
#define FLAME_NONE UINT32_MAX

enum flame_kind {
    FLAME_LABEL,   /* "(not sampled)" and so on */
    FLAME_PYTHON,  /* of the program */
    FLAME_LIBRARY, /* Python of a package or the interpreter */
    FLAME_NATIVE,
    FLAME_WORK, /* a kernel, a copy or a call: a leaf */
    FLAME_KINDS
};

struct flame_frame {
    enum flame_kind kind;
    const char *name; /* valid UTF-8 without control characters */
    const char *file; /* "": unknown; native: the module */
    uint32_t line;    /* 0: unknown */
};

enum { FLAME_OLD, FLAME_NEW, FLAME_RUNS }; /* a single run is FLAME_NEW */

struct flame_node {
    uint32_t frame; /* FLAME_NONE: the root */
    uint32_t parent, first_child, next_sibling;
    uint64_t self[FLAME_RUNS];
    uint64_t total[FLAME_RUNS]; /* once flame_tree_finish() was called */
};

struct flame_tree {
    struct flame_node *nodes; /* parents before their children; 0 is the root */
    size_t count, capacity;
    struct int_map children; /* parent and frame → node */
    struct flame_frame *frames;
    size_t frame_count, frame_capacity;
    struct int_map frame_numbers;
    struct flame_texts {
        char **list;
        size_t count, capacity;
        struct int_map numbers;
    } texts;
};

void flame_tree_init(struct flame_tree *tree);
void flame_tree_deinit(struct flame_tree *tree);

/* The number of the frame, whose texts are copied and made safe. */
uint32_t flame_tree_frame(struct flame_tree *tree, const struct flame_frame *frame);
/* Adds the value to the path below the root, outermost frame first. */
void flame_tree_add(struct flame_tree *tree, int run, const uint32_t *path, size_t depth, uint64_t value);
/* Sums up, and sorts siblings: largest first, then by name. */
void flame_tree_finish(struct flame_tree *tree);

/* Of both runs. */
static inline uint64_t flame_node_value(const struct flame_node *node)
{
    return node->total[FLAME_OLD] + node->total[FLAME_NEW];
}

/* "forward (train.py:88)", "at::add (libtorch.so)", or the name or the module alone. The caller frees it. */
char *flame_frame_text(const struct flame_frame *frame);

/* The next node in the order of a picture: a node, then its children. FLAME_NONE: the end. */
uint32_t flame_tree_next(const struct flame_tree *tree, uint32_t node);
