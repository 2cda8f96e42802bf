/* The CDI file (Container Device Interface) that adds the agent to containers: a mount of its folder, and the
 * variables that make CUDA load it. Container runtimes read it from the folders of CDI files. */
#pragma once

#include "base/status.h"

#define CDI_KIND      "cuspan.io/agent"
#define CDI_FILE_NAME "cuspan.json"
/* The oldest released version. Runtimes accept all versions up to their own: Podman 4.3.1 refuses 0.6.0. */
#define CDI_VERSION "0.3.0"

/* Paths in the container. The command finds the agent in ../lib/cuspan. */
#define CDI_FOLDER  "/opt/cuspan/lib/cuspan"
#define CDI_LIBRARY CDI_FOLDER "/libcuspan.so"
#define CDI_PROGRAM "/opt/cuspan/bin/cuspan"
#define CDI_CONFIG  "/opt/cuspan/config.yaml"

/* The data that the file passes to containers. Paths are those of the host. A zeroed one is empty. */
struct cdi_file {
    char *folder;  /* of libcuspan.so; owned, like the others */
    char *program; /* the command line, or NULL */
    char *config;  /* a configuration file, or NULL */
    char *set;     /* the value of CUSPAN_SET, or NULL */
};

void cdi_file_deinit(struct cdi_file *file);

/* DIRECTORY/cuspan.json; the caller frees it. */
char *cdi_file_path(const char *directory);

/* The content as JSON; the caller frees it. INVALID: a string is not UTF-8, so JSON cannot contain it. */
enum status cdi_file_format(const struct cdi_file *file, char **json, struct error *err) MUST_CHECK;
/* INVALID: no release of cuspan writes such a file; the error says why. */
enum status cdi_file_check(const char *json, struct error *err) MUST_CHECK;

/* Checks the file at `path`, without following a link. NOT_FOUND; INVALID: as of cdi_file_check(); IO. */
enum status cdi_file_check_at(const char *path, struct error *err) MUST_CHECK;
/* Replaces the file at `path` atomically, and creates its folder. Every user can read both. */
enum status cdi_file_save(const char *path, const struct cdi_file *file, struct error *err) MUST_CHECK;

/* The advice after a failed write in a folder of CDI files: a static text. */
const char *cdi_file_advice(int error_number);
