/* Facts of this machine that several checks go by. Paths below /dev, /proc and /sys are looked at below
 * doctor->root. */
#ifndef CUSPAN_CLI_DOCTOR_DOCTOR_FACTS_H
#define CUSPAN_CLI_DOCTOR_DOCTOR_FACTS_H

#include "cli/doctor/doctor.h"

/* The path below the root; allocated. */
char *doctor_facts_path(const struct doctor *doctor, const char *path);
/* A file's text, its end cut at FACTS_BYTES_MAX and trailing blanks left off; allocated; NULL: it can't be
 * read. */
#define FACTS_BYTES_MAX (64 * 1024)
char *doctor_facts_read(const struct doctor *doctor, const char *path);
bool doctor_facts_exists(const struct doctor *doctor, const char *path);
/* The text behind "NAME:" in lines of "NAME: text"; allocated; NULL: there is none. */
char *doctor_facts_line(const char *text, const char *name);
/* A variable that is set to something, or NULL. */
const char *doctor_facts_variable(const char *name);
/* What says that this is a container, or NULL. */
const char *doctor_facts_container(const struct doctor *doctor);
/* Processors that this process may use; `quota`: and the share that its cgroup leaves it, 0: no bound. */
unsigned doctor_facts_processors(const struct doctor *doctor, double *quota);

#endif
