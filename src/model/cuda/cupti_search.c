#include "model/cuda/cupti_search.h"

#include "base/files.h"
#include "base/process/variables.h"
#include "base/status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The agent's folder in cuspan's Python package (python/README.md). */
#define OWN_PACKAGE "/cuspan/native/lib/cuspan"

#define BESIDE_AGENT       "beside libcuspan.so"
#define BESIDE_PACKAGE     "a Python package beside cuspan"
#define LOADED             "loaded by the program"
#define BESIDE_LOADED      "beside a library of the program"
#define PACKAGE_OF_PROGRAM "a Python package of the program"
#define TOOLKIT            "the CUDA toolkit or the system"

/* open() there. Links of another process lead to its files, not to ours. */
static int open_there(const struct cupti_search *search, const char *path, int flags)
{
    struct open_how how = {.flags = (unsigned)(flags | O_CLOEXEC),
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    return search->view ? (int)syscall(SYS_openat2, search->view->root, path, &how, sizeof how)
                        : files_open(path, flags);
}

static bool has_file(const struct cupti_search *search, const char *path, struct stat *about)
{
    int file = search->view ? open_there(search, path, O_PATH) : -1;
    bool is_there = (search->view ? file >= 0 && fstat(file, about) == 0 : stat(path, about) == 0) &&
                    S_ISREG(about->st_mode);
    files_give_up(file);
    return is_there;
}

bool cupti_search_has(const struct cupti_view *view, const char *path)
{
    const struct cupti_search search = {.view = view};
    struct stat about;
    return has_file(&search, path, &about);
}

static const char *variable(const struct cupti_search *search, const char *name)
{
    return search->view ? search->view->variable(search->view->context, name) : variables_get(name);
}

static void add(struct cupti_search *search, const char *origin, const char *format, ...) PRINTF_LIKE(3, 4);
static void add(struct cupti_search *search, const char *origin, const char *format, ...)
{
    char path[CUPTI_PATH_MAX];
    struct stat about;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(path, sizeof path, format, args);
    va_end(args);
    if (length <= 0 || (size_t)length >= sizeof path || !has_file(search, path, &about))
        return;
    for (size_t i = 0; i < search->count; i++)
        if (search->found[i].inode == about.st_ino && search->found[i].device == about.st_dev)
            return;
    if (search->count == CUPTI_CANDIDATES_MAX) {
        search->left_out++;
        return;
    }
    struct cupti_candidate *candidate = &search->found[search->count++];
    *candidate = (struct cupti_candidate){.origin = origin, .device = about.st_dev, .inode = about.st_ino};
    memcpy(candidate->path, path, (size_t)length + 1);
}

static void add_folder(struct cupti_search *search, const char *origin, const char *folder, int length)
{
    add(search, origin, "%.*s/libcupti.so.13", length, folder);
    add(search, origin, "%.*s/libcupti.so.12", length, folder);
}

/* Adds the CUPTIs in `root`, a folder of Python packages. nvidia-cuda-cupti has the first path,
 * nvidia-cuda-cupti-cu12 the second. */
static void add_packages(struct cupti_search *search, const char *origin, const char *root, size_t length)
{
    if (strlen(search->last_root) == length && strncmp(search->last_root, root, length) == 0)
        return;
    if (length < sizeof search->last_root) {
        memcpy(search->last_root, root, length);
        search->last_root[length] = '\0';
    }
    add(search, origin, "%.*s/nvidia/cu13/lib/libcupti.so.13", (int)length, root);
    add(search, origin, "%.*s/nvidia/cuda_cupti/lib/libcupti.so.12", (int)length, root);
}

static void add_own_packages(struct cupti_search *search, const char *folder)
{
    size_t length = strlen(folder), tail = strlen(OWN_PACKAGE);
    if (length > tail && strcmp(folder + length - tail, OWN_PACKAGE) == 0)
        add_packages(search, BESIDE_PACKAGE, folder, length - tail);
}

/* Returns the length of `path` without its last `count` components; 0: it has fewer. */
static size_t without_last(const char *path, size_t length, int count)
{
    while (count > 0 && length > 0)
        count -= path[--length] == '/';
    return count ? 0 : length;
}

/* Returns the length of `path` up to and including the last `part` in it; 0: `part` is not in it. */
static size_t through(const char *path, const char *part)
{
    size_t length = 0;
    for (const char *at = path; (at = strstr(at, part)); at++)
        length = (size_t)(at - path) + strlen(part);
    return length;
}

/* Returns the length of the folder of packages to which a loaded library belongs; 0: none. `folder_length` is
 * the length of the library's folder. */
static size_t root_of_library(const char *path, size_t folder_length)
{
    const char *file = path + folder_length + 1;
    size_t nvidia = without_last(path, folder_length, 2); /* ROOT/nvidia/cublas/lib */
    if (nvidia >= 7 && strncmp(path + nvidia - 7, "/nvidia", 7) == 0 &&
        strncmp(path + folder_length - 4, "/lib", 4) == 0)
        return nvidia - 7;
    if (strncmp(file, "libtorch_cuda.so", 16) == 0) /* ROOT/torch/lib */
        return without_last(path, folder_length, 2);
    size_t site = through(path, "/site-packages/"), dist = through(path, "/dist-packages/");
    size_t longer = site > dist ? site : dist;
    return longer ? longer - 1 : 0;
}

/* Notes the interpreter's PREFIX if the library is one of its own modules, in
 * PREFIX/lib/python3.12/lib-dynload. */
static void note_base_prefix(struct cupti_search *search, const char *path, size_t folder_length)
{
    static const char dynload[] = "/lib-dynload";
    size_t tail = sizeof dynload - 1;
    if (folder_length <= tail || strncmp(path + folder_length - tail, dynload, tail) != 0)
        return;
    size_t length = without_last(path, folder_length, 3);
    if (length < sizeof search->base_prefix) {
        memcpy(search->base_prefix, path, length);
        search->base_prefix[length] = '\0';
    }
}

static void visit_library(struct cupti_search *search, const char *path)
{
    const char *name = strrchr(path, '/');
    if (!name || name == path)
        return;
    size_t folder_length = (size_t)(name - path);
    if (strncmp(name, "/libcupti.so", 12) == 0)
        add(search, LOADED, "%s", path);
    if (strncmp(name, "/libcudart.so", 13) == 0) {
        add_folder(search, BESIDE_LOADED, path, (int)folder_length);
        add(search, BESIDE_LOADED, "%.*s/../extras/CUPTI/lib64/libcupti.so", (int)folder_length, path);
    }
    size_t root = root_of_library(path, folder_length);
    if (root)
        add_packages(search, PACKAGE_OF_PROGRAM, path, root);
    note_base_prefix(search, path, folder_length);
}

static int visit_loaded_library(struct dl_phdr_info *info, size_t size, void *context)
{
    visit_library(context, info->dlpi_name);
    return 0;
}

/* Adds PREFIX/LIB/python3.12/site-packages, or Debian's dist-packages, for every version. */
static void add_versions(struct cupti_search *search, const char *prefix, const char *lib)
{
    char folder[CUPTI_PATH_MAX];
    const struct dirent *entry;
    if (snprintf(folder, sizeof folder, "%s/%s", prefix, lib) >= (int)sizeof folder)
        return;
    int number = open_there(search, folder, O_RDONLY | O_DIRECTORY);
    DIR *directory = number >= 0 ? fdopendir(number) : NULL;
    while (directory && (entry = readdir(directory))) {
        char root[2 * CUPTI_PATH_MAX];
        static const char *const kinds[] = {"site-packages", "dist-packages"};
        for (size_t i = 0; strncmp(entry->d_name, "python3", 7) == 0 && i < 2; i++) {
            int length = snprintf(root, sizeof root, "%s/%s/%s", folder, entry->d_name, kinds[i]);
            if (length < (int)sizeof root)
                add_packages(search, PACKAGE_OF_PROGRAM, root, (size_t)length);
        }
    }
    if (directory)
        closedir(directory);
}

/* Adds the packages of a Python environment: of venv, conda (which also has CUDA libraries in lib), or the
 * system. */
static void add_prefix(struct cupti_search *search, const char *prefix)
{
    char lib[CUPTI_PATH_MAX];
    int length = snprintf(lib, sizeof lib, "%s/lib", prefix);
    if (length >= (int)sizeof lib)
        return;
    add_versions(search, prefix, "lib");
    add_versions(search, prefix, "lib64");
    add_folder(search, PACKAGE_OF_PROGRAM, lib, length);
    if (strcmp(prefix, "/usr") == 0)
        add_versions(search, "/usr/local", "lib");
}

/* Finds the file that execvp() would run for `name`. False: there is none. */
static bool find_in_path(const struct cupti_search *search, const char *name, char path[CUPTI_PATH_MAX])
{
    struct stat about;
    const char *folders = variable(search, "PATH");
    for (const char *at = folders ? folders : ""; *at; at += *at == ':') {
        int length = (int)strcspn(at, ":");
        if (snprintf(path, CUPTI_PATH_MAX, "%.*s/%s", length, at, name) < CUPTI_PATH_MAX && length > 0 &&
            (search->view ? has_file(search, path, &about) : access(path, X_OK) == 0))
            return true;
        at += length;
    }
    return false;
}

/* Adds the Python environment of the program, the parent of argv[0]'s folder. In a virtual environment
 * argv[0] is a link, whose target is in another environment. */
static void add_prefix_of_program(struct cupti_search *search)
{
    char path[CUPTI_PATH_MAX], folder[CUPTI_PATH_MAX];
    const char *name = search->view ? search->view->program : program_invocation_name;
    if (strchr(name, '/'))
        snprintf(path, sizeof path, "%s", name);
    else if (!*name || !find_in_path(search, name, path))
        return;
    char *slash = strrchr(path, '/');
    if (!slash || snprintf(folder, sizeof folder, "%.*s/..", (int)(slash - path), path) >= (int)sizeof folder)
        return;
    char *prefix = search->view ? strndup(path, without_last(path, strlen(path), 2)) : realpath(folder, NULL);
    if (prefix)
        add_prefix(search, prefix);
    free(prefix);
}

/* Adds the program's Python environment. argv[0] and the environment variables are the caller's, so they must
 * not choose a library for a program that runs with another user's rights. */
static void add_environment(struct cupti_search *search)
{
    static const char *const variables[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
    if (!search->view && getauxval(AT_SECURE))
        return;
    add_prefix_of_program(search);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *prefix = variable(search, variables[i]);
        if (prefix && *prefix == '/')
            add_prefix(search, prefix);
    }
}

void cupti_search(const char *self_env_folder, const struct cupti_view *view, struct cupti_search *search)
{
    static const char *const toolkits[] = {"/usr/local/cuda/extras/CUPTI/lib64",
                                           "/usr/local/cuda/lib64",
                                           "/usr/local/cuda/targets/x86_64-linux/lib",
                                           "/usr/local/cuda/targets/sbsa-linux/lib",
                                           "/usr/lib/x86_64-linux-gnu",
                                           "/usr/lib/aarch64-linux-gnu"};
    char shipped[CUPTI_PATH_MAX];
    int length = snprintf(shipped, sizeof shipped, "%s/cupti", self_env_folder);
    memset(search, 0, sizeof *search);
    search->view = view;
    if (length < (int)sizeof shipped)
        add_folder(search, BESIDE_AGENT, shipped, length);
    add_own_packages(search, self_env_folder);
    const char *path;
    for (size_t i = 0; view && (path = view->library(view->context, i)); i++)
        visit_library(search, path);
    if (!view)
        dl_iterate_phdr(visit_loaded_library, search);
    add_environment(search);
    if (*search->base_prefix)
        add_prefix(search, search->base_prefix);
    for (size_t i = 0; i < sizeof toolkits / sizeof *toolkits; i++)
        add_folder(search, TOOLKIT, toolkits[i], (int)strlen(toolkits[i]));
}
