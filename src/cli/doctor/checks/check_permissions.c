#include "cli/doctor/checks.h"
#include "cli/doctor/probe_child.h"
#include "cli/doctor/doctor_facts.h"
#include "cli/util/xalloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#define ROOM_BYTES_MIN (100ull * 1024 * 1024)
#define FILES_MIN      64
#define FILES_MAX      (OUTPUTS_MAX + 2)

/* --- counters --- */

void check_permissions_counters(struct doctor *doctor)
{
    char *text = doctor_facts_read(doctor, "/proc/driver/nvidia/params");
    char *admin_only = doctor_facts_line(text, "RmProfilingAdminOnly");
    if (!admin_only) {
        doctor_say(doctor, FOUND_NOT_HERE, "no RmProfilingAdminOnly in /proc/driver/nvidia/params");
    } else if (strcmp(admin_only, "0") == 0) {
        doctor_say(doctor, FOUND_OK, "every user may read them (RmProfilingAdminOnly: 0)");
    } else if (geteuid() == 0) {
        doctor_say(doctor, FOUND_OK, "administrators may (RmProfilingAdminOnly: %s), and this user is root",
                   admin_only);
    } else {
        doctor_say(doctor, FOUND_WARNING,
                   "for administrators alone (RmProfilingAdminOnly: %s): counters end with "
                   "ERR_NVGPUCTRPERM; spans need none",
                   admin_only);
        doctor_mend(doctor,
                    "options nvidia NVreg_RestrictProfilingToAdminUsers=0 in /etc/modprobe.d, then reboot");
    }
    free(admin_only);
    free(text);
}

/* --- files --- */

struct target {
    const char *key, *path;
};

