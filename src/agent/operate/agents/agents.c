#include "agent/operate/agents/agents.h"

#include "cli/util/xalloc.h"
#include "cli/args/options.h"

#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

uint64_t agents_number(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(item) && item->valuedouble > 0 ? (uint64_t)item->valuedouble : 0;
}

int64_t agents_signed(const cJSON *object, const char *key, int64_t otherwise)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(item) ? (int64_t)item->valuedouble : otherwise;
}

const char *agents_text(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(item) ? item->valuestring : "";
}

const char *agents_title(const struct agent *agent)
{
    static struct text title;
    text_clear(&title);
    const char *program = agents_text(agent->description, "program");
    text_add_clean(&title, *program ? program : "process", text_locale_is_utf8());
    text_add_format(&title, *program ? " (PID %ld)" : " %ld", agent->pid);
    return title.data;
}

/* --- asking --- */

static bool wait_for(int agent, short what, uint64_t deadline_ns)
{
    for (;;) {
        struct pollfd polled = {.fd = agent, .events = what};
        uint64_t now_ns = clock_monotonic_ns();
        if (now_ns >= deadline_ns)
            return false;
        int found = poll(&polled, 1, (int)((deadline_ns - now_ns) / NS_PER_MS) + 1);
        if (found > 0)
            return true;
        if (found < 0 && errno != EINTR)
            return false;
    }
}

static bool send_request(int agent, const char *request, uint64_t deadline_ns)
{
    char line[CONTROL_REQUEST_BYTES];
    int length = snprintf(line, sizeof line, "%s\n", request);
    return length < (int)sizeof line && wait_for(agent, POLLOUT, deadline_ns) &&
           send(agent, line, (size_t)length, MSG_NOSIGNAL) == length;
}

/* The number of bytes until the agent closes; -1: it does not close in time, or sends too much. */
static ssize_t receive(int agent, char *answer, size_t room, uint64_t deadline_ns)
{
    size_t used = 0;
    while (used < room && wait_for(agent, POLLIN, deadline_ns)) {
        ssize_t got = recv(agent, answer + used, room - used, 0);
        if (got == 0 || (got < 0 && errno == ECONNRESET))
            return (ssize_t)used;
        if (got < 0 && errno != EINTR && errno != EAGAIN)
            return -1;
        used += got > 0 ? (size_t)got : 0;
    }
    return -1;
}

static enum reach converse(int agent, const char *request, uint64_t deadline_ns, cJSON **answer)
{
    char *text = xcalloc(CONTROL_ANSWER_BYTES, 1);
    bool is_sent = send_request(agent, request, deadline_ns);
    ssize_t length = is_sent || errno == EPIPE ? receive(agent, text, CONTROL_ANSWER_BYTES, deadline_ns) : -1;
    *answer = length > 0 ? cJSON_ParseWithLength(text, (size_t)length) : NULL;
    if (*answer && !cJSON_IsObject(*answer)) {
        cJSON_Delete(*answer);
        *answer = NULL;
    }
    free(text);
    if (*answer)
        return REACHED;
    /* Closed without an answer: the socket is another user's. */
    return length == 0 ? REACH_REFUSED : REACH_SILENT;
}

static enum reach reach_of_error(int folder, const char *name)
{
    if (errno == ECONNREFUSED) {
        unlinkat(folder, name, 0);
        return REACH_GONE;
    }
    if (errno == ENOENT)
        return REACH_GONE;
    return errno == EACCES || errno == EPERM ? REACH_REFUSED : REACH_SILENT;
}

static uid_t owner_of(const char *folder)
{
    struct stat facts;
    bool is_root = geteuid() == 0;
    return is_root && lstat(folder, &facts) == 0 ? facts.st_uid : geteuid();
}

enum reach agents_ask(const struct agent *agent, const char *request, uint32_t timeout_ms, cJSON **answer)
{
    uint64_t deadline_ns = clock_monotonic_ns() + timeout_ms * NS_PER_MS;
    *answer = NULL;
    int folder = control_path_open_folder(agent->folder, owner_of(agent->folder), false);
    if (folder < 0)
        return errno == ENOENT ? REACH_GONE : REACH_REFUSED;
    int connected = control_path_connect(folder, agent->folder, agent->name);
    enum reach reach = connected >= 0 ? converse(connected, request, deadline_ns, answer)
                                      : reach_of_error(folder, agent->name);
    if (connected >= 0)
        close(connected);
    close(folder);
    return reach;
}

