/* Where the process runs: rank, Slurm job, container and pod. */
#pragma once

#include "base/status.h"
#include "model/resource.h"

struct deployment {
    const char *(*getenv)(const char *name); /* NULL: no such variable, or the process may read none */
    const char *root;                        /* prefix of /proc, /etc and /var; "" except in tests */
};

/* The variables and files of this process. A setuid process has no variables. */
extern const struct deployment deployment_own;

/* Adds the attributes that `resource` lacks. Unknown ones are omitted. */
enum status deployment_add(struct resource *resource, const struct deployment *from) MUST_CHECK;
