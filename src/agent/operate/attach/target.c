#include "agent/operate/attach/target.h"

#include "agent/operate/attach/machine.h"
#include "base/files.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* --- reading --- */

ssize_t target_read(const struct target *target, const char *name, char *text, size_t size)
{
    int file = files_open_at(target->folder, name, O_RDONLY);
    size_t used = 0;
    ssize_t got = -1;
    while (file >= 0 && used < size - 1 && (got = read(file, text + used, size - 1 - used)) > 0)
        used += (size_t)got;
    text[used] = 0;
    files_give_up(file);
    return file < 0 || got < 0 ? -1 : (ssize_t)used;
}

FILE *target_stream(const struct target *target, const char *name)
{
    int file = files_open_at(target->folder, name, O_RDONLY);
    FILE *stream = file >= 0 ? fdopen(file, "r") : NULL;
    if (!stream)
        files_give_up(file);
    return stream;
}

enum status target_refuse(const struct target *target, struct error *err, const char *format, ...)
{
    char text[ERROR_TEXT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set(err, STATUS_UNAVAILABLE, "%s (PID %d)%s%s", target->program, (int)target->pid,
                     *text == ':' ? "" : " ", text);
}

int target_open_root(const struct target *target, struct error *err)
{
    int root = files_open_at(target->folder, "root", O_RDONLY | O_DIRECTORY);
    if (root < 0)
        (void)error_set(err, STATUS_UNAVAILABLE, "the files of %s (PID %d) cannot be seen: %s",
                        target->program, (int)target->pid, strerror(errno));
    return root;
}

uint64_t target_status_number(const char *status, const char *name, int base, uint64_t otherwise)
{
    size_t length = strlen(name);
    for (const char *line = status; line; line = strchr(line, '\n'), line += line != NULL)
        if (strncmp(line, name, length) == 0 && line[length] == ':')
            return strtoull(line + length + 1, NULL, base);
    return otherwise;
}

static char state_of(const char *status)
{
    const char *line = strstr(status, "\nState:\t");
    return line ? line[8] : 'X';
}

/* --- identity --- */

static uint64_t namespace_of(int folder, const char *name)
{
    struct stat facts;
    return fstatat(folder, name, &facts, 0) == 0 ? facts.st_ino : 0;
}

/* Field 1 is the PID; the name in field 2 may have spaces and parentheses. */
static uint64_t stat_field(const char *text, int number)
{
    const char *at = strrchr(text, ')');
    for (int field = 2; at && field < number; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

#define STARTED     22
#define STACK_START 28

static bool read_identity(struct target *target)
{
    char status[TARGET_STATUS_BYTES], stat_text[1024], map[64];
    unsigned inside, owner;
    if (target_read(target, "status", status, sizeof status) <= 0 ||
        target_read(target, "stat", stat_text, sizeof stat_text) <= 0)
        return false;
    const char *users = strstr(status, "\nUid:");
    unsigned real, effective = (unsigned)-1;
    if (!users || sscanf(users, "\nUid: %u %u", &real, &effective) != 2)
        return false;
    target->user = effective;
    target->owner = 0;
    if (target_read(target, "uid_map", map, sizeof map) > 0 && sscanf(map, "%u %u", &inside, &owner) == 2 &&
        inside == 0)
        target->owner = owner;
    target->started = stat_field(stat_text, STARTED);
    target->stack_start = stat_field(stat_text, STACK_START);
    target->mount_namespace = namespace_of(target->folder, "ns/mnt");
    target->user_namespace = namespace_of(target->folder, "ns/user");
    target->seccomp_mode = (int)target_status_number(status, "Seccomp", 10, 0);
    target->seccomp_filters = (int)target_status_number(status, "Seccomp_filters", 10, (uint64_t)-1);
    snprintf(target->program, sizeof target->program, "%.*s", (int)strcspn(status + 6, "\n"), status + 6);
    return true;
}

enum status target_open(struct target *target, pid_t pid, struct error *err)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    *target = (struct target){.pid = pid, .handle = (int)syscall(SYS_pidfd_open, pid, 0), .folder = -1};
    if (target->handle < 0 && errno == EINVAL)
        return error_set(err, STATUS_NOT_FOUND, "%d is a thread, not a process", (int)pid);
    if (target->handle < 0 && errno == ENOSYS)
        return error_set(err, STATUS_UNSUPPORTED, "attaching needs Linux 5.6 or later");
    if (target->handle >= 0)
        target->folder = files_open(path, O_RDONLY | O_DIRECTORY);
    /* The folder is of the same process only if that was not gone, which a zombie is not. */
    if (target->folder >= 0 && read_identity(target) &&
        (syscall(SYS_pidfd_send_signal, target->handle, 0, NULL, 0) == 0 || errno == EPERM))
        return STATUS_OK;
    target_close(target);
    return error_set(err, STATUS_NOT_FOUND, "there is no process %d", (int)pid);
}

void target_close(struct target *target)
{
    files_give_up(target->handle);
    files_give_up(target->folder);
    target->handle = target->folder = -1;
}

bool target_is_same(const struct target *target)
{
    struct pollfd handle = {.fd = target->handle, .events = POLLIN}; /* readable once it has ended */
    struct target now = {.folder = target->folder};
    return poll(&handle, 1, 0) == 0 && read_identity(&now) && now.user == target->user &&
           now.started == target->started && now.stack_start == target->stack_start &&
           now.mount_namespace == target->mount_namespace && now.user_namespace == target->user_namespace;
}

/* --- conditions --- */

#define TITLE     "%s (PID %d) "
#define TITLED(t) (t)->program, (int)(t)->pid

static enum status check_state(const struct target *target, const char *status, struct error *err)
{
    char name[64] = "another program", path[32];
    char state = state_of(status);
    pid_t tracer = (pid_t)target_status_number(status, "TracerPid", 10, 0);
    if (state == 'Z' || state == 'X')
        return target_refuse(target, err, "has ended, and its parent has not noticed yet (a zombie)");
    if (!strstr(status, "\nVmSize:"))
        return target_refuse(target, err, "is a thread of the kernel");
    if (tracer || state == 't') {
        snprintf(path, sizeof path, "/proc/%d/comm", (int)tracer);
        if (tracer && files_read_small(path, name, sizeof name) > 0)
            name[strcspn(name, "\n")] = 0;
        return target_refuse(target, err, "is traced by %s (PID %d) already; end that first", name,
                             (int)tracer);
    }
    if (state == 'T')
        return target_refuse(target, err, "is stopped; kill -CONT %d continues it", (int)target->pid);
    const char *why = machine_refuses(status);
    return why ? target_refuse(target, err, "cannot be attached to: %s", why) : STATUS_OK;
}

static bool has_capability(int number)
{
    char status[TARGET_STATUS_BYTES];
    return files_read_small("/proc/self/status", status, sizeof status) > 0 &&
           target_status_number(status, "CapEff", 16, 0) >> number & 1;
}

static long yama_scope(void)
{
    char text[16];
    return files_read_small("/proc/sys/kernel/yama/ptrace_scope", text, sizeof text) > 0
               ? strtol(text, NULL, 10)
               : 0;
}

/* The kernel only says no. The order is that of how likely a reason is. */
static enum status explain_refusal(const struct target *target, struct error *err)
{
    const struct passwd *entry = getpwuid(target->user);
    long yama = yama_scope();
    if (yama == 3)
        return target_refuse(target, err,
                             "cannot be attached to: kernel.yama.ptrace_scope is 3, which forbids it to "
                             "everyone until the machine is restarted");
    if (geteuid() == 0 && !has_capability(CAP_SYS_PTRACE))
        return target_refuse(target, err,
                             "cannot be attached to without CAP_SYS_PTRACE; run cuspan on the host, or start "
                             "this container with it (docker run --cap-add SYS_PTRACE)");
    if (geteuid() == 0)
        return target_refuse(target, err,
                             "cannot be attached to, also by root: another user namespace (a container's; "
                             "attach from the host) or a security module (SELinux, AppArmor) forbids it");
    if (target->user != geteuid())
        return target_refuse(target, err, "belongs to user %s; run: sudo cuspan attach %d",
                             entry ? entry->pw_name : "?", (int)target->pid);
    if (yama == 1 || yama == 2)
        return target_refuse(target, err,
                             "cannot be attached to: kernel.yama.ptrace_scope is %ld, which leaves it to "
                             "root; run: sudo cuspan attach %d",
                             yama, (int)target->pid);
    return target_refuse(target, err,
                         "does not let others read its memory (PR_SET_DUMPABLE, or it has changed its user); "
                         "run: sudo cuspan attach %d",
                         (int)target->pid);
}

/* This file needs the same permission as ptrace(). */
static enum status check_permission(const struct target *target, struct error *err)
{
    char text[256];
    if (target_read(target, "syscall", text, sizeof text) >= 0)
        return STATUS_OK;
    if (errno == EPERM || errno == EACCES)
        return explain_refusal(target, err);
    return target_refuse(target, err, "cannot be attached to: /proc/%d/syscall: %s", (int)target->pid,
                         errno == ENOENT ? "this kernel does not have it" : strerror(errno));
}

static enum status check_program(const struct target *target, struct error *err)
{
    Elf64_Ehdr head = {.e_machine = 0};
    int file = files_open_at(target->folder, "exe", O_RDONLY);
    bool is_read = file >= 0 && read(file, &head, sizeof head) == sizeof head &&
                   memcmp(head.e_ident, ELFMAG, SELFMAG) == 0;
    files_give_up(file);
    if (!is_read)
        return target_refuse(target, err, "cannot be attached to: its program cannot be read");
    if (head.e_ident[EI_CLASS] != ELFCLASS64)
        return target_refuse(target, err, "is a 32-bit program, for which there is no agent");
    if (head.e_machine != machine_elf)
        return target_refuse(target, err, "is a program for another processor (an emulator runs it?)");
    return STATUS_OK;
}

/* The agent takes no settings there, from any user. */
static enum status check_rights(const struct target *target, struct error *err)
{
    Elf64_auxv_t vector[64];
    int file = files_open_at(target->folder, "auxv", O_RDONLY);
    ssize_t bytes = file >= 0 ? read(file, vector, sizeof vector) : 0;
    files_give_up(file);
    for (size_t i = 0; bytes > 0 && i < (size_t)bytes / sizeof *vector; i++)
        if (vector[i].a_type == AT_SECURE && vector[i].a_un.a_val)
            return target_refuse(
                target, err, "runs with another user's rights (set-user-ID), so the agent takes no settings");
    return STATUS_OK;
}

enum status target_check(const struct target *target, struct error *err)
{
    char text[TARGET_STATUS_BYTES];
    if (target_read(target, "status", text, sizeof text) <= 0)
        return error_set(err, STATUS_NOT_FOUND, TITLE "has ended", TITLED(target));
    enum status status = check_state(target, text, err);
    if (status == STATUS_OK)
        status = check_permission(target, err);
    if (status == STATUS_OK)
        status = check_program(target, err);
    if (status == STATUS_OK)
        status = check_rights(target, err);
    return status;
}
