#include "base/process/guarded_fd.h"

#include <sys/stat.h>
#include <unistd.h>

struct guarded_fd guarded_fd_of(int number)
{
    struct stat found;
    if (number < 0 || fstat(number, &found) != 0)
        return GUARDED_FD_NONE;
    return (struct guarded_fd){number, found.st_dev, found.st_ino};
}

bool guarded_fd_is_ours(const struct guarded_fd *fd)
{
    struct stat found;
    return fd->number >= 0 && fstat(fd->number, &found) == 0 && found.st_dev == fd->device &&
           found.st_ino == fd->inode;
}

void guarded_fd_close(struct guarded_fd *fd)
{
    if (guarded_fd_is_ours(fd))
        close(fd->number);
    *fd = GUARDED_FD_NONE;
}
