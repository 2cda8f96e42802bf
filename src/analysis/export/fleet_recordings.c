#include "analysis/export/fleet_recordings.h"

#include "analysis/trace/trace_files.h"
#include "analysis/trace/trace_source.h"
#include "cli/util/int_map.h"
#include "cli/util/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER     "recordings"
#define READ_WORDS 1024

static enum status complain(struct error *err, const char *path)
{
    return error_set(err, STATUS_IO, "%.400s: %s", path, strerror(errno));
}

static enum status hash_file(const char *path, uint64_t *hash, struct error *err)
{
    uint64_t words[READ_WORDS];
    FILE *file = fopen(path, "re");
    size_t got;
    if (!file)
        return complain(err, path);
    *hash = 0;
    do {
        memset(words, 0, sizeof words);
        got = fread(words, 1, sizeof words, file);
        for (size_t i = 0; i * sizeof *words < got; i++)
            *hash = int_map_mix(*hash ^ words[i]);
        *hash = int_map_mix(*hash + got);
    } while (got == sizeof words);
    enum status status = ferror(file) ? complain(err, path) : STATUS_OK;
    fclose(file);
    return status;
}

/* `mark`: the file that stands for the recording. */
static enum status check(const char *folder, const char *path, const char *mark, struct error *err)
{
    if (access(mark, F_OK) != 0)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID,
                     "%.200s is already in %.150s; a second export would give its spans new IDs and double "
                     "them",
                     path, folder);
}

static enum status note(const char *mark, struct error *err)
{
    int fd = open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return fd >= 0 && close(fd) == 0 ? STATUS_OK : complain(err, mark);
}

static enum status visit(const char *folder, const char *const *paths, size_t count, bool is_exported,
                         struct error *err)
{
    struct trace_files files = {0};
    enum status status = STATUS_OK;
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        status = trace_files_add(&files, paths[i], err);
    for (size_t i = 0; i < files.count && status == STATUS_OK; i++) {
        uint64_t hash = 0;
        if (!trace_source_is_recording(files.paths[i]))
            continue;
        status = hash_file(files.paths[i], &hash, err);
        if (status != STATUS_OK)
            break;
        char *mark = xasprintf("%s/" FOLDER "/%016" PRIx64, folder, hash);
        status = is_exported ? note(mark, err) : check(folder, files.paths[i], mark, err);
        free(mark);
    }
    trace_files_deinit(&files);
    return status;
}

enum status fleet_recordings_check(const char *folder, const char *const *paths, size_t count,
                                   struct error *err)
{
    return visit(folder, paths, count, false, err);
}

enum status fleet_recordings_note(const char *folder, const char *const *paths, size_t count,
                                  struct error *err)
{
    char *path = xasprintf("%s/" FOLDER, folder);
    enum status status = mkdir(path, 0700) == 0 || errno == EEXIST ? STATUS_OK : complain(err, path);
    free(path);
    return status == STATUS_OK ? visit(folder, paths, count, true, err) : status;
}
