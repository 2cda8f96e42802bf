/* Finds other CDI files that affect the same containers: those of our kind, and those that make CUDA or the
 * dynamic loader load a library. */
#pragma once

#include <stdbool.h>

/* The folders that runtimes read unless configured otherwise. The second has precedence; its files do not
 * survive a restart of the machine. */
#define CDI_DIRECTORY           "/etc/cdi"
#define CDI_DIRECTORY_TRANSIENT "/var/run/cdi"

struct cdi_other {
    const char *path;
    bool is_ours;         /* written by `cuspan cdi` */
    bool is_beside;       /* in the folder of the file for which the scan is */
    bool is_of_our_kind;  /* defines devices of CDI_KIND; also true if is_ours */
    bool is_unreadable;   /* the rest is unknown */
    const char *variable; /* it sets this one; NULL: none that matters. CUDA_INJECTION64_PATH comes first */
};

typedef void cdi_scan_fn(void *context, const struct cdi_other *other);

/* Calls `found` for each such file in the folder of `path` and in the two above, except for `path` itself. */
void cdi_scan(const char *path, cdi_scan_fn *found, void *context);
