#include "cli/trace/trace_files.h"

#include "cli/util/xalloc.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void add(struct trace_files *files, char *path)
{
    files->paths = xgrow(files->paths, &files->capacity, files->count + 1, sizeof *files->paths);
    files->paths[files->count++] = path;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static enum status add_folder(struct trace_files *files, const char *path, struct error *err)
{
    struct dirent **entries = NULL;
    size_t before = files->count;
    int count = scandir(path, &entries, is_visible, alphasort);
    if (count < 0)
        return error_set(err, STATUS_IO, "%.400s: %s", path, strerror(errno));
    for (int i = 0; i < count; i++) {
        struct stat facts;
        char *file = xasprintf("%s/%s", path, entries[i]->d_name);
        if (stat(file, &facts) == 0 && !S_ISDIR(facts.st_mode))
            add(files, file);
        else
            free(file);
        free(entries[i]);
    }
    free(entries);
    if (files->count == before)
        return error_set(err, STATUS_NOT_FOUND, "%.400s: the folder contains no files", path);
    return STATUS_OK;
}

static enum status add_matches(struct trace_files *files, const char *pattern, struct error *err)
{
    glob_t matches;
    int result = glob(pattern, 0, NULL, &matches);
    if (result == GLOB_NOMATCH)
        return error_set(err, STATUS_NOT_FOUND, "%.400s: no file matches", pattern);
    if (result != 0)
        return error_set(err, STATUS_IO, "%.400s: cannot read a folder of it", pattern);
    for (size_t i = 0; i < matches.gl_pathc; i++)
        add(files, xstrdup(matches.gl_pathv[i]));
    globfree(&matches);
    return STATUS_OK;
}

enum status trace_files_add(struct trace_files *files, const char *path, struct error *err)
{
    struct stat facts;
    bool is_there = strcmp(path, "-") != 0 && stat(path, &facts) == 0;
    if (is_there && S_ISDIR(facts.st_mode))
        return add_folder(files, path, err);
    if (!is_there && strpbrk(path, "*?["))
        return add_matches(files, path, err);
    add(files, xstrdup(path)); /* opening it reports that it is missing */
    return STATUS_OK;
}

void trace_files_deinit(struct trace_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->paths[i]);
    free(files->paths);
    *files = (struct trace_files){0};
}
