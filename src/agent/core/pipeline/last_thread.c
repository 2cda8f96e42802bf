#include "agent/core/pipeline/pipeline_state.h"

#include "base/clock.h"
#include "base/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INTERVAL_NS (250 * NS_PER_MS)
#define OURS_MAX    16 /* with more threads than this, some are the host's */
#define OWN_PREFIX  "cuspan/"

static bool is_ours(const char *thread)
{
    char path[64], name[32];
    snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", thread);
    /* A thread that has just ended does not count. */
    return files_read_small(path, name, sizeof name) <= 0 ||
           strncmp(name, OWN_PREFIX, sizeof OWN_PREFIX - 1) == 0;
}

static bool are_all_ours(void)
{
    char leader[24];
    bool all = true;
    DIR *threads = files_open_folder("/proc/self/task");
    if (!threads)
        return false;
    snprintf(leader, sizeof leader, "%d", (int)getpid());
    for (const struct dirent *entry; all && (entry = readdir(threads)) != NULL;)
        all = entry->d_name[0] == '.' || strcmp(entry->d_name, leader) == 0 || is_ours(entry->d_name);
    closedir(threads);
    return all;
}

bool last_thread_check(uint64_t now_ns)
{
    static uint64_t due_ns;
    struct stat threads;
    if (now_ns < due_ns)
        return false;
    due_ns = now_ns + INTERVAL_NS;
    /* The link count of a directory is that of its subdirectories plus two. */
    if (stat("/proc/self/task", &threads) != 0 || threads.st_nlink > 2 + OURS_MAX)
        return false;
    /* The main thread's entry stays in /proc until the process ends. */
    char text[512];
    const char *end = files_read_small("/proc/self/stat", text, sizeof text) > 0 ? strrchr(text, ')') : NULL;
    return end && strncmp(end, ") Z", 3) == 0 && are_all_ours();
}
