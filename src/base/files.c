#include "base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define APPEND_FLAGS (O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY)
#define MODE         0600

/* The owner of the directory that contains `path`. */
static bool stat_folder(const char *path, struct stat *folder)
{
    char name[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int length = slash ? (int)(slash - path) + (slash == path) : 1;
    snprintf(name, sizeof name, "%.*s", length, slash ? path : ".");
    return stat(name, folder) == 0;
}

static bool is_trusted(const struct stat *file, const struct stat *folder)
{
    return file->st_uid == geteuid() || file->st_uid == folder->st_uid;
}

static int refuse(int descriptor, const char *why, const char **problem)
{
    if (descriptor >= 0)
        close(descriptor);
    *problem = why;
    errno = EPERM;
    return -1;
}

/* In a sticky directory like /tmp, only its owner, root and this user can replace this user's link after the
 * check. */
static int open_through_link(const char *path, const struct stat *folder, const char **problem)
{
    struct stat link;
    if (lstat(path, &link) != 0)
        return -1;
    if (S_ISLNK(link.st_mode) && !is_trusted(&link, folder))
        return refuse(-1, "it is a link that belongs to another user", problem);
    return open(path, APPEND_FLAGS | O_CREAT, MODE);
}

int files_open_append(const char *path, const char **problem)
{
    struct stat folder, file;
    *problem = NULL;
    if (!stat_folder(path, &folder))
        return -1;
    int descriptor = open(path, APPEND_FLAGS | O_CREAT | O_NOFOLLOW, MODE);
    if (descriptor < 0 && errno == ELOOP)
        return open_through_link(path, &folder, problem);
    if (descriptor < 0)
        return -1;
    bool is_known = fstat(descriptor, &file) == 0;
    bool holds_bytes = is_known && (S_ISREG(file.st_mode) || S_ISFIFO(file.st_mode));
    if (!is_known || (holds_bytes && !is_trusted(&file, &folder)))
        return refuse(descriptor, "it belongs to another user", problem);
    if (S_ISREG(file.st_mode) && file.st_nlink > 1 && folder.st_mode & (S_IWGRP | S_IWOTH))
        return refuse(descriptor, "it has other names, and others may write to its folder", problem);
    return descriptor;
}

int files_create(const char *path)
{
    if (unlink(path) != 0 && errno != ENOENT)
        return -1;
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, MODE);
}

ssize_t files_read_small(const char *path, char *text, size_t size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = file >= 0 ? read(file, text, size - 1) : -1;
    if (file >= 0)
        close(file);
    text[bytes > 0 ? bytes : 0] = 0;
    return bytes;
}
