#include "analysis/trace/trace_files.h"

#include "cli/util/xalloc.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void add(struct trace_files *files, char *path)
{
    *XADD(files->paths, files->count, files->capacity) = path;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* A file that was found rather than named. */
static void add_found(struct trace_files *files, const char *path, mode_t mode)
{
    if (S_ISREG(mode))
        add(files, xstrdup(path));
    else
        trace_note_add(&files->left_out, "%s: it is a %s, not a file", path,
                       S_ISFIFO(mode)   ? "named pipe"
                       : S_ISSOCK(mode) ? "socket"
                                        : "device");
}

static enum status complain_no_files(const char *path, bool has_folders, struct error *err)
{
    char *marker = xasprintf("%s/cuspan-schema.json", path); /* export/fleet_writer.c */
    bool is_fleet = access(marker, F_OK) == 0;
    free(marker);
    if (is_fleet)
        return error_set(
            err, STATUS_INVALID,
            "%.200s: it is a folder of cuspan export, with Parquet files; ask cuspan fleet, as in "
            "cuspan fleet kernels %.200s",
            path, path);
    if (has_folders)
        return error_set(err, STATUS_NOT_FOUND,
                         "%.200s: the folder contains only folders; name them, as in %.200s/*", path, path);
    return error_set(err, STATUS_NOT_FOUND, "%.400s: the folder contains no files", path);
}

static enum status add_folder(struct trace_files *files, const char *path, struct error *err)
{
    struct dirent **entries = NULL;
    size_t before = files->count;
    bool has_folders = false;
    int count = scandir(path, &entries, is_visible, alphasort);
    if (count < 0)
        return error_set(err, STATUS_IO, "%.400s: %s", path, strerror(errno));
    for (int i = 0; i < count; i++) {
        struct stat facts;
        char *file = xasprintf("%s/%s", path, entries[i]->d_name);
        if (stat(file, &facts) != 0)
            trace_note_add(&files->left_out, "%s: %s", file, strerror(errno)); /* a link to nothing */
        else if (S_ISDIR(facts.st_mode))
            has_folders = true;
        else if (strcmp(entries[i]->d_name, "cuspan-schema.json") != 0)
            add_found(files, file, facts.st_mode);
        free(file);
        free(entries[i]);
    }
    free(entries);
    return files->count > before ? STATUS_OK : complain_no_files(path, has_folders, err);
}

static __thread struct trace_note *unreadable; /* of the pattern that glob() follows */

static int note_unreadable(const char *path, int error)
{
    if (error != ENOENT)
        trace_note_add(unreadable, "%s: %s", path, strerror(error));
    return 0;
}

static enum status add_match(struct trace_files *files, const char *path, struct error *err)
{
    struct stat facts;
    enum status status = STATUS_OK;
    if (stat(path, &facts) != 0)
        add(files, xstrdup(path)); /* opening it reports that it is missing */
    else if (S_ISDIR(facts.st_mode))
        status = add_folder(files, path, err);
    else
        add_found(files, path, facts.st_mode);
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

static enum status add_matches(struct trace_files *files, const char *pattern, struct error *err)
{
    glob_t matches;
    size_t before = files->count;
    struct trace_note missing = {0};
    unreadable = &missing;
    int result = glob(pattern, 0, note_unreadable, &matches);
    if (result == GLOB_NOMATCH && missing.count)
        return error_set(err, STATUS_IO, "%.200s: no file matches; cannot read %.250s", pattern,
                         missing.first);
    if (result == GLOB_NOMATCH)
        return error_set(err, STATUS_NOT_FOUND, "%.400s: no file matches", pattern);
    if (result != 0)
        return error_set(err, STATUS_IO, "%.400s: cannot read a folder of it", pattern);
    enum status status = STATUS_OK;
    for (size_t i = 0; i < matches.gl_pathc && status == STATUS_OK; i++)
        status = add_match(files, matches.gl_pathv[i], err);
    globfree(&matches);
    if (missing.count)
        trace_note_add(&files->left_out, "%s", missing.first);
    if (status == STATUS_OK && files->count == before)
        return error_set(err, STATUS_NOT_FOUND,
                         "%.400s: no file matches, only folders without files, pipes or devices", pattern);
    return status;
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
