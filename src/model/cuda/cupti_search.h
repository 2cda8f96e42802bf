/* Searches for CUPTI: lists the files that exist, from the best place first. It loads nothing.
 *
 * The driver loads the agent in cuInit. PyTorch has loaded its CUDA libraries by then. JAX and CuPy load
 * theirs later, but some extension module of a Python package is always loaded, and its folder leads to the
 * others. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CUPTI_CANDIDATES_MAX 32
#define CUPTI_PATH_MAX       512

struct cupti_candidate {
    char path[CUPTI_PATH_MAX];
    const char *origin; /* a phrase for messages: "beside libcuspan.so" */
    dev_t device;       /* with `inode`, identifies a file that has two paths */
    ino_t inode;
};

/* Another process, whose paths are below its root directory. */
struct cupti_view {
    int root;
    const char *program; /* its argv[0] */
    const char *(*variable)(void *context, const char *name);
    const char *(*library)(void *context, size_t number); /* the path of a loaded one; NULL: no more */
    void *context;
};

struct cupti_search {
    const struct cupti_view *view; /* NULL: this process */
    size_t count;
    size_t left_out; /* existing files that did not fit */
    struct cupti_candidate found[CUPTI_CANDIDATES_MAX];
    char last_root[CUPTI_PATH_MAX];   /* the last folder of packages that was searched, mostly also the next
                                         library's */
    char base_prefix[CUPTI_PATH_MAX]; /* of the Python interpreter in this process; empty: none */
};

/* Whether a view has a file at this path. */
bool cupti_search_has(const struct cupti_view *view, const char *path);

/* Fills `search`, for a view or NULL, in this order: `self_env_folder`/cupti, the Python packages beside
 * cuspan's own, the folders of loaded libraries, the program's Python environment, and the toolkit. */
void cupti_search(const char *self_env_folder, const struct cupti_view *view, struct cupti_search *search);
