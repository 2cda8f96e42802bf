#include "agent/operate/doctor/doctor_facts.h"

#include "cli/util/xalloc.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *doctor_facts_path(const struct doctor *doctor, const char *path)
{
    return xasprintf("%s%s", doctor->root, path);
}

char *doctor_facts_read(const struct doctor *doctor, const char *path)
{
    char *real = doctor_facts_path(doctor, path);
    FILE *file = fopen(real, "re");
    free(real);
    if (!file)
        return NULL;
    char *text = xcalloc(FACTS_BYTES_MAX + 1, 1);
    size_t got = fread(text, 1, FACTS_BYTES_MAX, file);
    bool failed = ferror(file);
    fclose(file);
    while (got > 0 && strchr(" \t\n", text[got - 1]))
        text[--got] = '\0';
    if (!failed)
        return text;
    free(text);
    return NULL;
}

bool doctor_facts_exists(const struct doctor *doctor, const char *path)
{
    char *real = doctor_facts_path(doctor, path);
    bool exists = access(real, F_OK) == 0;
    free(real);
    return exists;
}

char *doctor_facts_line(const char *text, const char *name)
{
    size_t len = strlen(name);
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, len) == 0 && line[len] == ':') {
            const char *value = line + len + 1;
            value += strspn(value, " \t");
            return xasprintf("%.*s", (int)strcspn(value, "\n"), value);
        }
    }
    return NULL;
}

const char *doctor_facts_variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

const char *doctor_facts_container(const struct doctor *doctor)
{
    if (doctor_facts_exists(doctor, "/.dockerenv"))
        return "/.dockerenv";
    if (doctor_facts_exists(doctor, "/run/.containerenv"))
        return "/run/.containerenv";
    if (doctor_facts_variable("KUBERNETES_SERVICE_HOST"))
        return "KUBERNETES_SERVICE_HOST";
    return doctor_facts_variable("container") ? "container" : NULL;
}

/* The CPU limit of cgroup v2, or of v1, if the container's own is mounted; 0: none. */
static double read_quota(const struct doctor *doctor)
{
    long long quota = 0, period = 0;
    char *text = doctor_facts_read(doctor, "/sys/fs/cgroup/cpu.max");
    if (text) {
        if (sscanf(text, "%lld %lld", &quota, &period) != 2)
            quota = 0; /* "max" */
    } else {
        char *period_text = doctor_facts_read(doctor, "/sys/fs/cgroup/cpu/cpu.cfs_period_us");
        text = doctor_facts_read(doctor, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
        quota = text ? atoll(text) : 0;
        period = period_text ? atoll(period_text) : 0;
        free(period_text);
    }
    free(text);
    return quota > 0 && period > 0 ? (double)quota / (double)period : 0;
}

unsigned doctor_facts_processors(const struct doctor *doctor, double *quota)
{
    cpu_set_t set;
    *quota = read_quota(doctor);
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (unsigned)CPU_COUNT(&set);
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (unsigned)count : 1;
}

char *doctor_facts_mapped(const char *root, const char *pid, const char *name, bool *is_unreadable)
{
    char *path = xasprintf("%s/proc/%s/maps", root, pid), *found = NULL;
    FILE *maps = fopen(path, "re");
    char *line = NULL;
    size_t size = 0;
    free(path);
    *is_unreadable = maps == NULL && access("/proc/self/maps", R_OK) == 0;
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

glob_t doctor_facts_find(const char *prefix, const char *const *patterns, size_t count)
{
    const char *home = doctor_facts_variable("HOME");
    char *local = home ? xasprintf("%s/.local", home) : NULL;
    const char *const usual[] = {doctor_facts_variable("VIRTUAL_ENV"),
                                 doctor_facts_variable("CONDA_PREFIX"),
                                 local,
                                 "/usr/local",
                                 "/usr",
                                 "/opt/cuspan"};
    size_t places = prefix ? 1 : sizeof usual / sizeof *usual;
    glob_t found = {0};
    for (size_t p = 0; p < places; p++) {
        const char *place = prefix ? prefix : usual[p];
        for (size_t i = 0; place && i < count; i++) {
            char *pattern = xasprintf("%s/%s", place, patterns[i]);
            glob(pattern, found.gl_pathv ? GLOB_APPEND : 0, NULL, &found);
            free(pattern);
        }
    }
    free(local);
    return found;
}
