/* The process that an attach is for: its identity, which is checked again before each write, and what can be
 * known about it without stopping anything. */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define TARGET_STATUS_BYTES 8192

struct target {
    pid_t pid;
    int handle;  /* a pidfd */
    int folder;  /* /proc/PID: never that of a later process with this number */
    uid_t user;  /* effective */
    uid_t owner; /* root of its user namespace, as seen from here: a container's, or 0 */
    char program[64];
    uint64_t started, stack_start; /* of /proc/PID/stat; a new program (exec) has another stack */
    uint64_t mount_namespace, user_namespace;
    int seccomp_mode, seccomp_filters; /* filters: -1 if Linux does not tell */
};

/* Opens the process and reads its identity. NOT_FOUND: there is none. */
enum status target_open(struct target *target, pid_t pid, struct error *err) MUST_CHECK;
void target_close(struct target *target);

/* Whether it still is the same process, program, user and namespaces. */
bool target_is_same(const struct target *target);

/* UNAVAILABLE: one of the conditions under which nothing can attach, and what to do. */
enum status target_check(const struct target *target, struct error *err) MUST_CHECK;

/* Fails with UNAVAILABLE, and text behind the program and its PID. */
enum status target_refuse(const struct target *target, struct error *err, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* Its root directory. -1 and the error. */
int target_open_root(const struct target *target, struct error *err);

/* Opens a file of /proc/PID for reading, such as "maps" or "task/12/syscall". */
FILE *target_stream(const struct target *target, const char *name);
/* Reads one at once; -1 and errno. */
ssize_t target_read(const struct target *target, const char *name, char *text, size_t size);

/* The number behind "Name:" in a text of /proc/PID/status. */
uint64_t target_status_number(const char *status, const char *name, int base, uint64_t otherwise);
