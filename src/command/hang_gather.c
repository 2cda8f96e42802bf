#include "command/hang_gather.h"

#include "base/clock.h"
#include "base/files.h"
#include "cli/util/text.h"
#include "cli/util/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define AT_ONCE    64         /* programs that run */
#define OUTPUT_MAX (64 << 20) /* bytes of a host: about 80 ranks that have all calls of all communicators */
#define WRITE_MAX  (1 << 20)  /* a program that writes too much passes OUTPUT_MAX by less */
#define HOSTS_MAX  65536
#define WORDS_MAX  16
#define POLL_NS    10000000
#define GRACE_NS   NS_PER_SECOND /* from SIGTERM to SIGKILL: srun ends its step */
#define EXIT_HANG  3

#define REMOTE "cuspan", "hang", "--json", "--this-host"

/* The programs, with their arguments; none goes through a shell here. $t is the target, $n the namespace, $h
 * the host. An argument whose value is unknown is left out. */
static const struct {
    const char *find[WORDS_MAX];   /* prints the hosts */
    const char *expand[WORDS_MAX]; /* of what it printed ($h) makes one word for each host */
    const char *each[WORDS_MAX];
} tools[GATHER_WAYS] = {
    [GATHER_JOB] = {{"squeue", "--noheader", "--jobs=$t", "--format=%N"},
                    {"scontrol", "show", "hostnames", "$h"},
                    {"srun", "--jobid=$t", "--overlap", "--nodes=1", "--ntasks=1", "--nodelist=$h", REMOTE}},
    [GATHER_PODS] = {{"kubectl", "get", "pods", "--namespace=$n", "--selector=$t",
                      "--field-selector=status.phase=Running", "--output=name"},
                     {NULL},
                     {"kubectl", "exec", "--namespace=$n", "$h", "--", REMOTE}},
    [GATHER_HOSTS] = {
        {NULL}, {NULL}, {"ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "--", "$h", REMOTE}}};

struct child {
    char *host, *words[WORDS_MAX];
    int output, errors; /* memfds; the program's offset is ours, so it tells how much it wrote */
    pid_t pid;          /* 0: it does not run */
    uint64_t started_ns;
    bool is_told; /* to end */
    char *answer; /* NULL: none */
    size_t len;
    char why[200];
};

static void make_words(struct child *child, const char *const *words, const struct gathering *gathering,
                       const char *target)
{
    size_t count = 0;
    for (size_t i = 0; i < WORDS_MAX && words[i]; i++) {
        const char *place = strchr(words[i], '$');
        const char *value = !place            ? ""
                            : place[1] == 't' ? target
                            : place[1] == 'n' ? gathering->namespace
                                              : child->host;
        if (value)
            child->words[count++] =
                place ? xasprintf("%.*s%s", (int)(place - words[i]), words[i], value) : xstrdup(words[i]);
    }
}

/* A file in memory that cannot grow further: a program may write faster than we look. */
static int bounded_file(const char *name, off_t bytes)
{
    int file = high_fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (file >= 0 && (ftruncate(file, bytes) != 0 || fcntl(file, F_ADD_SEALS, F_SEAL_GROW) != 0)) {
        close(file);
        file = -1;
    }
    return file;
}

static void start(struct child *child)
{
    posix_spawn_file_actions_t actions;
    child->output = bounded_file("output", OUTPUT_MAX + WRITE_MAX);
    child->errors = bounded_file("errors", WRITE_MAX);
    child->started_ns = clock_now_ns();
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, child->output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, child->errors, STDERR_FILENO);
    int wrong = posix_spawnp(&child->pid, child->words[0], &actions, NULL, child->words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (wrong) {
        child->pid = 0;
        snprintf(child->why, sizeof child->why, "cannot run %s: %s", child->words[0], strerror(wrong));
    }
}

static size_t written(int file)
{
    off_t at = lseek(file, 0, SEEK_CUR);
    return at > 0 ? (size_t)at : 0;
}

static char *read_all(int file, size_t limit, size_t *len)
{
    size_t size = written(file) < limit ? written(file) : limit;
    char *bytes = xcalloc(size + 1, 1);
    ssize_t got = pread(file, bytes, size, 0);
    *len = got > 0 ? (size_t)got : 0;
    return bytes;
}

static bool wrote_too_much(struct child *child)
{
    bool is_large = written(child->output) > OUTPUT_MAX;
    if (is_large)
        snprintf(child->why, sizeof child->why, "more than %u MiB of output", OUTPUT_MAX >> 20);
    return is_large;
}

/* The first line that the program wrote about its failure. */
static void explain(struct child *child, int wait_status)
{
    size_t len;
    char *errors = read_all(child->errors, sizeof child->why / 2, &len);
    char *line = errors + strspn(errors, " \r\n");
    struct text clean = {0};
    line[strcspn(line, "\r\n")] = 0;
    text_add_clean(&clean, line, false);
    snprintf(child->why, sizeof child->why, "%s ended with %s %d%s%s", child->words[0],
             WIFSIGNALED(wait_status) ? "signal" : "status",
             WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status), *line ? ": " : "",
             clean.data ? clean.data : "");
    text_deinit(&clean);
    free(errors);
}

/* Ends a program that takes too long or writes too much. */
static void limit(struct child *child, const struct gathering *gathering)
{
    uint64_t ns = clock_now_ns() - child->started_ns, limit_ns = gathering->timeout_ms * NS_PER_MS;
    bool is_large = wrote_too_much(child);
    if (child->is_told && (is_large || ns > limit_ns + GRACE_NS))
        kill(child->pid, SIGKILL);
    if (child->is_told || (!is_large && ns < limit_ns))
        return;
    if (!is_large)
        snprintf(child->why, sizeof child->why, "no answer within %u ms", gathering->timeout_ms);
    kill(child->pid, SIGTERM);
    child->is_told = true;
}

/* True: it has ended. */
static bool poll_child(struct child *child, const struct gathering *gathering)
{
    int status = 0;
    pid_t ended = waitpid(child->pid, &status, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR)) {
        limit(child, gathering);
        return false;
    }
    if (!child->is_told && wrote_too_much(child))
        child->is_told = true;
    else if (!child->is_told && WIFEXITED(status) &&
             (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == EXIT_HANG))
        child->answer = read_all(child->output, OUTPUT_MAX, &child->len);
    else if (!child->is_told)
        explain(child, status);
    child->pid = 0;
    return true;
}

static void run(struct child *children, size_t count, const struct gathering *gathering)
{
    size_t started = 0, running = 0;
    while (started < count || running) {
        for (; started < count && running < AT_ONCE; started++) {
            start(&children[started]);
            running += children[started].pid != 0;
        }
        for (size_t i = 0; i < started; i++)
            running -= children[i].pid && poll_child(&children[i], gathering);
        nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
        for (size_t i = 0; i < started; i++)
            if (!children[i].pid && children[i].output > 0) {
                close(children[i].output);
                files_give_up(children[i].errors);
                children[i].output = 0;
            }
    }
}

static void free_child(struct child *child)
{
    for (size_t i = 0; i < WORDS_MAX; i++)
        free(child->words[i]);
    free(child->host);
    free(child->answer);
}

/* The output of a program that finds hosts; NULL: it failed, and the reason is printed. */
static char *ask(const char *const *words, const struct gathering *gathering, const char *target, char *host)
{
    struct child child = {.host = host};
    make_words(&child, words, gathering, target);
    run(&child, 1, gathering);
    if (!child.answer)
        fprintf(stderr, "cuspan hang: cannot find the hosts (%s)\n", child.why);
    char *answer = child.answer;
    child.answer = NULL;
    free_child(&child);
    return answer;
}

static char *find_hosts(enum gather_by by, const struct gathering *gathering)
{
    const char *target = gathering->target[by];
    char *hosts = *tools[by].find ? ask(tools[by].find, gathering, target, NULL) : xstrdup(target);
    if (!hosts || !*tools[by].expand)
        return hosts;
    hosts[strcspn(hosts, " \r\n")] = 0;
    return *hosts && *hosts != '(' ? ask(tools[by].expand, gathering, target, hosts) : hosts;
}

static void take(struct gathering *gathering, struct child *child, struct hang_model *model)
{
    struct error err = {""};
    if (child->answer && hang_read_json(model, child->answer, child->len, &err) != STATUS_OK)
        snprintf(child->why, sizeof child->why, "%.150s", err.text);
    if (*child->why) {
        fprintf(stderr, "cuspan hang: nothing is known of %s (%s)\n", child->host, child->why);
        *XADD(gathering->unknown, gathering->unknown_count, gathering->unknown_capacity) =
            xstrdup(child->host);
    }
}

bool hang_gather(struct gathering *gathering, struct hang_model *model)
{
    struct child *children = NULL;
    size_t count = 0, capacity = 0;
    enum gather_by by = GATHER_JOB;
    while (!gathering->target[by])
        by++;
    char *hosts = find_hosts(by, gathering), *rest = hosts, *host;
    if (!hosts)
        return false;
    while ((host = strsep(&rest, by == GATHER_HOSTS ? "," : " \r\n")) && count < HOSTS_MAX)
        if (*host && *host != '(') {
            struct child *child = XADD(children, count, capacity);
            *child = (struct child){.host = xstrdup(host)};
            make_words(child, tools[by].each, gathering, gathering->target[by]);
        }
    free(hosts);
    if (!count)
        fprintf(stderr, "cuspan hang: %s has no hosts\n", gathering->target[by]);
    run(children, count, gathering);
    for (size_t i = 0; i < count; i++) {
        take(gathering, &children[i], model);
        free_child(&children[i]);
    }
    free(children);
    return count > 0;
}

void hang_gather_deinit(struct gathering *gathering)
{
    for (size_t i = 0; i < gathering->unknown_count; i++)
        free(gathering->unknown[i]);
    free(gathering->unknown);
}