static size_t find_targets(const struct doctor *doctor, struct target targets[FILES_MAX])
{
    const struct settings *settings = &doctor->settings;
    size_t count = 0;
    const char *report =
        doctor->injection.report_file ? doctor->injection.report_file : settings->report_file;
    if (report)
        targets[count++] = (struct target){"report_file", report};
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

static void judge_target(struct doctor *doctor, const struct target *target)
{
    struct stat about;
    char *folder = folder_of(target->path);
    /* A report is FILE.PID: the file itself says nothing. */
    bool is_there = strcmp(target->key, "report_file") != 0 && stat(target->path, &about) == 0;
    if (is_there && S_ISDIR(about.st_mode)) {
        doctor_say(doctor, FOUND_PROBLEM, "%s is a folder: %s", target->key, target->path);
        doctor_mend(doctor, "name a file in it");
    } else if (is_there && access(target->path, W_OK) != 0) {
        doctor_say(doctor, FOUND_PROBLEM, "%s, %s: %s", target->key, target->path, strerror(errno));
        doctor_mend(doctor, "make it writable to user %d, or name another file", (int)geteuid());
    } else if (!is_there && access(folder, W_OK | X_OK) != 0) {
        doctor_say(doctor, FOUND_PROBLEM, "%s, %s: nothing can be made in %s: %s", target->key, target->path,
                   folder, strerror(errno));
        doctor_mend(doctor, "make the folder, writable to user %d, or name another file", (int)geteuid());
    } else {
        doctor_say(doctor, FOUND_OK, "%s, %s, can be written", target->key, target->path);
    }
    free(folder);
}

void check_permissions_files(struct doctor *doctor)
{
    struct target targets[FILES_MAX];
    size_t count = find_targets(doctor, targets);
    for (size_t i = 0; i < count; i++)
        judge_target(doctor, &targets[i]);
    if (count == 0)
        doctor_say(doctor, FOUND_NOT_HERE, "the settings name no file to write");
}

static void judge_disk(struct doctor *doctor, const char *folder, const char *what)
{
    struct statvfs about;
    char room[TEXT_NUMBER_BYTES];
    if (statvfs(folder, &about) != 0) {
        doctor_say(doctor, FOUND_UNKNOWN, "%s (%s): %s", folder, what, strerror(errno));
        return;
    }
    uint64_t free_bytes = (uint64_t)about.f_bavail * about.f_frsize;
    text_bytes(room, free_bytes);
    bool is_full = free_bytes < about.f_frsize || (about.f_files > 0 && about.f_favail == 0);
    if (about.f_flag & ST_RDONLY) {
        doctor_say(doctor, FOUND_PROBLEM, "%s (%s) is mounted read-only", folder, what);
        doctor_mend(doctor, "mount a volume that can be written, or name a file elsewhere");
    } else if (is_full) {
        doctor_say(doctor, FOUND_PROBLEM, "%s (%s) is full", folder, what);
        doctor_mend(doctor, "make room (df -h, df -i), or name a file elsewhere");
    } else if (free_bytes < ROOM_BYTES_MIN) {
        doctor_say(doctor, FOUND_WARNING, "%s (%s) has %s left", folder, what, room);
        doctor_mend(doctor, "make room (df -h), or name a file elsewhere");
    } else {
        doctor_say(doctor, FOUND_OK, "%s (%s) has %s left", folder, what, room);
    }
}

void check_permissions_disk(struct doctor *doctor)
{
    struct target targets[FILES_MAX];
    size_t count = find_targets(doctor, targets);
    const char *temporary = doctor_facts_variable("TMPDIR") ? doctor_facts_variable("TMPDIR") : "/tmp";
    for (size_t i = 0; i < count; i++) {
        char *folder = folder_of(targets[i].path);
        judge_disk(doctor, folder, targets[i].key);
        free(folder);
    }
    judge_disk(doctor, temporary, "reports of cuspan run");
}

/* --- the process --- */

void check_permissions_runtime(struct doctor *doctor)
{
    const char *folder = doctor_facts_variable("XDG_RUNTIME_DIR");
    struct stat about;
    if (!folder) {
        doctor_say(doctor, FOUND_NOT_HERE, "XDG_RUNTIME_DIR is not set, as in most containers");
    } else if (stat(folder, &about) != 0 || access(folder, W_OK | X_OK) != 0) {
        doctor_say(doctor, FOUND_WARNING, "XDG_RUNTIME_DIR is %s: %s", folder, strerror(errno));
        doctor_mend(doctor, "unset it, or make that folder: mkdir -m 700 %s", folder);
    } else if (about.st_uid != geteuid() || about.st_mode & (S_IWGRP | S_IWOTH)) {
        doctor_say(doctor, FOUND_WARNING, "XDG_RUNTIME_DIR, %s, is %s", folder,
                   about.st_uid != geteuid() ? "another user's" : "open to others");
        doctor_mend(doctor, "chown %d %s && chmod 700 %s, or unset the variable", (int)geteuid(), folder,
                    folder);
    } else {
        doctor_say(doctor, FOUND_OK, "%s, this user's alone", folder);
    }
}

/* A limit below what is needed; said so. */
static bool is_low(struct doctor *doctor, int resource, rlim_t least, const char *what, const char *mend)
{
    struct rlimit limit;
    if (getrlimit((unsigned)resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        limit.rlim_cur >= least)
        return false;
    doctor_say(doctor, FOUND_WARNING, what, (unsigned long long)limit.rlim_cur);
    doctor_mend(doctor, "%s", mend);
    return true;
}

void check_permissions_limits(struct doctor *doctor)
{
    bool is_said = is_low(doctor, RLIMIT_NOFILE, FILES_MIN,
                          "%llu files may be open at once: too few for a host and "
                          "the connection to a collector",
                          "ulimit -n 1024, or LimitNOFILE= of the service");
    is_said |= is_low(doctor, RLIMIT_AS, RLIM_INFINITY,
                      "the address space is limited to %llu bytes: CUDA takes much "
                      "more, though not in memory",
                      "ulimit -v unlimited; limit memory by a cgroup");
    is_said |= is_low(doctor, RLIMIT_FSIZE, ROOM_BYTES_MIN,
                      "files may have %llu bytes at most: those of spans or "
                      "recordings end there",
                      "ulimit -f unlimited");
    is_said |= is_low(doctor, RLIMIT_MEMLOCK, 64 * 1024,
                      "%llu bytes may be locked in memory: too few for pinned "
                      "memory in some containers",
                      "ulimit -l unlimited, or docker run --ulimit memlock=-1");
    is_said |= is_low(doctor, RLIMIT_NPROC, 32,
                      "%llu processes and threads for this user: CUPTI, CUDA and cuspan make "
                      "a dozen",
                      "ulimit -u 4096, or TasksMax= of the service");
    if (!is_said)
        doctor_say(doctor, FOUND_OK, "files, address space, file size, locked memory, threads");
}

struct seccomp_try {
    int reads_own_memory; /* errno, or 0 */
};

/* What the agent uses beyond what every program does; a filter that kills ends the child alone. */
static void try_calls(const void *question, void *answer)
{
    struct seccomp_try *tried = answer;
    char from[8] = "cuspan", to[8];
    struct iovec local = {to, sizeof to}, remote = {from, sizeof from};
    if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != (ssize_t)sizeof to)
        tried->reads_own_memory = errno ? errno : EIO;
}

void check_permissions_seccomp(struct doctor *doctor)
{
    char *status = doctor_facts_read(doctor, "/proc/self/status");
    char *mode = doctor_facts_line(status, "Seccomp");
    struct seccomp_try tried;
    char how[64];
    enum child_end end = probe_child_ask(try_calls, NULL, &tried, sizeof tried, 5000, how);
    if (mode && strcmp(mode, "1") == 0) {
        doctor_say(doctor, FOUND_PROBLEM, "seccomp's strict mode: no thread of cuspan's can live here");
        doctor_mend(doctor, "have the program use a filter (mode 2), or trace it without seccomp");
    } else if (end != CHILD_ANSWERED || tried.reads_own_memory) {
        doctor_say(doctor, FOUND_WARNING,
                   "a filter keeps processes from reading their own memory by "
                   "process_vm_readv (%s): what SDKs publish of a process isn't seen",
                   end == CHILD_ANSWERED ? strerror(tried.reads_own_memory) : how);
        doctor_mend(doctor,
                    "docker run --security-opt seccomp=unconfined, or allow process_vm_readv in the profile");
    } else if (!mode) {
        doctor_say(doctor, FOUND_UNKNOWN, "/proc/self/status doesn't tell");
    } else {
        doctor_say(doctor, FOUND_OK, "%s",
                   strcmp(mode, "0") == 0 ? "no filter"
                                          : "a filter, which lets through what "
                                            "cuspan needs");
    }
    free(mode);
    free(status);
}
