#include "agent/operate/doctor/checks.h"
#include "agent/operate/doctor/doctor_facts.h"
#include "cli/util/xalloc.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHOWN_MAX 12 /* further processes are only counted */

struct process_counts {
    size_t shown, more, unreadable;
};

static bool has_agent_threads(const struct doctor *doctor, const char *pid)
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

static void check_agent(struct doctor *doctor, const char *pid, const char *name, const char *library)
{
    if (strstr(library, " (deleted)")) {
        doctor_result(doctor, RESULT_WARNING, "process %s (%s) runs an agent whose file was replaced: %s",
                      pid, name, library);
        doctor_fix(doctor, "restart the program to load the installed version");
    } else if (!has_agent_threads(doctor, pid)) {
        doctor_result(doctor, RESULT_WARNING,
                      "process %s (%s) has an agent that does not trace (%s): it is disabled, failed or not "
                      "sampled, or CUDA is not initialized",
                      pid, name, library);
        doctor_fix(doctor, "read the agent's line on standard error; set OTEL_LOG_LEVEL=info for more");
    } else {
        doctor_result(doctor, RESULT_OK, "process %s (%s) has an active agent: %s", pid, name, library);
    }
}

static bool has_driver(const struct doctor *doctor, const char *pid)
{
    bool is_unreadable;
    char *driver = doctor_facts_mapped(doctor->root, pid, "/libcuda.so", &is_unreadable);
    free(driver);
    return driver != NULL;
}

static void check_process(struct doctor *doctor, const char *pid, struct process_counts *counts)
{
    bool is_unreadable;
    char *comm = xasprintf("/proc/%s/comm", pid);
    char *name = doctor_facts_read(doctor, comm);
    char *library = doctor_facts_mapped(doctor->root, pid, "/libcuspan.so", &is_unreadable);
    bool uses_cuda = library || has_driver(doctor, pid);
    counts->unreadable += is_unreadable;
    if (uses_cuda && counts->shown == SHOWN_MAX) {
        counts->more++;
    } else if (library) {
        counts->shown++;
        check_agent(doctor, pid, name ? name : "?", library);
    } else if (uses_cuda) {
        counts->shown++;
        doctor_result(doctor, RESULT_WARNING, "process %s (%s) uses CUDA without an agent", pid,
                      name ? name : "?");
        doctor_fix(doctor, "trace it with cuspan attach %s, or restart it with cuspan run", pid);
    }
    free(library);
    free(name);
    free(comm);
}

void check_agents_running(struct doctor *doctor)
{
    struct process_counts counts = {0};
    char *path = doctor_facts_path(doctor, "/proc"), own[16];
    DIR *processes = opendir(path);
    const struct dirent *entry;
    snprintf(own, sizeof own, "%d", (int)getpid());
    free(path);
    while (processes && (entry = readdir(processes))) {
        if (isdigit((unsigned char)entry->d_name[0]) && strcmp(entry->d_name, own) != 0)
            check_process(doctor, entry->d_name, &counts);
    }
    if (!processes)
        doctor_result(doctor, RESULT_UNKNOWN, "cannot read /proc");
    else
        closedir(processes);
    if (processes && counts.shown == 0)
        doctor_result(doctor, RESULT_SKIPPED, "no process uses CUDA%s",
                      counts.unreadable ? " (some processes are not readable for this user)" : "");
    if (counts.more)
        doctor_result(doctor, RESULT_OK, "%zu more processes with CUDA or an agent", counts.more);
}
