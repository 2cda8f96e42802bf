/* Standard output and standard error as they were when the library was loaded. A daemon closes its
 * descriptors, and then its data files get these numbers: nothing of ours may be written there. */
#pragma once

#include <stdbool.h>

/* Whether STDOUT_FILENO or STDERR_FILENO still refers to the file that it referred to then, and writing to it
 * overwrites nothing. Async-signal-safe. */
bool standard_fd_is_usable(int number);

/* Remembers the files that the numbers refer to now. Runs when the library is loaded; for tests otherwise. */
void standard_fd_remember(void);
