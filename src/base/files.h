/* Safely opens files that settings name, even in a directory like /tmp, where another user may have placed a
 * link or a file under that name.
 *
 * An existing file must belong to the user or to the owner of its directory. The kernel has the same rule for
 * sticky directories (fs.protected_symlinks, fs.protected_regular), but it can be disabled. */
#ifndef CUSPAN_BASE_FILES_H
#define CUSPAN_BASE_FILES_H

#include <stddef.h>
#include <sys/types.h>

/* Opens for appending, and creates the file with mode 0600. -1 and errno; `problem` has the reason (a static
 * text) if it was not the kernel that refused, and is NULL otherwise. */
int files_open_append(const char *path, const char **problem);

/* Creates a new file with mode 0600. Unlinks an existing file and never writes to it, nor through a link. -1
 * and errno. */
int files_create(const char *path);

/* One read() of a kernel file such as those in /proc: at most `size` - 1 bytes, always NUL-terminated. -1 and
 * errno. */
ssize_t files_read_small(const char *path, char *text, size_t size);

#endif
