/* A spool's directory and files. Links are not followed, and owner and type are checked before use. */
#pragma once

#include "base/process/guarded_fd.h"
#include "base/status.h"
#include "agent/export/spool/spool_format.h"

#include <stdbool.h>
#include <sys/types.h>

struct spool_found_source {
    char name[SPOOL_SOURCE_BYTES];
    uint32_t output;
    uint32_t last_segment; /* the highest number of a segment; 0: it has none */
    uint64_t bytes;        /* of its segments */
};

#define SPOOL_LIST_MAX 4096 /* sources; a longer list comes in parts */

struct spool_list {
    struct spool_found_source *sources; /* oldest first */
    size_t count;
    bool has_more;  /* after the last of these */
    uint64_t bytes; /* of all segments in the directory */
};

/* Opens the directory; with `make`, creates it with mode 0700 if it does not exist. It must belong to this
 * user and not be writable by others. Returns a descriptor that the caller closes, or -1 with `err`. */
int spool_files_open_folder(const char *path, bool make, struct error *err);

/* The sources whose names follow `after`: "" for the oldest, SPOOL_LIST_NONE only counts the bytes.
 * NO_MEMORY, IO. */
#define SPOOL_LIST_NONE "~"
enum status spool_files_list(int folder, const char *after, struct spool_list *list) MUST_CHECK;
void spool_files_list_deinit(struct spool_list *list);
/* Deletes a segment. False sets errno. */
bool spool_files_remove_segment(int folder, const char *source, uint32_t segment);
/* The number of the source's first segment at or after `from`; 0 if there is none. `last` is the highest
 * number, if it is known; with 0, the whole directory is searched. */
uint32_t spool_files_next_segment(int folder, const char *source, uint32_t from, uint32_t last);
/* The highest number, when `known` was the highest one earlier. */
uint32_t spool_files_last_segment(int folder, const char *source, uint32_t known);

/* Opens a regular file of this user; `flags` as for open(2). False sets errno. */
bool spool_file_open(struct guarded_fd *file, int folder, const char *name, int flags);
/* The same for a segment. */
bool spool_file_open_segment(struct guarded_fd *file, int folder, const char *source, uint32_t segment,
                             int flags);
/* Whether the descriptor still refers to this file, and the file is not unlinked. */
bool spool_file_is_held(const struct guarded_fd *file);
/* A lock of the process (fcntl), not inherited by children. False: another process holds it. */
bool spool_file_lock(const struct guarded_fd *file);
/* Writes all bytes. False sets errno; some bytes may be written then. */
bool spool_file_write(const struct guarded_fd *file, const void *bytes, size_t count, uint64_t offset);
/* Reads up to the end of the file; -1 sets errno. */
ssize_t spool_file_read(const struct guarded_fd *file, void *bytes, size_t count, uint64_t offset);
/* 0 if the size cannot be read. */
uint64_t spool_file_size(const struct guarded_fd *file);
