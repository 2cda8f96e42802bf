/* A host that is sensitive to side effects of the agent: makes CUDA calls through the replay library, with
 * the agent loaded like the driver does, in a scene that its last argument names (the table `scenes`):
 *
 *   manners_host LIBRARY DOUBLE RECORDING SCENE
 *
 * Its output, and how it ends, must be the same with and without the agent. */
#include "forked_child.h"
#include "host_support.h"
#include "agent/recording/replay_seam.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STATUS       7
#define CHILD_STATUS 3
#define FORKERS      8
#define FORKS_EACH   12
#define NOBODY       65534

extern char **environ;

static cuspan_replay_run_fn *run;
static char **arguments;
static pid_t self;

cuspan_replay_watch_fn cuspan_replay_watch;

/* A forked child makes no CUDA call here, so nothing may call CUPTI. */
void cuspan_replay_watch(enum replay_watch event, const char *what)
{
    static const char text[] = "host: CUPTI is called in a child\n";
    if (event == REPLAY_WATCH_CUPTI && getpid() != self && write(STDOUT_FILENO, text, sizeof text - 1) < 0)
        _exit(1);
}

static void complain(const char *what)
{
    printf("host: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void play(void)
{
    const struct replay_options options = {.repeat = 1};
    struct replay_result result;
    struct error err = {""};
    if (run(&options, &result, &err) != STATUS_OK)
        printf("host: %s\n", err.text);
}

static void inject(void)
{
    ((int (*)(void))find(arguments[1], "InitializeInjection"))();
}

static void start(void)
{
    inject();
    play();
}

static void check_child(pid_t child, const char *what)
{
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
        WEXITSTATUS(status) != CHILD_STATUS)
        printf("host: %s ended with %x\n", what, (unsigned)status);
}

/* --- other processes --- */

static void as_a_child_program(void)
{
    start();
    fflush(stdout);
    exit(CHILD_STATUS);
}

static char *const *child_command(void)
{
    static __thread char *command[6];
    static char scene[] = "child-program";
    memcpy(command, arguments, 4 * sizeof *command);
    command[4] = scene;
    return command;
}

static void with_vfork(void)
{
    start();
    pid_t child = vfork();
    if (child == 0)
        _exit(CHILD_STATUS);
    check_child(child, "a child of vfork");
    char *const *command = child_command();
    child = vfork();
    if (child == 0) {
        execv(command[0], command);
        _exit(1);
    }
    check_child(child, "a program begun by vfork");
    play();
}

static void with_posix_spawn(void)
{
    pid_t child = -1;
    start();
    char *const *command = child_command();
    if (posix_spawn(&child, command[0], NULL, NULL, command, environ) != 0)
        child = -1;
    check_child(child, "a program begun by posix_spawn");
    play();
}

static void with_exec(void)
{
    start();
    char *const *command = child_command();
    execv(command[0], command);
    complain("execv");
}

static void *fork_many(void *number)
{
    for (int i = 0; i < FORKS_EACH; i++) {
        pid_t child = fork();
        if (child == 0) {
            if ((*(int *)number + i) % 3 == 0)
                _exit(CHILD_STATUS);
            if ((*(int *)number + i) % 3 == 1)
                exit(CHILD_STATUS);
            execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
            _exit(1);
        }
        check_child(child, "a child of many");
    }
    return NULL;
}

static void with_forks_from_many_threads(void)
{
    pthread_t threads[FORKERS];
    int numbers[FORKERS];
    inject();
    for (int i = 0; i < FORKERS; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, fork_many, &numbers[i]) != 0)
            complain("a thread");
    }
    for (int i = 0; i < 20; i++)
        play();
    for (int i = 0; i < FORKERS; i++)
        pthread_join(threads[i], NULL);
}

/* --- inherited state --- */

static void list_descriptors(void)
{
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "ls /proc/self/fd | wc -l; exit 3", (char *)NULL);
        _exit(1);
    }
    check_child(child, "the list of descriptors");
}

static void with_descriptors_of_an_executed_program(void)
{
    start();
    for (int i = 0; i < 10; i++) {
        list_descriptors();
        pause_ms(50);
    }
}

