#include "agent/operate/cdi/cdi_check.h"

#include "base/text/sanitize.h"
#include "cli/util/exit_code.h"
#include "agent/operate/cdi/cdi_scan.h"
#include "agent/operate/doctor/agent_library.h"
#include "agent/operate/run/injection.h"
#include "cli/util/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LINE_BYTES 8192 /* two paths and a sentence */

enum level { LEVEL_OK, LEVEL_NOTE, LEVEL_WARNING, LEVEL_PROBLEM, LEVEL_COUNT };

struct check {
    unsigned counts[LEVEL_COUNT];
    char *unreadable; /* reported already; owned */
};

static void report(struct check *check, enum level level, const char *format, ...) PRINTF_LIKE(3, 4);

static void report(struct check *check, enum level level, const char *format, ...)
{
    static const char *const names[LEVEL_COUNT] = {"ok", "note", "warning", "problem"};
    char clean[LINE_BYTES], *line = NULL;
    va_list args;
    va_start(args, format);
    int len = vasprintf(&line, format, args);
    va_end(args);
    if (len >= 0)
        printf("  %-8s %s\n", names[level], sanitize_line(clean, sizeof clean, line, (size_t)len));
    free(line);
    check->counts[level]++;
}

/* "GLIBC_2.28" is in a file's strings once for each version of which it requires a symbol. */
static void find_newest(const char *bytes, size_t size, unsigned *newest)
{
    static const char prefix[] = "GLIBC_2.";
    const char *end = bytes + size, *at = bytes;
    while ((at = memmem(at, (size_t)(end - at), prefix, sizeof prefix - 1))) {
        unsigned minor = 0;
        at += sizeof prefix - 1;
        for (; at < end && *at >= '0' && *at <= '9' && minor < 1000; at++)
            minor = minor * 10 + (unsigned)(*at - '0');
        if (minor > *newest)
            *newest = minor;
    }
}

bool cdi_glibc_needed(const char *path, char version[16])
{
    struct stat about;
    unsigned newest = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    size_t size = fstat(fd, &about) == 0 && S_ISREG(about.st_mode) ? (size_t)about.st_size : 0;
    void *bytes = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    if (bytes != MAP_FAILED) {
        find_newest(bytes, size, &newest);
        munmap(bytes, size);
    }
    snprintf(version, 16, "2.%u", newest);
    return newest > 0;
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

/* Several paths may have the same obstacle. */
static void check_readable(struct check *check, const char *path)
{
    struct stat about;
    char *obstacle = library_unreadable(path);
    if (stat(path, &about) != 0)
        report(check, LEVEL_PROBLEM, "%s: %s; reinstall cuspan, or run: cuspan cdi write", path,
               strerror(errno));
    if (!obstacle || (check->unreadable && strcmp(obstacle, check->unreadable) == 0)) {
        free(obstacle);
        return;
    }
    report(check, LEVEL_WARNING,
           "%s: some users cannot read it, because of the mode of %s; for their containers: chmod o+rX %s",
           path, obstacle, obstacle);
    free(check->unreadable);
    check->unreadable = obstacle;
}

static void check_label(struct check *check, const char *path)
{
    char label[256] = "";
    if (access("/sys/fs/selinux/enforce", F_OK) != 0 ||
        getxattr(path, "security.selinux", label, sizeof label - 1) <= 0 || cdi_label_is_allowed(label))
        return;
    report(
        check, LEVEL_WARNING,
        "%s: SELinux may keep containers from reading it (label %s); fix: chcon -R -t container_ro_file_t %s",
        path, label, path);
}

/* The requirement of the agent and of its export module; the container's glibc is unknown here. */
static void report_glibc(struct check *check, const char *folder)
{
    static const char *const names[] = {"libcuspan.so", "libcuspan-export.so"};
    char newest[16] = "", version[16];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = xasprintf("%s/%s", folder, names[i]);
        if (cdi_glibc_needed(path, version) && strverscmp(version, newest) > 0)
            memcpy(newest, version, sizeof newest);
        free(path);
    }
    if (*newest)
        report(check, LEVEL_NOTE,
               "the container needs glibc %s or later; with an older one, or musl, its programs run untraced",
               newest);
}

static void report_cupti(struct check *check, const char *folder)
{
    char *path = xasprintf("%s/cupti", folder);
    if (access(path, F_OK) == 0)
        report(check, LEVEL_NOTE, "CUPTI: %s, and another one in the container if that is newer", path);
    else
        report(
            check, LEVEL_NOTE,
            "CUPTI: the container's own, as in images of PyTorch or the CUDA toolkit, because there is no %s",
            path);
    free(path);
}

/* A CDI file would replace the image's own PYTHONPATH. */
static void report_python(struct check *check, const char *folder)
{
    char *path = xasprintf("%s/" PYTHON_ARCHIVE, folder);
    if (access(path, R_OK) == 0)
        report(check, LEVEL_NOTE,
               "for the steps of PyTorch, add -e PYTHONPATH=" CDI_FOLDER "/" PYTHON_ARCHIVE
               ", in front of the image's own value, if it has one");
    free(path);
}

static void report_destination(struct check *check, const struct cdi_file *file)
{
    const char *endpoint = file->set ? strstr(file->set, "endpoint=") : NULL;
    if (file->config)
        report(check, LEVEL_NOTE, "configuration: %s, instead of the container's OTEL_* variables",
               file->config);
    if (file->set)
        report(check, LEVEL_NOTE, "settings: %s, which override the container's", file->set);
    if (endpoint ? strstr(endpoint, "//localhost") || strstr(endpoint, "//127.") : !file->config)
        report(check, LEVEL_NOTE,
               "%s localhost, which is the container itself unless it uses the host's network",
               endpoint ? "spans go to"
                        : "unless the container sets OTEL_EXPORTER_OTLP_ENDPOINT, spans go to");
}

