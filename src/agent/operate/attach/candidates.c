#include "agent/operate/attach/candidates.h"

#include "agent/operate/attach/remote_memory.h"
#include "agent/operate/attach/target.h"
#include "base/files.h"
#include "cli/util/xalloc.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The script or module among Python's arguments, or NULL. */
static const char *script_of(const char *arguments, const char *end)
{
    for (const char *at = arguments + strlen(arguments) + 1; at < end; at += strlen(at) + 1) {
        const char *value = at + strlen(at) + 1;
        bool has_value = strcmp(at, "-m") == 0 || strcmp(at, "-X") == 0 || strcmp(at, "-W") == 0;
        if (strcmp(at, "-c") == 0 || (has_value && value >= end))
            return NULL;
        if (strcmp(at, "-m") == 0)
            return value;
        if (*at != '-')
            return remote_file_name(at);
        if (has_value)
            at = value;
    }
    return NULL;
}

void candidates_name(const char *arguments, size_t length, char *name, size_t size)
{
    const char *program = remote_file_name(arguments);
    const char *script = strncmp(program, "python", 6) == 0 ? script_of(arguments, arguments + length) : NULL;
    snprintf(name, size, "%s", script && *script ? script : program);
}

static bool has_device(const struct target *target)
{
    DIR *folder = files_open_folder_at(target->folder, "fd");
    bool is_found = false;
    for (const struct dirent *entry; folder && !is_found && (entry = readdir(folder));) {
        char path[64];
        ssize_t length = readlinkat(dirfd(folder), entry->d_name, path, sizeof path - 1);
        path[length > 0 ? length : 0] = 0;
        is_found = strncmp(path, "/dev/nvidia", 11) == 0;
    }
    if (folder)
        closedir(folder);
    return is_found;
}

static void read_use(struct candidate *candidate, const struct target *target)
{
    struct remote_maps maps = {0};
    char cgroup[4096];
    if (target_read(target, "cgroup", cgroup, sizeof cgroup) > 0)
        container_find_id(cgroup, candidate->container);
    FILE *file = target_stream(target, "maps");
    candidate->is_readable = file && remote_maps_read(&maps, file);
    if (file)
        fclose(file);
    candidate->uses_gpu = remote_maps_find(&maps, "libcuda.so") || has_device(target);
    candidate->has_agent = remote_maps_find(&maps, "libcuspan.so");
    remote_maps_deinit(&maps);
}

static void add(struct candidates *candidates, pid_t pid, uid_t user)
{
    struct target target;
    struct error unused;
    char arguments[4096];
    if (target_open(&target, pid, &unused) != STATUS_OK)
        return;
    ssize_t length = target_read(&target, "cmdline", arguments, sizeof arguments);
    if (length > 0 &&
        (user == CANDIDATES_EVERY_USER || user == target.user)) { /* the kernel's threads have none */
        struct candidate candidate = {.pid = pid, .user = target.user};
        candidates_name(arguments, (size_t)length, candidate.program, sizeof candidate.program);
        read_use(&candidate, &target);
        candidates->items =
            xgrow(candidates->items, &candidates->capacity, candidates->count + 1, sizeof candidate);
        candidates->items[candidates->count++] = candidate;
    }
    target_close(&target);
}

static int by_pid(const void *a, const void *b)
{
    const struct candidate *one = a, *other = b;
    return one->pid < other->pid ? -1 : one->pid > other->pid;
}

uid_t candidates_user(void)
{
    return geteuid() == 0 ? CANDIDATES_EVERY_USER : geteuid();
}

void candidates_find(struct candidates *candidates, uid_t user)
{
    DIR *processes = opendir("/proc");
    *candidates = (struct candidates){0};
    for (const struct dirent *entry; processes && (entry = readdir(processes));) {
        pid_t pid = isdigit((unsigned char)*entry->d_name) ? (pid_t)strtol(entry->d_name, NULL, 10) : 0;
        if (pid > 0 && pid != getpid())
            add(candidates, pid, user);
    }
    if (processes)
        closedir(processes);
    if (candidates->count)
        qsort(candidates->items, candidates->count, sizeof *candidates->items, by_pid);
}

void candidates_deinit(struct candidates *candidates)
{
    free(candidates->items);
    *candidates = (struct candidates){0};
}