/* --- finding --- */

static void add(struct agents *agents, const char *folder, const char *name)
{
    static size_t capacity;
    if (agents->count == AGENTS_MAX)
        return;
    if (!agents->items)
        capacity = 0;
    agents->items = xgrow(agents->items, &capacity, agents->count + 1, sizeof *agents->items);
    struct agent *agent = &agents->items[agents->count];
    *agent = (struct agent){.pid = strtol(name, NULL, 10)};
    snprintf(agent->folder, sizeof agent->folder, "%s", folder);
    snprintf(agent->name, sizeof agent->name, "%.*s", (int)sizeof agent->name - 1, name);
    agent->reach = agents_ask(agent, "describe", AGENTS_DESCRIBE_MS, &agent->description);
    if (agent->description)
        agent->pid = (long)agents_number(agent->description, "pid");
    agents->count += agent->reach != REACH_GONE;
}

static bool is_socket_name(const char *name)
{
    size_t length = strlen(name), suffix = sizeof CONTROL_SUFFIX - 1;
    return *name >= '0' && *name <= '9' && length > suffix && length < sizeof((struct agent *)0)->name &&
           strcmp(name + length - suffix, CONTROL_SUFFIX) == 0;
}

/* Once per process, because `cuspan top` polls repeatedly and owns the screen. */
static bool has_complained;

/* `is_named`: by an option. A folder of the environment may wait for its first agent. */
static void look_in(struct agents *agents, const char *path, bool is_named)
{
    int folder = control_path_open_folder(path, owner_of(path), false);
    if (folder < 0 && errno == EPERM && !has_complained)
        fprintf(stderr, "cuspan: %s is skipped: it belongs to another user, or others can write to it\n",
                path);
    else if (folder < 0 && is_named && !has_complained)
        fprintf(stderr, "cuspan: %s: %s\n", path, strerror(errno));
    DIR *directory = folder >= 0 ? fdopendir(folder) : NULL;
    if (!directory)
        return;
    for (const struct dirent *entry; (entry = readdir(directory));)
        if (is_socket_name(entry->d_name))
            add(agents, path, entry->d_name);
    closedir(directory);
}

/* For all users: each directory in `parent` that starts with `prefix`, and `rest` in it. */
static void look_below(struct agents *agents, const char *parent, const char *prefix, const char *rest)
{
    char path[CONTROL_PATH_BYTES];
    DIR *directory = opendir(parent);
    if (!directory)
        return;
    for (const struct dirent *entry; (entry = readdir(directory));) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 || entry->d_name[0] == '.')
            continue;
        int length = snprintf(path, sizeof path, "%s/%s%s", parent, entry->d_name, rest);
        if (length < 0 || (size_t)length >= sizeof path)
            continue;
        look_in(agents, path, false);
    }
    closedir(directory);
}

static int by_pid(const void *a, const void *b)
{
    const struct agent *one = a, *other = b;
    return one->pid < other->pid ? -1 : one->pid > other->pid;
}

void agents_find(struct agents *agents, const char *folder)
{
    char places[CONTROL_PLACES_MAX][CONTROL_PATH_BYTES];
    const char *set = folder ? folder : getenv("CUSPAN_CONTROL_DIRECTORY");
    bool is_everywhere = geteuid() == 0 && (!set || !*set);
    *agents = (struct agents){.count = 0};
    size_t count = control_path_list(set, getenv("XDG_RUNTIME_DIR"), geteuid(), places);
    for (size_t i = 0; i < count; i++) {
        bool is_for_all =
            strncmp(places[i], "/run/user/", 10) == 0 || strncmp(places[i], "/tmp/cuspan-", 12) == 0;
        if (!is_everywhere || !is_for_all)
            look_in(agents, places[i], folder != NULL);
    }
    if (is_everywhere) {
        look_below(agents, "/run/user", "", "/cuspan");
        look_below(agents, "/tmp", "cuspan-", "");
    }
    has_complained = true;
    if (agents->count)
        qsort(agents->items, agents->count, sizeof *agents->items, by_pid);
}

void agents_deinit(struct agents *agents)
{
    for (size_t i = 0; i < agents->count; i++)
        cJSON_Delete(agents->items[i].description);
    free(agents->items);
    *agents = (struct agents){.count = 0};
}
