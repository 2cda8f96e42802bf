/* Facts about this machine that several checks use. Paths in /dev, /proc and /sys are relative to
 * doctor->root. */
#pragma once

#include "agent/operate/doctor/doctor.h"

#include <glob.h>

/* The path below the root; allocated. */
char *doctor_facts_path(const struct doctor *doctor, const char *path);
/* A file's text, truncated to FACTS_BYTES_MAX and without trailing blanks; allocated; NULL: unreadable. */
#define FACTS_BYTES_MAX (64 * 1024)
char *doctor_facts_read(const struct doctor *doctor, const char *path);
bool doctor_facts_exists(const struct doctor *doctor, const char *path);
/* The text after "NAME:" in lines of "NAME: text"; allocated; NULL: no such line. */
char *doctor_facts_line(const char *text, const char *name);
/* NULL if unset or empty. */
const char *doctor_facts_variable(const char *name);
/* The file or variable that marks a container, or NULL. */
const char *doctor_facts_container(const struct doctor *doctor);
/* Processors available to this process; `quota`: the cgroup's CPU limit, 0 if none. */
unsigned doctor_facts_processors(const struct doctor *doctor, double *quota);

/* Runs a query in a child process. Loading a driver, a CUPTI or a resolver may crash, hang, or leave threads
 * behind. Calls work(query, answer) in a child without output, and copies the `bytes` of `answer` back. If
 * false, `answer` is zeroed and `failure` (64 bytes) says what happened to the child. */
bool probe_child_run(void (*work)(const void *query, void *answer), const void *query, void *answer,
                     size_t bytes, unsigned timeout_ms, char failure[64]);

/* The first file whose path contains `name` and that process `pid` has mapped; allocated, or NULL.
 * `is_unreadable`: the maps cannot be read. */
char *doctor_facts_mapped(const char *root, const char *pid, const char *name, bool *is_unreadable);

/* The files below `prefix` that match one of the patterns. NULL: below a virtual environment and the usual
 * prefixes of installations. */
glob_t doctor_facts_find(const char *prefix, const char *const *patterns, size_t count);
