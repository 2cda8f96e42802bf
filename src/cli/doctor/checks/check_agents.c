#include "cli/doctor/checks.h"
#include "cli/doctor/doctor_facts.h"
#include "cli/util/xalloc.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINES_MAX 12 /* more processes are counted */

struct found {
    size_t lines, more, closed;
};

/* The first mapped file of that name, as the line has it; allocated, or NULL. `is_closed`: it can't be read.
 */
static char *mapped_file(const struct doctor *doctor, const char *pid, const char *name, bool *is_closed)
{
    char *path = xasprintf("%s/proc/%s/maps", doctor->root, pid), *found = NULL;
    FILE *maps = fopen(path, "re");
    char *line = NULL;
    size_t size = 0;
    free(path);
    *is_closed = maps == NULL && access("/proc/self/maps", R_OK) == 0;
    while (maps && !found && getline(&line, &size, maps) > 0) {
        char *file = strchr(line, '/');
        if (file && strstr(file, name))
            found = xasprintf("%.*s", (int)strcspn(file, "\n"), file);
    }
    free(line);
    if (maps)
        fclose(maps);
    return found;
}

static bool has_threads_of_ours(const struct doctor *doctor, const char *pid)
{
    char *path = xasprintf("%s/proc/%s/task", doctor->root, pid);
    DIR *tasks = opendir(path);
    const struct dirent *task;
    bool has_one = false;
    while (tasks && !has_one && (task = readdir(tasks))) {
        char *comm = xasprintf("/proc/%s/task/%s/comm", pid, task->d_name);
        char *name = isdigit((unsigned char)task->d_name[0]) ? doctor_facts_read(doctor, comm) : NULL;
        has_one = name && strncmp(name, "cuspan/", 7) == 0;
        free(name);
        free(comm);
    }
    if (tasks)
        closedir(tasks);
    free(path);
    return has_one;
}

static void judge_agent(struct doctor *doctor, const char *pid, const char *name, const char *library)
{
    if (strstr(library, " (deleted)")) {
        doctor_say(doctor, FOUND_WARNING, "process %s (%s) has an agent whose file has been replaced: %s",
                   pid, name, library);
        doctor_mend(doctor, "start the program again, to have the one that is installed now");
    } else if (!has_threads_of_ours(doctor, pid)) {
        doctor_say(doctor, FOUND_WARNING,
                   "process %s (%s) has an agent that doesn't trace: disabled, failed, not "
                   "sampled, or CUDA not begun (%s)",
                   pid, name, library);
        doctor_mend(doctor, "its line on standard error says why; OTEL_LOG_LEVEL=info has it say more");
    } else {
        doctor_say(doctor, FOUND_OK, "process %s (%s) has an agent at work: %s", pid, name, library);
    }
}

static void judge_process(struct doctor *doctor, const char *pid, struct found *found)
{
    bool is_closed, ignored;
    char *comm = xasprintf("/proc/%s/comm", pid);
    char *name = doctor_facts_read(doctor, comm);
    char *library = mapped_file(doctor, pid, "/libcuspan.so", &is_closed);
    char *driver = library ? NULL : mapped_file(doctor, pid, "/libcuda.so", &ignored);
    found->closed += is_closed;
    if ((library || driver) && found->lines == LINES_MAX) {
        found->more++;
    } else if (library) {
        found->lines++;
        judge_agent(doctor, pid, name ? name : "?", library);
    } else if (driver) {
        found->lines++;
        doctor_say(doctor, FOUND_WARNING,
                   "process %s (%s) uses CUDA and has no agent: it was started without", pid,
                   name ? name : "?");
        doctor_mend(doctor,
                    "start it again by cuspan run: CUDA offers no way in from outside (a program may call "
                    "cuspan_start() of cuspan.h itself)");
    }
    free(driver);
    free(library);
    free(name);
    free(comm);
}

void check_agents_running(struct doctor *doctor)
{
    struct found found = {0};
    char *path = doctor_facts_path(doctor, "/proc"), own[16];
    DIR *processes = opendir(path);
    const struct dirent *entry;
    snprintf(own, sizeof own, "%d", (int)getpid());
    free(path);
    while (processes && (entry = readdir(processes))) {
        if (isdigit((unsigned char)entry->d_name[0]) && strcmp(entry->d_name, own) != 0)
            judge_process(doctor, entry->d_name, &found);
    }
    if (!processes)
        doctor_say(doctor, FOUND_UNKNOWN, "/proc can't be read");
    else
        closedir(processes);
    if (processes && found.lines == 0)
        doctor_say(doctor, FOUND_NOT_HERE, "no process uses CUDA%s",
                   found.closed ? ", as far as this user may look" : "");
    if (found.more)
        doctor_say(doctor, FOUND_OK, "and %zu more processes with CUDA or an agent", found.more);
}