static void check_version(struct check *check, const char *folder)
{
    struct library_facts facts = {0};
    char *path = xasprintf("%s/libcuspan.so", folder);
    library_probe(path, &facts);
    if (!facts.is_loaded)
        report(check, LEVEL_PROBLEM, "%s; reinstall cuspan, or run: cuspan cdi write", facts.error);
    else if (!facts.is_agent)
        report(check, LEVEL_PROBLEM, "%s is not an agent; run: cuspan cdi write", path);
    else if (strcmp(facts.version, CUSPAN_VERSION) != 0)
        report(check, LEVEL_WARNING,
               "agent %s has version %s, but this program has " CUSPAN_VERSION
               "; for the agent of this program, "
               "run: cuspan cdi write",
               path, facts.version);
    else
        report(check, LEVEL_OK, "agent %s, version %s", path, facts.version);
    free(path);
}

static void check_mounts(struct check *check, const struct cdi_file *file)
{
    char *export_module = xasprintf("%s/libcuspan-export.so", file->folder);
    char *library = xasprintf("%s/libcuspan.so", file->folder);
    const char *const paths[] = {file->folder, library, export_module, file->program, file->config};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (!paths[i])
            continue;
        check_readable(check, paths[i]);
        check_label(check, paths[i]);
    }
    free(library);
    free(export_module);
    report_glibc(check, file->folder);
    report_cupti(check, file->folder);
    report_python(check, file->folder);
    report_destination(check, file);
    free(check->unreadable);
}

/* --- other files --- */

static void report_other(void *context, const struct cdi_other *other)
{
    struct check *check = context;
    const char *path = other->path;
    if (other->is_ours && other->is_beside)
        report(check, LEVEL_PROBLEM,
               "%s defines the same devices in the same folder, so runtimes refuse them; delete one of the "
               "files",
               path);
    else if (other->is_ours)
        report(check, LEVEL_NOTE,
               "%s is another file of cuspan; " CDI_DIRECTORY_TRANSIENT " has precedence over " CDI_DIRECTORY,
               path);
    else if (other->is_of_our_kind)
        report(check, LEVEL_PROBLEM,
               "%s defines devices of " CDI_KIND ", too, and was not written by cuspan; rename or delete it",
               path);
    else if (other->is_unreadable)
        report(check, LEVEL_WARNING, "%s cannot be read; check it as root", path);
    else if (strncmp(other->variable, "LD_", 3) != 0)
        report(check, LEVEL_WARNING,
               "%s sets %s, too: in a container with both devices, the last one wins; use only one of them",
               path, other->variable);
    else
        report(check, LEVEL_NOTE, "%s sets %s, which loads a library into programs, too", path,
               other->variable);
}

/* --- the commands --- */

static bool is_searched(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t len = (size_t)(slash - path);
    return (strlen(CDI_DIRECTORY) == len && strncmp(path, CDI_DIRECTORY, len) == 0) ||
           (strlen(CDI_DIRECTORY_TRANSIENT) == len && strncmp(path, CDI_DIRECTORY_TRANSIENT, len) == 0);
}

void cdi_describe(const char *path, const struct cdi_file *file)
{
    struct check check = {0};
    printf("%s: written\n"
           "  --device " CDI_KIND "=on     mounts the agent at " CDI_FOLDER
           " and sets CUDA_INJECTION64_PATH, NVTX_INJECTION64_PATH "
           "and NCCL_PROFILER_PLUGIN\n"
           "  --device " CDI_KIND "=files  only mounts it; the container's variables decide\n",
           path);
    check_mounts(&check, file);
    if (!is_searched(path))
        report(&check, LEVEL_NOTE,
               "runtimes search " CDI_DIRECTORY " and " CDI_DIRECTORY_TRANSIENT
               "; configure them to search %.*s, too",
               (int)(strrchr(path, '/') - path), path);
    cdi_scan(path, report_other, &check);
}

int cdi_check(const char *path)
{
    struct check check = {0};
    struct error err = {""};
    struct cdi_file file;
    struct stat about;
    printf("%s\n", path);
    enum status status = cdi_file_load(path, &file, &err);
    if (status == STATUS_NOT_FOUND) {
        report(&check, LEVEL_PROBLEM, "there is no such file; run: cuspan cdi write");
    } else if (status == STATUS_IO) {
        report(&check, LEVEL_PROBLEM, "cannot be read: %s; check it as root", err.text);
    } else if (status != STATUS_OK) {
        report(&check, LEVEL_PROBLEM,
               "not written by cuspan: %s; rename or delete it, then run: cuspan cdi write", err.text);
    } else {
        check_version(&check, file.folder);
        check_mounts(&check, &file);
        if (stat(path, &about) == 0 && !(about.st_mode & S_IROTH))
            report(&check, LEVEL_WARNING,
                   "only some users can read %s; for runtimes of other users: chmod o+r %s", path, path);
    }
    cdi_file_deinit(&file);
    cdi_scan(path, report_other, &check);
    printf("%u problem%s, %u warning%s\n", check.counts[LEVEL_PROBLEM],
           check.counts[LEVEL_PROBLEM] == 1 ? "" : "s", check.counts[LEVEL_WARNING],
           check.counts[LEVEL_WARNING] == 1 ? "" : "s");
    return check.counts[LEVEL_PROBLEM] ? EXIT_FAILED : EXIT_OK;
}
