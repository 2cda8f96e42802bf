#include "agent/export/spool/spool_files.h"

#include "base/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROBES_MAX 4096 /* of names, before the directory is searched */

int spool_files_open_folder(const char *path, bool make, struct error *err)
{
    struct stat facts;
    bool is_there = !make || mkdir(path, 0700) == 0 || errno == EEXIST;
    int folder = is_there ? files_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW) : -1;
    if (folder < 0 || fstat(folder, &facts) != 0) {
        bool may_be_link = is_there && (errno == ENOTDIR || errno == ELOOP);
        error_set(err, STATUS_UNAVAILABLE,
                  "the spool directory %.300s cannot be %s (%m%s); check spool.directory", path,
                  is_there ? "opened" : "created",
                  may_be_link ? ", or a symbolic link, which is not followed" : "");
    } else if (facts.st_uid != geteuid()) {
        error_set(
            err, STATUS_UNAVAILABLE,
            "the spool directory %.300s belongs to another user; set spool.directory to one of your own",
            path);
    } else if (facts.st_mode & (S_IWGRP | S_IWOTH)) {
        error_set(err, STATUS_UNAVAILABLE,
                  "the spool directory %.300s is writable by others; run chmod go-w on it", path);
    } else {
        return folder;
    }
    files_give_up(folder);
    return -1;
}

static int compare_sources(const void *a, const void *b)
{
    return strcmp(((const struct spool_found_source *)a)->name, ((const struct spool_found_source *)b)->name);
}

/* Joins the entries of each source, and keeps the oldest sources. */
static void compact(struct spool_list *list)
{
    size_t kept = 0;
    if (list->count > 0)
        qsort(list->sources, list->count, sizeof *list->sources, compare_sources);
    for (size_t i = 0; i < list->count; i++) {
        struct spool_found_source *last = list->sources + (kept ? kept - 1 : 0), *entry = list->sources + i;
        if (kept == 0 || strcmp(last->name, entry->name) != 0) {
            list->sources[kept++] = *entry;
            continue;
        }
        last->bytes += entry->bytes;
        last->last_segment =
            last->last_segment > entry->last_segment ? last->last_segment : entry->last_segment;
    }
    list->has_more |= kept > SPOOL_LIST_MAX;
    list->count = kept < SPOOL_LIST_MAX ? kept : SPOOL_LIST_MAX;
}

static bool make_room(struct spool_list *list, size_t *capacity)
{
    if (list->count == 2 * SPOOL_LIST_MAX)
        compact(list);
    if (list->count < *capacity)
        return true;
    size_t wanted = *capacity ? 2 * *capacity : 64;
    struct spool_found_source *more = realloc(list->sources, wanted * sizeof *list->sources);
    if (!more)
        return false;
    list->sources = more;
    *capacity = wanted;
    return true;
}
_Static_assert((2 * SPOOL_LIST_MAX & (2 * SPOOL_LIST_MAX - 1)) == 0, "make_room() doubles up to the maximum");

