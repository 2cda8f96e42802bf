#include "agent/watch/live_memory.h"

#include "base/files.h"
#include "base/log/write_signals.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010 /* Linux 5.1 */
#endif

#define START_FIELD 22 /* in /proc/PID/stat, from 1 */

uint64_t live_memory_started_ticks(void)
{
    char text[1024];
    if (files_read_small("/proc/self/stat", text, sizeof text) <= 0)
        return 0;
    const char *at = strrchr(text, ')'); /* the end of field 2, which may have spaces */
    for (int field = 2; at && field < START_FIELD; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

/* All pages are there from now on, so that no access can fail for lack of memory. */
static void *map(int file)
{
    if (fchmod(file, 0600) != 0 || ftruncate(file, LIVE_STATE_BYTES) != 0 ||
        fallocate(file, 0, 0, LIVE_STATE_BYTES) != 0 ||
        fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
        return MAP_FAILED;
    void *made = mmap(NULL, LIVE_STATE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (made != MAP_FAILED && fcntl(file, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0)
        (void)fcntl(file, F_ADD_SEALS, F_SEAL_SEAL); /* an older kernel: only its user could write */
    return made;
}

struct live_header *live_memory_begin(const struct live_identity *identity, struct guarded_fd *file)
{
    struct write_signals signals;
    write_signals_hold(&signals); /* the host's limit of file sizes is that of a memfd, too */
    int made = high_fd(memfd_create(LIVE_STATE_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    void *memory = made >= 0 ? map(made) : MAP_FAILED;
    write_signals_release(&signals);
    *file = GUARDED_FD_NONE;
    if (memory != MAP_FAILED)
        *file = guarded_fd_of(made);
    else if (made >= 0)
        close(made);
    if (memory == MAP_FAILED)
        memory = mmap(NULL, LIVE_STATE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    live_state_begin(memory, identity);
    return memory;
}
