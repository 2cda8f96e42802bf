/* Keeps our descriptors out of the numbers 0, 1 and 2. If the host has closed one of these, the kernel gives
 * the number to the next file that anyone opens, and what the host then prints would go into it. */
#ifndef CUSPAN_BASE_PROCESS_HIGH_FD_H
#define CUSPAN_BASE_PROCESS_HIGH_FD_H

/* Moves a new descriptor above 2 and returns its number. -1 and errno: it was -1, or there is no free one; it
 * is closed then. The result is close-on-exec if it was moved. For all that opens a descriptor, except files:
 * these are opened with base/files.h. Async-signal-safe. */
int high_fd(int number);

/* The same for the two ends of a pipe or socket pair that were made with the result `made`. */
int high_fd_pair(int made, int ends[2]);

#endif
