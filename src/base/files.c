#include "base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define APPEND_FLAGS (O_WRONLY | O_APPEND | O_NOCTTY)
#define MODE         0600
#define FIRST_HIGH   256

void files_give_up(int number)
{
    int saved_errno = errno;
    if (number >= 0)
        close(number);
    errno = saved_errno;
}

int high_fd(int number)
{
    if (number < 0 || number >= FIRST_HIGH)
        return number;
    int moved = fcntl(number, F_DUPFD_CLOEXEC, FIRST_HIGH);
    if (moved < 0 && number > STDERR_FILENO)
        return number; /* the process may not have so many */
    if (moved < 0)
        moved = fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    files_give_up(number);
    return moved;
}

int high_fd_pair(int made, int ends[2])
{
    if (made != 0)
        return made;
    /* The second one first: the first keeps its low number occupied meanwhile. */
    ends[1] = high_fd(ends[1]);
    ends[0] = high_fd(ends[0]);
    if (ends[0] >= 0 && ends[1] >= 0)
        return 0;
    files_give_up(ends[0]);
    files_give_up(ends[1]);
    return -1;
}

int files_open_at(int folder, const char *path, int flags)
{
    return high_fd(openat(folder, path, flags | O_CLOEXEC, MODE));
}

int files_open(const char *path, int flags)
{
    return files_open_at(AT_FDCWD, path, flags);
}

FILE *files_open_stream(const char *path)
{
    int descriptor = files_open(path, O_RDONLY);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "r") : NULL;
    if (!file)
        files_give_up(descriptor);
    return file;
}

DIR *files_open_folder_at(int folder, const char *path)
{
    int descriptor = files_open_at(folder, path, O_RDONLY | O_DIRECTORY);
    DIR *entries = descriptor >= 0 ? fdopendir(descriptor) : NULL;
    if (!entries)
        files_give_up(descriptor);
    return entries;
}

DIR *files_open_folder(const char *path)
{
    return files_open_folder_at(AT_FDCWD, path);
}

char *files_absolute(const char *path)
{
    char *joined = NULL, *directory = path[0] == '/' ? NULL : getcwd(NULL, 0);
    if (!directory)
        return strdup(path);
    if (asprintf(&joined, "%s/%s", directory, path) < 0)
        joined = NULL;
    free(directory);
    return joined;
}

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
    files_give_up(descriptor);
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
    return files_open(path, APPEND_FLAGS | O_CREAT);
}

int files_open_append(const char *path, const char **problem)
{
    struct stat folder, file;
    *problem = NULL;
    if (!stat_folder(path, &folder))
        return -1;
    int descriptor = files_open(path, APPEND_FLAGS | O_CREAT | O_NOFOLLOW);
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
    struct stat facts;
    bool is_device = strncmp(path, "/dev/", 5) == 0 && strncmp(path, "/dev/shm/", 9) != 0;
    bool is_stream = is_device || /* or a pipe, or /dev/stdout */
                     (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode));
    if (is_stream)
        return files_open(path, O_WRONLY);
    if (unlink(path) != 0 && errno != ENOENT)
        return -1;
    return files_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
}

uint32_t files_random(void)
{
    uint32_t random;
    struct timespec now;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) == sizeof random)
        return random;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)now.tv_nsec ^ (uint32_t)getpid() << 16;
}

#define NUMBERS_MAX 10000

/* Calls `create` with one name after the other while it fails with EEXIST. */
static int try_names(const char *name, char *path, size_t size, int (*create)(const char *path, const void *),
                     const void *argument)
{
    int result = -1;
    for (int number = 1; number <= NUMBERS_MAX; number++) {
        int length = number == 1 ? snprintf(path, size, "%s.%d", name, (int)getpid())
                                 : snprintf(path, size, "%s.%d-%d", name, (int)getpid(), number);
        errno = (size_t)length < size ? 0 : ENAMETOOLONG;
        if (errno || (result = create(path, argument)) >= 0 || errno != EEXIST)
            return result;
    }
    return -1;
}

static int create_file(const char *path, const void *unused)
{
    (void)unused;
    int descriptor = files_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
    errno = descriptor >= 0 ? 0 : errno;
    return descriptor;
}

int files_create_numbered(const char *name, char *path, size_t size)
{
    return try_names(name, path, size, create_file, NULL);
}

/* Some file systems have no hard links. */
static int name_file(const char *path, const void *temporary)
{
    bool is_named = link(temporary, path) == 0;
    if (is_named) {
        unlink(temporary);
    } else if (errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS) {
        int descriptor = create_file(path, NULL);
        is_named = descriptor >= 0 && close(descriptor) == 0 && rename(temporary, path) == 0;
    }
    errno = is_named ? 0 : errno;
    return is_named ? 0 : -1;
}

bool files_name_numbered(const char *temporary, const char *name, char *path, size_t size)
{
    return try_names(name, path, size, name_file, temporary) == 0;
}

ssize_t files_read_small(const char *path, char *text, size_t size)
{
    int file = files_open(path, O_RDONLY);
    ssize_t bytes = file >= 0 ? read(file, text, size - 1) : -1;
    if (file >= 0)
        close(file);
    text[bytes > 0 ? bytes : 0] = 0;
    return bytes;
}

bool files_write(int fd, const void *data, size_t bytes)
{
    for (const uint8_t *at = data; bytes > 0;) {
        ssize_t written = write(fd, at, bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        at += written;
        bytes -= (size_t)written;
    }
    return true;
}
