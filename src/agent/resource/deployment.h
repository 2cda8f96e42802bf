/* Where the process runs: its rank among others, its container, its pod, its Slurm job. */
#ifndef CUSPAN_AGENT_SURROUNDINGS_H
#define CUSPAN_AGENT_SURROUNDINGS_H

#include "base/status.h"
#include "model/resource.h"

struct deployment {
    const char *(*getenv)(const char *name); /* NULL where there is no such variable, or none may be read */
    const char *root;                        /* stands before /proc, /etc and /var: "", but in a test */
};

/* The variables and files of this process. A program with another user's rights has no variables. */
extern const struct deployment deployment_own;

/* Adds to `resource` what it lacks. What can't be found out is left out. */
enum status deployment_add(struct resource *resource, const struct deployment *from) MUST_CHECK;

#endif
