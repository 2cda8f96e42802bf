#include "agent/operate/doctor/checks.h"
#include "agent/operate/doctor/doctor_facts.h"
#include "cli/util/temporary.h"
#include "cli/util/xalloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define FREE_BYTES_MIN (100ull * 1024 * 1024)
#define FILES_MIN      64
#define FILES_MAX      (OUTPUTS_MAX + 2)

void check_permissions_counters(struct doctor *doctor)
{
    char *text = doctor_facts_read(doctor, "/proc/driver/nvidia/params");
    char *admin_only = doctor_facts_line(text, "RmProfilingAdminOnly");
    if (!admin_only) {
        doctor_result(doctor, RESULT_SKIPPED, "no RmProfilingAdminOnly in /proc/driver/nvidia/params");
    } else if (strcmp(admin_only, "0") == 0) {
        doctor_result(doctor, RESULT_OK, "all users may read hardware counters (RmProfilingAdminOnly: 0)");
    } else if (geteuid() == 0) {
        doctor_result(
            doctor, RESULT_OK,
            "administrators may read hardware counters (RmProfilingAdminOnly: %s), and this user is root",
            admin_only);
    } else {
        doctor_result(
            doctor, RESULT_WARNING,
            "only administrators may read hardware counters (RmProfilingAdminOnly: %s): counters fail with "
            "ERR_NVGPUCTRPERM; spans do not need them",
            admin_only);
        doctor_fix(doctor, "add \"options nvidia NVreg_RestrictProfilingToAdminUsers=0\" to a file in "
                           "/etc/modprobe.d, then reboot");
    }
    free(admin_only);
    free(text);
}

struct target {
    const char *key, *path;
};

static size_t find_targets(const struct doctor *doctor, struct target targets[FILES_MAX])
{
    const struct settings *settings = &doctor->settings;
    size_t count = 0;
    const char *report =
        doctor->injection.accounts_file ? doctor->injection.accounts_file : settings->accounts_file;
    if (report)
        targets[count++] = (struct target){"accounts_file", report};
    if (settings->record_file)
        targets[count++] = (struct target){"record_file", settings->record_file};
    for (size_t i = 0; i < settings->output_count; i++) {
        const struct exporter_settings *exporter = &settings->outputs[i].exporter;
        if (exporter->kind == EXPORTER_FILE && exporter->endpoint)
            targets[count++] = (struct target){"output_file", exporter->endpoint};
    }
    return count;
}

/* Allocated. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? xasprintf("%.*s", slash == path ? 1 : (int)(slash - path), path) : xstrdup(".");
}

static void check_target(struct doctor *doctor, const struct target *target)
{
    struct stat about;
    char *folder = folder_of(target->path);
    /* A report's name is FILE.PID, so the file itself says nothing. */
    bool exists = strcmp(target->key, "accounts_file") != 0 && stat(target->path, &about) == 0;
    if (exists && S_ISDIR(about.st_mode)) {
        doctor_result(doctor, RESULT_PROBLEM, "%s is %s, which is a folder", target->key, target->path);
        doctor_fix(doctor, "specify a file in it");
    } else if (exists && access(target->path, W_OK) != 0) {
        doctor_result(doctor, RESULT_PROBLEM, "%s is %s: %s", target->key, target->path, strerror(errno));
        doctor_fix(doctor, "make it writable for user %d, or specify another file", (int)geteuid());
    } else if (!exists && access(folder, W_OK | X_OK) != 0) {
        doctor_result(doctor, RESULT_PROBLEM, "%s is %s: cannot create files in %s: %s", target->key,
                      target->path, folder, strerror(errno));
        doctor_fix(doctor, "create the folder, writable for user %d, or specify another file",
                   (int)geteuid());
    } else {
        doctor_result(doctor, RESULT_OK, "%s is %s, which is writable", target->key, target->path);
    }
    free(folder);
}

void check_permissions_files(struct doctor *doctor)
{
    struct target targets[FILES_MAX];
    size_t count = find_targets(doctor, targets);
    for (size_t i = 0; i < count; i++)
        check_target(doctor, &targets[i]);
    if (count == 0)
        doctor_result(doctor, RESULT_SKIPPED, "no setting names a file to write");
}

static void check_file_system(struct doctor *doctor, const char *folder, const char *what)
{
    struct statvfs about;
    char free_text[TEXT_NUMBER_BYTES];
    if (statvfs(folder, &about) != 0) {
        doctor_result(doctor, RESULT_UNKNOWN, "%s (%s): %s", folder, what, strerror(errno));
        return;
    }
    uint64_t free_bytes = (uint64_t)about.f_bavail * about.f_frsize;
    text_bytes(free_text, free_bytes);
    bool is_full = free_bytes < about.f_frsize || (about.f_files > 0 && about.f_favail == 0);
    if (about.f_flag & ST_RDONLY) {
        doctor_result(doctor, RESULT_PROBLEM, "%s (%s) is mounted read-only", folder, what);
        doctor_fix(doctor, "mount a writable volume, or specify a file elsewhere");
    } else if (is_full) {
        doctor_result(doctor, RESULT_PROBLEM, "%s (%s) is full", folder, what);
        doctor_fix(doctor, "free some space (df -h, df -i), or specify a file elsewhere");
    } else if (free_bytes < FREE_BYTES_MIN) {
        doctor_result(doctor, RESULT_WARNING, "%s (%s) has %s free", folder, what, free_text);
        doctor_fix(doctor, "free some space (df -h), or specify a file elsewhere");
    } else {
        doctor_result(doctor, RESULT_OK, "%s (%s) has %s free", folder, what, free_text);
    }
}

