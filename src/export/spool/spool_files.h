/* A spool's directory and its files: opened without following links, looked at before they are believed. */
#ifndef CUSPAN_EXPORT_SPOOL_SPOOL_FILES_H
#define CUSPAN_EXPORT_SPOOL_SPOOL_FILES_H

#include "base/status.h"
#include "export/spool/spool_format.h"

#include <stdbool.h>
#include <sys/types.h>

/* A file that stays open. A host may close all descriptors that it finds, and get their numbers for files of
 * its own: what is held is looked at before each use. */
struct spool_file {
    int fd; /* -1: none */
    dev_t device;
    ino_t inode;
};

#define SPOOL_NO_FILE ((struct spool_file){.fd = -1})

/* What the directory has of one source. */
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

/* The directory, made 0700 where it isn't there and `make` is set. It must belong to this user, and others
 * may not write to it. A descriptor, to be closed by the caller; -1, and `err` says why in one line. */
int spool_folder_open(const char *path, bool make, struct error *err);

/* NO_MEMORY, IO. */
enum status spool_list_read(int folder, struct spool_list *list) MUST_CHECK;
void spool_list_deinit(struct spool_list *list);
/* The number of the source's first segment from `from` on; 0: there is none. */
uint32_t spool_next_segment(int folder, const char *source, uint32_t from);

/* A regular file of ours; `flags` as for open(2), without O_CREAT it must exist. False, and errno says why.
 */
bool spool_file_open(struct spool_file *file, int folder, const char *name, int flags);
/* Whether the descriptor is still this file's, and the file has a name. */
bool spool_file_is_held(const struct spool_file *file);
/* Closes the descriptor if it is still this file's. */
void spool_file_close(struct spool_file *file);
/* The lock ends with the process, and is inherited by no child. False: another process has it. */
bool spool_file_lock(const struct spool_file *file);
/* All of it, or false, and errno says why; a part may have been written then. */
bool spool_file_write(const struct spool_file *file, const void *bytes, size_t count, uint64_t offset);
/* As many bytes as there are; -1, and errno says why. */
ssize_t spool_file_read(const struct spool_file *file, void *bytes, size_t count, uint64_t offset);
/* 0 where it can't be told. */
uint64_t spool_file_size(const struct spool_file *file);

#endif
