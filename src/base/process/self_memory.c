#include "base/process/self_memory.h"

#include "base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#define SMALLEST_PAGE_BYTES 4096

/* Unlike /proc/self/mem, write() does not read what the process may not read. */
static enum self_memory read_through_pipe(uint64_t address, uint8_t *to, size_t bytes)
{
    int ends[2];
    size_t done = 0;
    if (high_fd_pair(pipe2(ends, O_CLOEXEC | O_NONBLOCK), ends) != 0)
        return SELF_MEMORY_UNKNOWN;
    enum self_memory result = SELF_MEMORY_READ;
    while (done < bytes && result == SELF_MEMORY_READ) {
        const void *from = (const void *)(uintptr_t)(address + done); // NOLINT(performance-no-int-to-ptr)
        size_t part = bytes - done < PIPE_BUF ? bytes - done : PIPE_BUF;
        if (write(ends[1], from, part) != (ssize_t)part)
            result = errno == EFAULT ? SELF_MEMORY_GONE : SELF_MEMORY_UNKNOWN;
        else if (read(ends[0], to + done, part) != (ssize_t)part)
            result = SELF_MEMORY_UNKNOWN;
        done += part;
    }
    close(ends[0]);
    close(ends[1]);
    return result;
}

enum self_memory self_memory_try(uint64_t address, void *to, size_t bytes)
{
    /* A filter of system calls may end a process that calls process_vm_readv(), which few programs do. */
    if (prctl(PR_GET_SECCOMP, 0UL, 0UL, 0UL, 0UL) != 0)
        return read_through_pipe(address, to, bytes);
    struct iovec local = {to, bytes},
                 remote = {(void *)(uintptr_t)address, bytes}; // NOLINT(performance-no-int-to-ptr)
    ssize_t count = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (count < 0 && errno != EFAULT)
        return read_through_pipe(address, to, bytes);
    return count == (ssize_t)bytes ? SELF_MEMORY_READ : SELF_MEMORY_GONE;
}

bool self_memory_read(uint64_t address, void *to, size_t bytes)
{
    return self_memory_try(address, to, bytes) == SELF_MEMORY_READ;
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
