/* A copy of the live state in a file of at most LIVE_FILE_BYTES, for what must survive kill -9: PID.live in
 * the directory of the control sockets, mode 0600. The format is that of the memfd (model/hang/live_state.h),
 * with fewer entries for each communicator if there are many. The watch thread writes it with pwrite, and
 * maps nothing. It stays if the process is killed or ends during a stall. Files of ended processes are
 * removed after a day by the next process that starts. */
#pragma once

#include "base/control_path.h"
#include "base/process/guarded_fd.h"
#include "model/hang/live_state.h"

#include <stdbool.h>

#define LIVE_FILE_BYTES (64 * 1024)

struct live_file {
    struct guarded_fd file; /* none: there is no directory for it */
    char folder[CONTROL_PATH_BYTES];
    char name[32];
};

/* Creates it in the first of the directories that can be used. */
void live_file_open(struct live_file *file, char (*folders)[CONTROL_PATH_BYTES], size_t count);
/* False: it could not be written, for example because the disk is full. */
bool live_file_write(struct live_file *file, const struct live_header *live);
/* Closes it, and removes it unless `keeps`. */
void live_file_close(struct live_file *file, bool keeps);

/* Shortens the state to LIVE_FILE_BYTES. Returns the number of bytes. For live_file_write() and its test. */
size_t live_file_shorten(const struct live_header *live, uint8_t to[LIVE_FILE_BYTES]);
