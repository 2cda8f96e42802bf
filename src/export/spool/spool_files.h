/* A spool's directory and files. Links are not followed, and owner and type are checked before use. */
#ifndef CUSPAN_EXPORT_SPOOL_SPOOL_FILES_H
#define CUSPAN_EXPORT_SPOOL_SPOOL_FILES_H

#include "base/status.h"
#include "export/spool/spool_format.h"

#include <stdbool.h>
#include <sys/types.h>

/* A file that stays open. The host may close all descriptors and reuse their numbers, so the descriptor is
 * compared with device and inode before each use. */
struct spool_file {
    int fd; /* -1: none */
    dev_t device;
    ino_t inode;
};

#define SPOOL_NO_FILE ((struct spool_file){.fd = -1})

struct spool_found_source {
    char name[SPOOL_SOURCE_BYTES];
    uint32_t output;
    uint64_t bytes; /* of its segments */
};

struct spool_list {
    struct spool_found_source *sources; /* oldest first */
    size_t count;
    uint64_t bytes; /* of all segments */
};

/* Opens the directory; with `make`, creates it with mode 0700 if it does not exist. It must belong to this
 * user and not be writable by others. Returns a descriptor that the caller closes, or -1 with `err`. */
int spool_files_open_folder(const char *path, bool make, struct error *err);

/* NO_MEMORY, IO. */
enum status spool_files_list(int folder, struct spool_list *list) MUST_CHECK;
void spool_files_list_deinit(struct spool_list *list);
/* The number of the source's first segment at or after `from`; 0 if there is none. */
uint32_t spool_files_next_segment(int folder, const char *source, uint32_t from);

/* Opens a regular file of this user; `flags` as for open(2). False sets errno. */
bool spool_file_open(struct spool_file *file, int folder, const char *name, int flags);
/* Whether the descriptor still refers to this file, and the file is not unlinked. */
bool spool_file_is_held(const struct spool_file *file);
/* Closes the descriptor if it still refers to this file. */
void spool_file_close(struct spool_file *file);
/* A lock of the process (fcntl), not inherited by children. False: another process holds it. */
bool spool_file_lock(const struct spool_file *file);
/* Writes all bytes. False sets errno; some bytes may be written then. */
bool spool_file_write(const struct spool_file *file, const void *bytes, size_t count, uint64_t offset);
/* Reads up to the end of the file; -1 sets errno. */
ssize_t spool_file_read(const struct spool_file *file, void *bytes, size_t count, uint64_t offset);
/* 0 if the size cannot be read. */
uint64_t spool_file_size(const struct spool_file *file);

#endif
