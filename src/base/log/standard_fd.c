#include "base/log/standard_fd.h"

#include "base/process/guarded_fd.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static struct guarded_fd remembered[STDERR_FILENO + 1];

static bool is_regular(int number)
{
    struct stat file;
    return fstat(number, &file) == 0 && S_ISREG(file.st_mode);
}

/* Whether the program has opened the file itself, because it was started without the descriptor.
 * A program's inherited descriptors are not close-on-exec, and no file for its input can be written to. */
static bool is_own_file(int number)
{
    if (fcntl(number, F_GETFD) & FD_CLOEXEC)
        return true;
    bool has_own_input = is_regular(STDIN_FILENO) && (fcntl(STDIN_FILENO, F_GETFL) & O_ACCMODE) != O_RDONLY;
    return has_own_input && is_regular(number);
}

__attribute__((constructor)) void standard_fd_remember(void)
{
    for (int number = 0; number <= STDERR_FILENO; number++)
        remembered[number] = is_own_file(number) ? GUARDED_FD_NONE : guarded_fd_of(number);
}

/* The position of a file that someone appends to is its end. */
static bool is_within_file(int number)
{
    struct stat file;
    return is_regular(number) && !(fcntl(number, F_GETFL) & O_APPEND) && fstat(number, &file) == 0 &&
           lseek(number, 0, SEEK_CUR) < file.st_size;
}

bool standard_fd_is_usable(int number)
{
    return remembered[number].number >= 0 && guarded_fd_is_ours(&remembered[number]) &&
           !is_within_file(number);
}
