#include "base/high_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define FIRST 256

int high_fd(int number)
{
    if (number < 0 || number >= FIRST)
        return number;
    int moved = fcntl(number, F_DUPFD_CLOEXEC, FIRST);
    if (moved < 0 && number > STDERR_FILENO)
        return number; /* the process may not have so many */
    if (moved < 0)
        moved = fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int saved_errno = errno;
    close(number);
    errno = saved_errno;
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
    int saved_errno = errno;
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    errno = saved_errno;
    return -1;
}
