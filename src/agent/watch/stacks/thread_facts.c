#include "agent/watch/stacks/thread_facts.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/text/sanitize.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define START_FIELD 20 /* fields from the state to the start time */

/* Sorts, as IDs are nearly always in order already. */
static void insert(int32_t *tids, uint32_t count, int32_t tid)
{
    for (; count > 0 && tids[count - 1] > tid; count--)
        tids[count] = tids[count - 1];
    tids[count] = tid;
}

uint32_t thread_facts_list(int32_t *tids, uint32_t max)
{
    _Alignas(8) char entries[4096];
    uint32_t count = 0;
    long bytes;
    int folder = files_open("/proc/self/task", O_RDONLY | O_DIRECTORY);
    /* opendir() would allocate, and a thread may hang with the allocator's lock. */
    while (folder >= 0 && (bytes = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0) {
        for (long at = 0; at < bytes;) {
            const struct dirent64 *entry = (const void *)(entries + at);
            int32_t tid = (int32_t)strtol(entry->d_name, NULL, 10);
            if (tid > 0 && count < max)
                insert(tids, count, tid);
            count += tid > 0;
            at += entry->d_reclen;
        }
    }
    files_give_up(folder);
    return count;
}

bool thread_facts_parse_stat(const char *stat, struct thread_stack *thread)
{
    const char *name = strchr(stat, '('), *end = strrchr(stat, ')');
    if (!name || !end || end < name || end[1] != ' ')
        return false;
    sanitize_line(thread->name, sizeof thread->name, name + 1, (size_t)(end - name - 1));
    const char *at = end + 2;
    thread->state = *at;
    for (int i = 1; i < START_FIELD && at; i++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    thread->start_ticks = at ? strtoull(at, NULL, 10) : 0;
    return true;
}

void thread_facts_parse_call(const char *call, struct thread_stack *thread)
{
    char *rest;
    thread->call = STACK_CALL_UNKNOWN;
    thread->sp = thread->pc = 0;
    if (strncmp(call, "running", 7) == 0) {
        thread->call = STACK_CALL_RUNNING;
        return;
    }
    long long number = strtoll(call, &rest, 10);
    if (rest == call)
        return;
    int arguments = number >= 0 ? 6 : 0;
    uint64_t values[8] = {0};
    for (int i = 0; i < arguments + 2; i++) {
        const char *before = rest;
        values[i] = strtoull(before, &rest, 16);
        if (rest == before)
            return;
    }
    thread->call = number;
    thread->sp = values[arguments];
    thread->pc = values[arguments + 1];
}

uint64_t thread_facts_cpu_ns(int32_t tid)
{
    /* The clock of a thread that may have no pthread_t: MAKE_THREAD_CPUCLOCK() of the kernel. */
    const clockid_t of_scheduler = 2, of_thread = 4;
    struct timespec used;
    if (clock_gettime((clockid_t)((~(uint32_t)tid << 3) | (uint32_t)(of_scheduler | of_thread)), &used) != 0)
        return 0;
    return (uint64_t)used.tv_sec * NS_PER_SECOND + (uint64_t)used.tv_nsec;
}

static ssize_t read_file(int32_t tid, const char *name, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/%s", tid, name);
    return files_read_small(path, text, size);
}

bool thread_facts_read(int32_t tid, struct thread_stack *thread)
{
    char text[1024];
    *thread = (struct thread_stack){.tid = tid};
    if (read_file(tid, "stat", text, sizeof text) <= 0 || !thread_facts_parse_stat(text, thread))
        return false;
    read_file(tid, "syscall", text, sizeof text);
    thread_facts_parse_call(text, thread);
    if (thread->call != STACK_CALL_RUNNING && read_file(tid, "wchan", text, sizeof text) > 0 &&
        strcmp(text, "0") != 0)
        sanitize_line(thread->wait, sizeof thread->wait, text, strlen(text));
    thread->is_ours = strncmp(thread->name, "cuspan/", 7) == 0;
    return true;
}
