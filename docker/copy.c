/* The only program of the agent's image: copies the agent into a volume, in which other containers find it.
 *
 *   copy FROM TO     copies what is in the folder FROM into the folder TO, which it creates if it is missing
 *
 * Statically linked, because the image has no C library. A file that exists is replaced by renaming, so that a program that
 * has loaded it keeps the old one. Exit status: 0, 1 after an error, 2 for wrong arguments. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDERS_OPEN_MAX 16

static const char *from, *to;
static size_t files;

/* Prints what failed and ends the walk. */
static int failed(const char *what, const char *path)
{
    fprintf(stderr, "cuspan: cannot %s %s: %s%s\n", what, path, strerror(errno),
            errno == EACCES || errno == EROFS || errno == EPERM
                ? "; mount a volume there that user and group of this container may write"
                : "");
    return 1;
}

static int copy_bytes(int in, int out, const char *path, const char *target)
{
    static char buffer[1 << 16];
    ssize_t count;
    while ((count = read(in, buffer, sizeof buffer)) > 0)
        for (ssize_t done = 0; done < count;) {
            ssize_t written = write(out, buffer + done, (size_t)(count - done));
            if (written < 0)
                return failed("write", target);
            done += written;
        }
    return count < 0 ? failed("read", path) : 0;
}

static int copy_file(const char *path, const char *target, mode_t mode)
{
    char part[PATH_MAX];
    int length = snprintf(part, sizeof part, "%s.part", target);
    if (length < 0 || (size_t)length >= sizeof part) {
        errno = ENAMETOOLONG;
        return failed("create", target);
    }
    int in = open(path, O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return failed("read", path);
    int out = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (out < 0) {
        close(in);
        return failed("create", part);
    }
    int result = copy_bytes(in, out, path, part);
    if (result == 0 && fchmod(out, mode) != 0)
        result = failed("set the mode of", part);
    close(in);
    if (close(out) != 0 && result == 0)
        result = failed("write", part);
    if (result == 0 && rename(part, target) != 0)
        result = failed("create", target);
    if (result != 0)
        unlink(part);
    files += result == 0;
    return result;
}

static int copy_link(const char *path, const char *target)
{
    char text[PATH_MAX];
    ssize_t length = readlink(path, text, sizeof text - 1);
    if (length < 0)
        return failed("read", path);
    text[length] = '\0';
    if ((unlink(target) != 0 && errno != ENOENT) || symlink(text, target) != 0)
        return failed("create", target);
    return 0;
}

static int copy_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    char target[PATH_MAX];
    (void)place;
    int length = snprintf(target, sizeof target, "%s%s", to, path + strlen(from));
    if (length < 0 || (size_t)length >= sizeof target) {
        errno = ENAMETOOLONG;
        return failed("create", path);
    }
    switch (kind) {
    case FTW_D: return mkdir(target, 0755) != 0 && errno != EEXIST ? failed("create", target) : 0;
    case FTW_F: return copy_file(path, target, status->st_mode & 0777);
    case FTW_SL: return copy_link(path, target);
    default: return failed("read", path);
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: copy FROM TO\n");
        return 2;
    }
    from = argv[1];
    to = argv[2];
    if (nftw(from, copy_entry, FOLDERS_OPEN_MAX, FTW_PHYS) != 0)
        return 1;
    printf("cuspan: %zu files are in %s\n", files, to);
    return 0;
}
