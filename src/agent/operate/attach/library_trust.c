#include "agent/operate/attach/library_trust.h"

#include "base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The folders that lead to a path and the file, one after the other. -1 and errno. */
static int open_below(int root, const char *path)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    return (int)syscall(SYS_openat2, root, path, &how, sizeof how);
}

/* In a folder like /tmp (sticky), others cannot replace what is not theirs. */
static bool is_of(const struct stat *facts, uid_t user, uid_t owner)
{
    bool is_sticky = S_ISDIR(facts->st_mode) && facts->st_mode & S_ISVTX;
    return (facts->st_uid == 0 || facts->st_uid == user || facts->st_uid == owner) &&
           (is_sticky || !(facts->st_mode & (S_IWGRP | S_IWOTH)));
}

static enum status check_part(int root, const char *part, const char *path, uid_t user, uid_t owner,
                              struct error *err)
{
    struct stat facts;
    int file = open_below(root, part);
    int error = errno;
    bool is_read = file >= 0 && fstat(file, &facts) == 0;
    files_give_up(file);
    if (!is_read && error == ELOOP)
        return error_set(
            err, STATUS_UNAVAILABLE,
            "the process would reach %.200s through a link (%.100s); name the file itself with --library",
            path, part);
    if (!is_read && error == ENOSYS)
        return error_set(err, STATUS_UNSUPPORTED, "attaching needs Linux 5.6 or later");
    if (!is_read)
        return error_set(err, STATUS_NOT_FOUND,
                         "the process does not see %.250s (%s); if it is in a container, copy the agent "
                         "there, to the same path",
                         path, strerror(error));
    if (!is_of(&facts, user, owner))
        return error_set(err, STATUS_UNAVAILABLE,
                         "%.250s can be changed by others than root and the process's user, so it is not "
                         "loaded; give it to root, and run: chmod go-w %.100s",
                         *part ? part : "/", *part ? part : "/");
    return STATUS_OK;
}

enum status library_trust_check_below(int root, const char *path, uid_t user, uid_t owner, struct error *err)
{
    char part[1024];
    size_t length = strlen(path);
    if (*path != '/' || length >= sizeof part || strstr(path, "/../"))
        return error_set(err, STATUS_INVALID, "%.200s is no absolute path of at most 1,023 bytes", path);
    for (size_t at = 0; at <= length; at++) {
        if (path[at] != '/' && path[at] != 0)
            continue;
        snprintf(part, sizeof part, "%.*s", (int)(at ? at : 1), path);
        enum status status = check_part(root, part, path, user, owner, err);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

enum status library_trust_check(const struct target *target, const char *path, struct error *err)
{
    int root = target_open_root(target, err);
    if (root < 0)
        return STATUS_UNAVAILABLE;
    enum status status = library_trust_check_below(root, path, target->user, target->owner, err);
    files_give_up(root);
    return status;
}
