#include "agent/capture/stacks/code_paths.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

struct text {
    const char *at;
    size_t bytes;
};

static struct {
    bool is_full;
    char folder[PATH_MAX + 1]; /* ends with a slash; empty: unknown */
    size_t folder_bytes;
} paths;

void code_paths_start(bool full)
{
    paths.is_full = full;
    paths.folder_bytes = 0;
    if (!getcwd(paths.folder, PATH_MAX))
        return;
    paths.folder_bytes = strlen(paths.folder);
    if (paths.folder[paths.folder_bytes - 1] != '/')
        paths.folder[paths.folder_bytes++] = '/';
}

static bool begins_with(struct text text, const char *start, size_t bytes)
{
    return bytes && text.bytes >= bytes && memcmp(text.at, start, bytes) == 0;
}

/* Returns the part from the last `folder` in the path on, without its first slash; empty: `folder` is not in
 * it. */
static struct text from(struct text path, const char *folder)
{
    size_t bytes = strlen(folder);
    for (size_t i = path.bytes; i-- > 0;)
        if (path.at[i] == *folder && path.bytes - i > bytes && memcmp(path.at + i, folder, bytes) == 0)
            return (struct text){path.at + i + 1, path.bytes - i - 1};
    return (struct text){NULL, 0};
}

/* Returns the path from the folder of installed packages, the standard library ("lib/python3.12/"), PyTorch's
 * compiler or cuspan's own archive on; empty: it is in none of them. */
static struct text in_library(struct text path)
{
    static const char *const folders[] = {"/site-packages/", "/dist-packages/", "/lib/python3.",
                                          "/torchinductor_", "/python.zip/"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        struct text rest = from(path, folders[i]);
        if (rest.bytes)
            return rest;
    }
    return (struct text){NULL, 0};
}

/* Whether the path stands for code that a person typed into an interpreter. */
static bool is_typed(struct text path)
{
    static const char *const names[] = {"<stdin>", "<console>", "<ipython-input-", "<python-input-"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (begins_with(path, names[i], strlen(names[i])))
            return true;
    return false;
}

struct code_path code_path_of(const char *at, size_t bytes)
{
    struct text path = {at, bytes}, library = in_library(path), shown = path, name = from(path, "/");
    if (paths.is_full)
        shown = path;
    else if (library.bytes)
        shown = library;
    else if (begins_with(path, paths.folder, paths.folder_bytes))
        shown = (struct text){at + paths.folder_bytes, bytes - paths.folder_bytes};
    else if (bytes && *at == '/' && name.bytes)
        shown = name;
    bool is_frozen = begins_with(path, "<frozen ", 8);
    return (struct code_path){
        .shown = shown.at,
        .bytes = shown.bytes,
        .is_programs = bytes && !library.bytes && !is_frozen,
        .is_callers = bytes && *at == '<' && !is_frozen && !is_typed(path),
    };
}
