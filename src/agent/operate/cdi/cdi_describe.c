#include "agent/operate/cdi/cdi_describe.h"

#include "base/text/sanitize.h"
#include "agent/operate/cdi/cdi_scan.h"
#include "agent/operate/doctor/agent_library.h"
#include "agent/operate/run/injection.h"
#include "cli/util/xalloc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LINE_BYTES 8192 /* two paths and a sentence */

static void report(const char *level, const char *format, ...) PRINTF_LIKE(2, 3);

static void report(const char *level, const char *format, ...)
{
    char clean[LINE_BYTES], *line = NULL;
    va_list args;
    va_start(args, format);
    int len = vasprintf(&line, format, args);
    va_end(args);
    if (len >= 0)
        printf("  %-8s %s\n", level, sanitize_line(clean, sizeof clean, line, (size_t)len));
    free(line);
}

bool cdi_label_is_allowed(const char *label)
{
    static const char *const types[] = {
        "usr_t", "lib_t", "bin_t", "textrel_shlib_t", "container_file_t", "container_ro_file_t"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const char *at = strstr(label, types[i]);
        size_t len = strlen(types[i]);
        if (at && at > label && at[-1] == ':' && (at[len] == ':' || at[len] == '\0'))
            return true;
    }
    return false;
}

/* --- what the file mounts --- */

/* `said`: the obstacle of the latest path, reported already; owned. Several paths may have the same one. */
static void describe_mode(const char *path, char **said)
{
    struct stat about;
    char *obstacle = library_unreadable(path);
    if (stat(path, &about) != 0)
        report("problem", "%s: %s; reinstall cuspan, or run: cuspan cdi write", path, strerror(errno));
    if (!obstacle || (*said && strcmp(obstacle, *said) == 0)) {
        free(obstacle);
        return;
    }
    report("warning",
           "%s: some users cannot read it, because of the mode of %s; for their containers: chmod o+rX %s",
           path, obstacle, obstacle);
    free(*said);
    *said = obstacle;
}

static void describe_label(const char *path)
{
    char label[256] = "";
    if (access("/sys/fs/selinux/enforce", F_OK) != 0 ||
        getxattr(path, "security.selinux", label, sizeof label - 1) <= 0 || cdi_label_is_allowed(label))
        return;
    report(
        "warning",
        "%s: SELinux may keep containers from reading it (label %s); fix: chcon -R -t container_ro_file_t %s",
        path, label, path);
}

static void describe_mounts(const struct cdi_file *file)
{
    char *export_module = xasprintf("%s/libcuspan-export.so", file->folder);
    char *library = xasprintf("%s/libcuspan.so", file->folder), *said = NULL;
    const char *const paths[] = {file->folder, library, export_module, file->program, file->config};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (!paths[i])
            continue;
        describe_mode(paths[i], &said);
        describe_label(paths[i]);
    }
    free(library);
    free(export_module);
    free(said);
}

/* --- what to expect in the container --- */

static void describe_needs(const char *folder)
{
    char *cupti = xasprintf("%s/cupti", folder), *archive = xasprintf("%s/" PYTHON_ARCHIVE, folder);
    report("note", "the container needs glibc 2.28 or later (an agent built from source: that of its build); "
                   "with an older one, or musl, its programs run untraced");
    if (access(cupti, F_OK) == 0)
        report("note", "CUPTI: %s, and another one in the container if that is newer", cupti);
    else
        report(
            "note",
            "CUPTI: the container's own, as in images of PyTorch or the CUDA toolkit, because there is no %s",
            cupti);
    if (access(archive, R_OK) == 0) /* a CDI file would replace the image's own PYTHONPATH */
        report("note", "for the steps of PyTorch, add -e PYTHONPATH=" CDI_FOLDER "/" PYTHON_ARCHIVE
                       ", in front of the image's own value, if it has one");
    free(cupti);
    free(archive);
}

static void describe_destination(const struct cdi_file *file)
{
    const char *endpoint = file->set ? strstr(file->set, "endpoint=") : NULL;
    if (file->config)
        report("note", "configuration: %s, instead of the container's OTEL_* variables", file->config);
    if (file->set)
        report("note", "settings: %s, which override the container's", file->set);
    if (endpoint ? strstr(endpoint, "//localhost") || strstr(endpoint, "//127.") : !file->config)
        report("note", "%s localhost, which is the container itself unless it uses the host's network",
               endpoint ? "spans go to"
                        : "unless the container sets OTEL_EXPORTER_OTLP_ENDPOINT, spans go to");
}

/* --- other files --- */

static void describe_other(void *context, const struct cdi_other *other)
{
    const char *path = other->path;
    if (other->is_ours && !other->is_beside)
        report("note",
               "%s is another file of cuspan; " CDI_DIRECTORY_TRANSIENT " has precedence over " CDI_DIRECTORY,
               path);
    else if (other->is_of_our_kind)
        report("problem",
               "%s defines the same devices in the same folder, so runtimes refuse them; delete one of the "
               "files",
               path);
    else if (other->is_unreadable)
        report("warning", "%s cannot be read; check it as root", path);
    else if (strncmp(other->variable, "LD_", 3) != 0)
        report("warning",
               "%s sets %s, too: in a container with both devices, the last one wins; use only one of them",
               path, other->variable);
    else
        report("note", "%s sets %s, which loads a library into programs, too", path, other->variable);
}

static bool is_searched(const char *path)
{
    return strcmp(path, CDI_DIRECTORY "/" CDI_FILE_NAME) == 0 ||
           strcmp(path, CDI_DIRECTORY_TRANSIENT "/" CDI_FILE_NAME) == 0;
}

void cdi_describe(const char *path, const struct cdi_file *file)
{
    printf("%s: written\n"
           "  --device " CDI_KIND "=on     mounts the agent at " CDI_FOLDER
           " and sets CUDA_INJECTION64_PATH, NVTX_INJECTION64_PATH "
           "and NCCL_PROFILER_PLUGIN\n"
           "  --device " CDI_KIND "=files  only mounts it; the container's variables decide\n",
           path);
    describe_mounts(file);
    describe_needs(file->folder);
    describe_destination(file);
    if (!is_searched(path))
        report("note",
               "runtimes search " CDI_DIRECTORY " and " CDI_DIRECTORY_TRANSIENT
               "; configure them to search %.*s, too",
               (int)(strrchr(path, '/') - path), path);
    cdi_scan(path, describe_other, NULL);
}
