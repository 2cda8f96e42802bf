/* A descriptor of ours in a host that may close all descriptors and then open files of its own: the number
 * may by now stand for one of those, which gets none of our bytes and isn't closed by us. */
#ifndef CUSPAN_BASE_PROCESS_GUARDED_FD_H
#define CUSPAN_BASE_PROCESS_GUARDED_FD_H

#include <stdbool.h>
#include <sys/types.h>

struct guarded_fd {
    int number; /* -1: none */
    dev_t device;
    ino_t inode;
};

#define OWN_FD_NONE ((struct guarded_fd){.number = -1})

/* Remembers what stands behind the number now. */
struct guarded_fd guarded_fd_of(int number);

/* Whether the same still does. */
bool guarded_fd_is_ours(const struct guarded_fd *fd);

/* Closes it if it is still ours; it is none from then on. */
void guarded_fd_close(struct guarded_fd *fd);

#endif