/* One entry for each file. After the list was cut, names behind its end are left out. */
enum status spool_files_list(int folder, const char *after, struct spool_list *list)
{
    struct dirent *entry;
    struct spool_found_source found;
    struct stat facts;
    size_t capacity = 0;
    enum status status = STATUS_OK;
    *list = (struct spool_list){0};
    DIR *entries = files_open_folder_at(folder, "."); /* duplicates of a descriptor share its position */
    if (!entries)
        return STATUS_IO;
    while (status == STATUS_OK && (entry = readdir(entries))) {
        uint32_t *segment = &found.last_segment;
        if (!spool_format_parse_name(entry->d_name, found.name, &found.output, segment) ||
            fstatat(folder, entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(facts.st_mode))
            continue;
        found.bytes = *segment ? (uint64_t)facts.st_size : 0;
        list->bytes += found.bytes;
        if (strcmp(found.name, after) <= 0 ||
            (list->has_more && strcmp(found.name, list->sources[SPOOL_LIST_MAX - 1].name) > 0))
            continue;
        if (!make_room(list, &capacity))
            status = STATUS_NO_MEMORY;
        else
            list->sources[list->count++] = found;
    }
    closedir(entries);
    compact(list);
    if (status != STATUS_OK)
        spool_files_list_deinit(list);
    return status;
}

void spool_files_list_deinit(struct spool_list *list)
{
    free(list->sources);
    *list = (struct spool_list){0};
}

static bool has_segment(int folder, const char *source, uint32_t segment)
{
    char name[SPOOL_FILE_BYTES];
    spool_format_segment_name(name, source, segment);
    return faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

uint32_t spool_files_last_segment(int folder, const char *source, uint32_t known)
{
    while (known && known < UINT32_MAX && has_segment(folder, source, known + 1))
        known++;
    return known;
}

uint32_t spool_files_next_segment(int folder, const char *source, uint32_t from, uint32_t last)
{
    struct dirent *entry;
    char name[SPOOL_SOURCE_BYTES];
    uint32_t output, segment, lowest = 0;
    for (uint32_t i = 0; last && i < PROBES_MAX && from <= last; i++, from++)
        if (has_segment(folder, source, from))
            return from;
    if (last && from > last)
        return 0;
    DIR *entries = files_open_folder_at(folder, "."); /* duplicates of a descriptor share its position */
    if (!entries)
        return 0;
    while ((entry = readdir(entries)))
        if (spool_format_parse_name(entry->d_name, name, &output, &segment) && segment >= from &&
            segment > 0 && (lowest == 0 || segment < lowest) && strcmp(name, source) == 0)
            lowest = segment;
    closedir(entries);
    return lowest;
}

bool spool_files_remove_segment(int folder, const char *source, uint32_t segment)
{
    char name[SPOOL_FILE_BYTES];
    spool_format_segment_name(name, source, segment);
    return unlinkat(folder, name, 0) == 0;
}

bool spool_file_open(struct guarded_fd *file, int folder, const char *name, int flags)
{
    struct stat facts;
    *file = GUARDED_FD_NONE;
    int fd = files_open_at(folder, name, flags | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return false;
    if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_uid != geteuid()) {
        close(fd);
        errno = EPERM;
        return false;
    }
    *file = guarded_fd_of(fd);
    return true;
}

bool spool_file_open_segment(struct guarded_fd *file, int folder, const char *source, uint32_t segment,
                             int flags)
{
    char name[SPOOL_FILE_BYTES];
    spool_format_segment_name(name, source, segment);
    return spool_file_open(file, folder, name, flags);
}

bool spool_file_is_held(const struct guarded_fd *file)
{
    struct stat facts;
    return guarded_fd_is_ours(file) && fstat(file->number, &facts) == 0 && facts.st_nlink > 0;
}

bool spool_file_lock(const struct guarded_fd *file)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(file->number, F_SETLK, &lock) == 0;
}

bool spool_file_write(const struct guarded_fd *file, const void *bytes, size_t count, uint64_t offset)
{
    const char *at = bytes;
    while (count > 0) {
        ssize_t done = pwrite(file->number, at, count, (off_t)offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done == 0)
            errno = ENOSPC;
        if (done <= 0)
            return false;
        at += done;
        offset += (uint64_t)done;
        count -= (size_t)done;
    }
    return true;
}

ssize_t spool_file_read(const struct guarded_fd *file, void *bytes, size_t count, uint64_t offset)
{
    size_t have = 0;
    while (have < count) {
        ssize_t done = pread(file->number, (char *)bytes + have, count - have, (off_t)(offset + have));
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -1;
        if (done == 0)
            break;
        have += (size_t)done;
    }
    return (ssize_t)have;
}

uint64_t spool_file_size(const struct guarded_fd *file)
{
    struct stat facts;
    return fstat(file->number, &facts) == 0 ? (uint64_t)facts.st_size : 0;
}
