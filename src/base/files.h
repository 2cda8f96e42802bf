/* Opens files: all of src/ does so with these functions, which keep clear of descriptors 0 to 2 (high_fd()),
 * and set close-on-exec; and writes them.
 *
 * files_open_append() and files_create() safely open files that settings name, even in a directory like /tmp,
 * where another user may have placed a link or a file under that name.
 *
 * An existing file must belong to the user or to the owner of its directory. The kernel has the same rule for
 * sticky directories (fs.protected_symlinks, fs.protected_regular), but it can be disabled. */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* open(), openat(), fopen() for reading, and opendir(). New files have mode 0600. */
int files_open(const char *path, int flags);
int files_open_at(int folder, const char *path, int flags);
FILE *files_open_stream(const char *path);
DIR *files_open_folder(const char *path);
DIR *files_open_folder_at(int folder, const char *path);

/* Closes a descriptor, unless it is -1, and keeps errno. Async-signal-safe. */
void files_give_up(int number);

/* Makes a path absolute, because the program may change its directory before the file is opened. Owned by the
 * caller. NULL: no memory. */
char *files_absolute(const char *path);

/* Opens for appending, and creates the file with mode 0600. -1 and errno; `problem` has the reason (a static
 * text) if it was not the kernel that refused, and is NULL otherwise. */
int files_open_append(const char *path, const char **problem);

/* Creates a new file with mode 0600. Unlinks an existing file and never writes to it, nor through a link. -1
 * and errno. */
int files_create(const char *path);

/* For temporary names: differs between processes that have the same ID, in containers or on hosts that share
 * a folder. */
uint32_t files_random(void);

/* Creates NAME.PID, or NAME.PID-2 and so on if another process with this ID, or an earlier one, has created
 * that. -1 and errno. */
int files_create_numbered(const char *name, char *path, size_t size);

/* Gives a finished file, whose link is `temporary`, such a name, and removes that link. False and errno. */
bool files_name_numbered(const char *temporary, const char *name, char *path, size_t size);

/* Writes everything, in as many parts as it takes. False and errno. */
bool files_write(int fd, const void *data, size_t bytes);

/* One read() of a kernel file such as those in /proc: at most `size` - 1 bytes, always NUL-terminated. -1 and
 * errno. */
ssize_t files_read_small(const char *path, char *text, size_t size);

/* Keeps our descriptors out of the numbers that the host gets or expects. If it has closed 0, 1 or 2, the
 * kernel gives the number to the next file that anyone opens, and what the host then prints would go into it.
 * The other low numbers are left to the host: programs put files at fixed ones, and close ranges of them. */

/* Moves a new descriptor to 256 or above, or at least above 2 where the process may not have so many, and
 * returns its number. -1 and errno: it was -1, or there is no free one; it is closed then. The result is
 * close-on-exec if it was moved. For all that opens a descriptor, except files. Async-signal-safe. */
int high_fd(int number);

/* The same for the two ends of a pipe or socket pair that were made with the result `made`. */
int high_fd_pair(int made, int ends[2]);
