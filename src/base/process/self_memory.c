#include "base/process/self_memory.h"

#include "base/process/high_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define SMALLEST_PAGE_BYTES 4096

/* Where seccomp blocks process_vm_readv, as Docker did by default before version 23. Unlike /proc/self/mem,
 * write() does not read what the process may not read. */
static bool read_through_pipe(uint64_t address, uint8_t *to, size_t bytes)
{
    int ends[2];
    size_t done = 0;
    if (high_fd_pair(pipe2(ends, O_CLOEXEC | O_NONBLOCK), ends) != 0)
        return false;
    while (done < bytes) {
        const void *from = (const void *)(uintptr_t)(address + done); // NOLINT(performance-no-int-to-ptr)
        size_t part = bytes - done < PIPE_BUF ? bytes - done : PIPE_BUF;
        if (write(ends[1], from, part) != (ssize_t)part || read(ends[0], to + done, part) != (ssize_t)part)
            break;
        done += part;
    }
    close(ends[0]);
    close(ends[1]);
    return done == bytes;
}

bool self_memory_read(uint64_t address, void *to, size_t bytes)
{
    struct iovec local = {to, bytes},
                 remote = {(void *)(uintptr_t)address, bytes}; // NOLINT(performance-no-int-to-ptr)
    ssize_t count = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    return count < 0 && errno != EFAULT ? read_through_pipe(address, to, bytes) : count == (ssize_t)bytes;
}

ptrdiff_t self_memory_read_text(uint64_t address, char *to, size_t bytes)
{
    for (size_t done = 0; done < bytes - 1;) {
        size_t part = SMALLEST_PAGE_BYTES - (size_t)((address + done) % SMALLEST_PAGE_BYTES);
        part = part < bytes - 1 - done ? part : bytes - 1 - done;
        if (!self_memory_read(address + done, to + done, part))
            return -1;
        size_t length = strnlen(to + done, part);
        done += length;
        if (length < part || done == bytes - 1) {
            to[done] = 0;
            return (ptrdiff_t)done;
        }
    }
    return -1;
}
