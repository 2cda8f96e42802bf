/* Keeps our descriptors out of the numbers that the host gets or expects. If it has closed 0, 1 or 2, the
 * kernel gives the number to the next file that anyone opens, and what the host then prints would go into it.
 * The other low numbers are left to the host: programs put files at fixed ones, and close ranges of them. */
#pragma once

/* Moves a new descriptor to 256 or above, or at least above 2 where the process may not have so many, and
 * returns its number. -1 and errno: it was -1, or there is no free one; it is closed then. The result is
 * close-on-exec if it was moved. For all that opens a descriptor, except files: these are opened with
 * base/files.h. Async-signal-safe. */
int high_fd(int number);

/* The same for the two ends of a pipe or socket pair that were made with the result `made`. */
int high_fd_pair(int made, int ends[2]);
