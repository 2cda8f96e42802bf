#include "cli/util/temporary.h"

#include "cli/util/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PLACES_MAX  7
#define PROBE_BYTES 4096

/* A full disk often has room for an empty folder, and none for what would be in it. */
static bool has_room(const char *folder)
{
    static const char zeros[PROBE_BYTES];
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before; /* the limit of file sizes may be low */
    char *path = xasprintf("%s/probe", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    sigaction(SIGXFSZ, &ignore, &before);
    bool is_written = fd >= 0 && write(fd, zeros, sizeof zeros) == (ssize_t)sizeof zeros;
    int error = is_written || errno ? errno : ENOSPC;
    sigaction(SIGXFSZ, &before, NULL);
    if (fd >= 0)
        close(fd);
    unlink(path);
    free(path);
    errno = error;
    return is_written;
}

/* The path is absolute, because programs change their directory, and part of settings, which cannot contain
 * these characters. */
static char *folder_in(const char *place, const char *name)
{
    char *absolute = place && *place ? realpath(place, NULL) : NULL;
    char *folder =
        absolute && !strpbrk(absolute, ";\n") ? xasprintf("%s/cuspan-%s-XXXXXX", absolute, name) : NULL;
    free(absolute);
    if (!folder || (mkdtemp(folder) && has_room(folder)))
        return folder;
    int error = errno;
    rmdir(folder);
    free(folder);
    errno = error;
    return NULL;
}

char *temporary_folder(const char *name)
{
    const char *const places[PLACES_MAX] = {
        getenv("TMPDIR"), "/tmp", getenv("XDG_RUNTIME_DIR"), "/dev/shm", "/var/tmp", getenv("HOME"), "."};
    char *folder = NULL;
    int error = 0;
    for (size_t i = 0; i < PLACES_MAX && !folder; i++) {
        errno = 0;
        folder = folder_in(places[i], name);
        error = error ? error : errno;
    }
    errno = error;
    return folder;
}

FILE *temporary_file(void)
{
    char *folder = temporary_folder("file");
    int fd = -1;
    if (folder) {
        char *path = xasprintf("%s/bytes", folder);
        fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        unlink(path);
        rmdir(folder);
        free(path);
        free(folder);
    }
    if (fd < 0)
        fd = memfd_create("cuspan", MFD_CLOEXEC);
    return fd >= 0 ? fdopen(fd, "w+") : NULL;
}

enum status temporary_choose(struct temporary *temporary, const char *name, struct error *err)
{
    *temporary = (struct temporary){.folder = temporary_folder(name), .fd = -1};
    if (temporary->folder) {
        temporary->path = xasprintf("%s/%s", temporary->folder, name);
        return STATUS_OK;
    }
    int error = errno;
    temporary->fd = memfd_create("cuspan", MFD_CLOEXEC);
    if (temporary->fd < 0)
        return error_set(err, STATUS_IO,
                         "no folder for temporary files can be written (%s); set TMPDIR to one that can",
                         strerror(error));
    temporary->path = xasprintf("/proc/%d/fd/%d", (int)getpid(), temporary->fd);
    return STATUS_OK;
}

void temporary_deinit(struct temporary *temporary)
{
    if (temporary->path && temporary->folder)
        unlink(temporary->path);
    if (temporary->folder)
        rmdir(temporary->folder);
    if (temporary->path && !temporary->folder)
        close(temporary->fd);
    free(temporary->path);
    free(temporary->folder);
    *temporary = (struct temporary){0};
}