void check_permissions_disk(struct doctor *doctor)
{
    struct target targets[FILES_MAX];
    size_t count = find_targets(doctor, targets);
    for (size_t i = 0; i < count; i++) {
        char *folder = folder_of(targets[i].path);
        check_file_system(doctor, folder, targets[i].key);
        free(folder);
    }
    char *temporary = temporary_folder("doctor");
    if (temporary) {
        char *folder = folder_of(temporary);
        rmdir(temporary);
        check_file_system(doctor, folder, "reports of cuspan run");
        free(folder);
    } else {
        doctor_result(doctor, RESULT_WARNING, "no folder can be written for the reports of cuspan run (%s)",
                      strerror(errno));
        doctor_fix(doctor,
                   "mount a writable volume at /tmp, or set TMPDIR to one; without it, cuspan run traces "
                   "and prints no summary");
    }
    free(temporary);
}

void check_permissions_runtime(struct doctor *doctor)
{
    const char *folder = doctor_facts_variable("XDG_RUNTIME_DIR");
    struct stat about;
    if (!folder) {
        doctor_result(doctor, RESULT_SKIPPED, "XDG_RUNTIME_DIR is not set (as in most containers)");
    } else if (stat(folder, &about) != 0 || access(folder, W_OK | X_OK) != 0) {
        doctor_result(doctor, RESULT_WARNING, "XDG_RUNTIME_DIR is %s: %s", folder, strerror(errno));
        doctor_fix(doctor, "create the folder: mkdir -m 700 %s; or unset XDG_RUNTIME_DIR", folder);
    } else if (about.st_uid != geteuid() || about.st_mode & (S_IWGRP | S_IWOTH)) {
        doctor_result(doctor, RESULT_WARNING, "XDG_RUNTIME_DIR is %s, which is %s", folder,
                      about.st_uid != geteuid() ? "owned by another user" : "writable for others");
        doctor_fix(doctor, "chown %d %s && chmod 700 %s, or unset XDG_RUNTIME_DIR", (int)geteuid(), folder,
                   folder);
    } else {
        doctor_result(doctor, RESULT_OK, "XDG_RUNTIME_DIR is %s, private to this user", folder);
    }
}

/* Reports a limit below `least`. */
static bool is_limit_low(struct doctor *doctor, int resource, rlim_t least, const char *what, const char *fix)
{
    struct rlimit limit;
    if (getrlimit((unsigned)resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        limit.rlim_cur >= least)
        return false;
    doctor_result(doctor, RESULT_WARNING, what, (unsigned long long)limit.rlim_cur);
    doctor_fix(doctor, "%s", fix);
    return true;
}

void check_permissions_limits(struct doctor *doctor)
{
    bool has_result =
        is_limit_low(doctor, RLIMIT_NOFILE, FILES_MIN,
                     "at most %llu open files: too few for a program with a connection to a collector",
                     "ulimit -n 1024, or LimitNOFILE= in the service's unit");
    has_result |= is_limit_low(doctor, RLIMIT_AS, RLIM_INFINITY,
                               "at most %llu bytes of address space: CUDA reserves far more",
                               "ulimit -v unlimited; limit memory with a cgroup instead");
    has_result |= is_limit_low(doctor, RLIMIT_FSIZE, FREE_BYTES_MIN,
                               "at most %llu bytes per file: files of spans and recordings are truncated",
                               "ulimit -f unlimited");
    has_result |=
        is_limit_low(doctor, RLIMIT_MEMLOCK, 64 * 1024,
                     "at most %llu bytes of locked memory: too few for pinned memory in some containers",
                     "ulimit -l unlimited, or docker run --ulimit memlock=-1");
    has_result |= is_limit_low(
        doctor, RLIMIT_NPROC, 32,
        "at most %llu processes and threads for this user: CUPTI, CUDA and cuspan create a dozen",
        "ulimit -u 4096, or TasksMax= in the service's unit");
    if (!has_result)
        doctor_result(
            doctor, RESULT_OK,
            "the limits on open files, address space, file size, locked memory and threads are high enough");
}

/* The agent runs under the default filters of Docker and Kubernetes. */
void check_permissions_seccomp(struct doctor *doctor)
{
    char *status = doctor_facts_read(doctor, "/proc/self/status");
    char *mode = doctor_facts_line(status, "Seccomp");
    if (!mode) {
        doctor_result(doctor, RESULT_UNKNOWN, "/proc/self/status has no Seccomp line");
    } else if (strcmp(mode, "1") == 0) {
        doctor_result(doctor, RESULT_PROBLEM, "seccomp strict mode: cuspan cannot create threads");
        doctor_fix(doctor, "use a seccomp filter (mode 2), or run the program without seccomp");
    } else {
        doctor_result(doctor, RESULT_OK, "%s",
                      strcmp(mode, "0") == 0 ? "no seccomp filter" : "a seccomp filter, but not strict mode");
    }
    free(mode);
    free(status);
}
