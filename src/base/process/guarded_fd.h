/* A file descriptor in a host that may close all descriptors and then open its own files. The number may then
 * be one of the host's files, which cuspan must neither write to nor close. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct guarded_fd {
    int number; /* -1: none */
    dev_t device;
    ino_t inode;
    mode_t type;       /* S_IFMT: a new folder may have the inode of a deleted file */
    uint64_t birth_ns; /* and a new file, too; 0: the file system does not say */
};

#define GUARDED_FD_NONE ((struct guarded_fd){.number = -1})

/* Remembers the file of the descriptor. */
struct guarded_fd guarded_fd_of(int number);

/* Whether it is still the same file. */
bool guarded_fd_is_ours(const struct guarded_fd *fd);

/* Closes it if it is still the same file, and forgets it. */
void guarded_fd_close(struct guarded_fd *fd);
