/* Folders and files that a command needs while it runs. They are in TMPDIR, or else in the first folder that
 * can be written: containers may have a read-only root, and disks may be full. */
#pragma once

#include "base/status.h"

#include <stdio.h>

/* Creates a private folder, whose name has this one. Returns its absolute path, allocated; NULL and errno of
 * the first failure: no folder can be written. */
char *temporary_folder(const char *name);

/* Opens a file without a name, as tmpfile() does, in memory if no folder can be written. NULL and errno:
 * neither is possible. */
FILE *temporary_file(void);

/* A file that other processes open by its path. */
struct temporary {
    char *folder; /* owned; NULL: in memory */
    char *path;   /* owned; NULL: not open */
    int fd;       /* in memory, else -1 */
};

/* Chooses the path. In a folder, the file does not exist yet. */
enum status temporary_choose(struct temporary *temporary, const char *name, struct error *err) MUST_CHECK;
/* Removes the file. Accepts a zeroed struct. */
void temporary_deinit(struct temporary *temporary);
