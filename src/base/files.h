/* Opening the files that a setting names, perhaps in a folder like /tmp in which others may have put
 * something under that name before: a link to a file of ours, or a file that they read.
 *
 * What others can't do is taken from their hands by the kernel's own rule for such folders, wherever it is
 * and however the kernel is set: what is there already must belong to us or to the owner of its folder. */
#ifndef CUSPAN_BASE_FILES_H
#define CUSPAN_BASE_FILES_H

#include <stddef.h>
#include <sys/types.h>

/* For appending; made with mode 0600 where there is none. -1: errno says why, and where it isn't the kernel
 * that refuses, `problem` does (a text that stays), else it is NULL. */
int files_open_append(const char *path, const char **problem);

/* A new file with mode 0600 in place of whatever had the name, which is unlinked and never written to: not
 * through a link either. -1 and errno. */
int files_create(const char *path);

/* What one reading gives of a file of the kernel's, as in /proc: at most `size` - 1 bytes, NUL-terminated in
 * any case. -1 and errno. */
ssize_t files_read_small(const char *path, char *text, size_t size);

#endif