/* Pinned, and with real-time priority if that is permitted, like the thread that starts CUDA. It waits until
 * its standard input ends, so that the test can inspect the threads. */
static void with_threads_to_be_looked_at(void)
{
    cpu_set_t one;
    const struct sched_param priority = {.sched_priority = 1};
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    sched_setscheduler(0, SCHED_FIFO, &priority);
    inject();
    sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
    play();
    say("ready");
    while (getchar() != EOF) {
    }
}

/* --- resources taken away --- */

static void close_all(void)
{
    for (int i = 3; i < 1024; i++)
        close(i);
}

/* So many that they get the numbers that the agent had, from 256 on. */
static void write_own_files(void)
{
    char name[64];
    for (int i = 0; i < 400; i++) {
        snprintf(name, sizeof name, "host-%d", i);
        int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (file < 0 || write(file, "mine\n", 5) != 5)
            complain(name);
    }
}

/* By then the agent has opened everything: the file, the connection. */
static void with_all_descriptors_closed(void)
{
    start();
    pause_ms(700);
    close_all();
    write_own_files();
    play();
    pause_ms(700);
    play();
}

static void take_all_descriptors(void)
{
    const struct rlimit few = {32, 32};
    setrlimit(RLIMIT_NOFILE, &few);
    while (dup(STDIN_FILENO) >= 0) {
    }
}

static void without_descriptors_from_the_start(void)
{
    void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    take_all_descriptors();
    ((int (*)(void))find_in(library, "InitializeInjection"))();
    play();
}

static void without_descriptors_later(void)
{
    start();
    pause_ms(300);
    take_all_descriptors();
    play();
    pause_ms(300);
}

#if defined(__x86_64__)
#define HOST_ARCH AUDIT_ARCH_X86_64
#else
#define HOST_ARCH AUDIT_ARCH_AARCH64
#endif
#define DENY(name)                                                                                           \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1),                                                   \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

/* For all threads, including ours. */
static void deny_system_calls(void)
{
    struct sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
                                   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, HOST_ARCH, 1, 0),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
                                   BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                   DENY(socket),
                                   DENY(socketpair),
                                   DENY(connect),
                                   DENY(openat),
#ifdef SYS_open
                                   DENY(open),
#endif
                                   DENY(sched_setaffinity),
                                   DENY(sched_setscheduler),
                                   DENY(eventfd2),
                                   DENY(pipe2),
                                   DENY(prctl),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
        complain("seccomp");
}

static void with_system_calls_denied(void)
{
    start();
    pause_ms(300);
    deny_system_calls();
    play();
    pause_ms(300);
}

static void with_system_calls_denied_before(void)
{
    void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    deny_system_calls();
    ((int (*)(void))find_in(library, "InitializeInjection"))();
    play();
}

static void in_a_jail(void)
{
    start();
    pause_ms(300);
    if (mkdir("jail", 0755) != 0 || chroot("jail") != 0 || chdir("/") != 0 || setgid(NOBODY) != 0 ||
        setuid(NOBODY) != 0)
        complain("the jail");
    play();
}

/* --- standard input, output and error --- */

#define LOOKS 5

/* Only descriptors that stay open, not those opened for a moment to get another number. */
static void note_standard_ones_in_use(void)
{
    int seen[3] = {0};
    for (int look = 0; look < LOOKS; look++, pause_ms(2))
        for (int i = 0; i < 3; i++)
            seen[i] += fcntl(i, F_GETFD) >= 0;
    for (int i = 0; i < 3; i++) {
        char link[32], target[200] = "found-";
        snprintf(link, sizeof link, "/proc/self/fd/%d", i);
        if (seen[i] == LOOKS && readlink(link, target + 6, sizeof target - 7) > 0)
            for (char *at = target; *at; at++)
                *at = *at == '/' ? '_' : *at;
        int note = seen[i] == LOOKS ? open(target, O_WRONLY | O_CREAT, 0600) : -1;
        if (note >= 0)
            close(note);
    }
}

static void close_standard_ones(void)
{
    for (int i = 0; i < 3; i++)
        close(i);
}

