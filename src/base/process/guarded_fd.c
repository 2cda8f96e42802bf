#include "base/process/guarded_fd.h"

#include "base/clock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Sockets and pipes have none. Sandboxes may refuse the call. */
static uint64_t birth_of(int number)
{
    struct statx found;
    if (statx(number, "", AT_EMPTY_PATH, STATX_BTIME, &found) != 0 || !(found.stx_mask & STATX_BTIME))
        return 0;
    return (uint64_t)found.stx_btime.tv_sec * NS_PER_SECOND + found.stx_btime.tv_nsec;
}

struct guarded_fd guarded_fd_of(int number)
{
    struct stat found;
    if (number < 0 || fstat(number, &found) != 0)
        return GUARDED_FD_NONE;
    return (struct guarded_fd){number, found.st_dev, found.st_ino, found.st_mode & S_IFMT, birth_of(number)};
}

bool guarded_fd_is_ours(const struct guarded_fd *fd)
{
    struct guarded_fd now = guarded_fd_of(fd->number);
    bool is_known = now.birth_ns && fd->birth_ns;
    return now.number >= 0 && now.device == fd->device && now.inode == fd->inode && now.type == fd->type &&
           (!is_known || now.birth_ns == fd->birth_ns);
}

void guarded_fd_close(struct guarded_fd *fd)
{
    if (guarded_fd_is_ours(fd))
        close(fd->number);
    *fd = GUARDED_FD_NONE;
}