static void without_standard_ones(void)
{
    close_standard_ones();
    start();
    for (int i = 0; i < 4; i++) {
        pause_ms(100);
        note_standard_ones_in_use();
    }
    play();
    exit(STATUS);
}

/* As a database that was started without them. */
static void with_own_files_as_standard_ones(void)
{
    close_standard_ones();
    write_own_files();
    start();
    pause_ms(300);
    exit(STATUS);
}

static void with_own_files_as_standard_ones_later(void)
{
    start();
    pause_ms(300);
    close_standard_ones();
    close_all();
    write_own_files();
    play();
    pause_ms(300);
    exit(STATUS);
}

/* The child keeps what is written to them. */
static void with_pipes_as_standard_ones_later(void)
{
    char byte;
    int ends[2];
    start();
    pause_ms(300);
    if (pipe(ends) != 0)
        complain("pipe");
    if (fork() == 0) {
        close(ends[1]);
        close_standard_ones();
        while (read(ends[0], &byte, 1) > 0)
            if (open("found-text", O_WRONLY | O_CREAT, 0600) < 0)
                _exit(1);
        _exit(0);
    }
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    play();
    pause_ms(300);
    exit(STATUS);
}

/* --- limits --- */

static void limit_files(void)
{
    const struct rlimit none = {0, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &none);
}

static void without_files(void)
{
    limit_files();
    start();
    exit(STATUS); /* standard output may be a file */
}

static void without_files_later(void)
{
    start();
    pause_ms(300);
    limit_files();
    play();
    exit(STATUS);
}

/* --- the loader --- */

/* The duration of the longest of consecutive dlopen() calls while the agent's threads start. HOST_TIMES=FILE
 * receives it in ms. */
static void with_libraries_loaded_meanwhile(void)
{
    double longest_ms = 0, end_ms;
    inject();
    end_ms = now_ms() + 500;
    while (now_ms() < end_ms) {
        double begin_ms = now_ms();
        void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
        if (library)
            dlclose(library);
        double took_ms = now_ms() - begin_ms;
        longest_ms = took_ms > longest_ms ? took_ms : longest_ms;
    }
    const char *name = getenv("HOST_TIMES");
    FILE *file = name ? fopen(name, "w") : NULL;
    if (file) {
        fprintf(file, "%.3f\n", longest_ms);
        fclose(file);
    }
    play();
}

static const struct {
    const char *name;
    void (*play)(void);
} scenes[] = {
    {"plain", start},
    {"child-program", as_a_child_program},
    {"vfork", with_vfork},
    {"posix_spawn", with_posix_spawn},
    {"exec", with_exec},
    {"forks-from-many-threads", with_forks_from_many_threads},
    {"executed-descriptors", with_descriptors_of_an_executed_program},
    {"threads", with_threads_to_be_looked_at},
    {"all-closed", with_all_descriptors_closed},
    {"no-descriptors-from-the-start", without_descriptors_from_the_start},
    {"no-descriptors-later", without_descriptors_later},
    {"seccomp-later", with_system_calls_denied},
    {"seccomp-before", with_system_calls_denied_before},
    {"jail", in_a_jail},
    {"standard-closed", without_standard_ones},
    {"standard-own-files", with_own_files_as_standard_ones},
    {"standard-own-files-later", with_own_files_as_standard_ones_later},
    {"standard-pipes-later", with_pipes_as_standard_ones_later},
    {"no-files", without_files},
    {"no-files-later", without_files_later},
    {"loader", with_libraries_loaded_meanwhile},
};

int main(int argc, char **argv)
{
    struct error err = {""};
    size_t scene = 0;
    while (argc == 5 && scene < sizeof scenes / sizeof *scenes && strcmp(scenes[scene].name, argv[4]) != 0)
        scene++;
    if (argc != 5 || scene == sizeof scenes / sizeof *scenes)
        return 2;
    arguments = argv;
    self = getpid();
    void *handle = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    run = (cuspan_replay_run_fn *)find_in(handle, "cuspan_replay_run");
    if (((cuspan_replay_load_fn *)find_in(handle, "cuspan_replay_load"))(argv[3], &err) != STATUS_OK) {
        printf("host: %s\n", err.text);
        return 1;
    }
    scenes[scene].play();
    say("done");
    return STATUS;
}
