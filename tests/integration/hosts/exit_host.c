/* Makes CUDA calls through the replay library, with the agent loaded like the driver does, and then ends in
 * the way that its last argument names (the table `ways`):
 *
 *   exit_host LIBRARY DOUBLE RECORDING WAY
 *
 * Its output, and how it ends, must be the same with and without the agent. HOST_ROUNDS: how often the
 * recording is played before (1). HOST_DELIVERED: between the play and the end, waits until its report counts
 * so many delivered spans (0). HOST_DELAY_MS: and then so long (0). */
#include "exit_host.h"
#include "forked_child.h"
#include "host_support.h"
#include "agent/recording/replay_seam.h"

#include <cuspan/cuspan.h>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STATUS 7

static cuspan_replay_run_fn *run;
static void *library;

static unsigned number_in(const char *variable, unsigned otherwise)
{
    const char *text = getenv(variable);
    return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

/* Does not wait for the agent once it has ended. */
static void play(unsigned rounds)
{
    const struct replay_options options = {.repeat = rounds};
    struct replay_result result;
    struct error err = {""};
    if (run(&options, &result, &err) != STATUS_OK)
        printf("host: %s\n", err.text);
}

/* The count in the agent's report, whose name is in its settings. */
static unsigned delivered(void)
{
    const char *settings = getenv("CUSPAN_SET"), *key = "accounts_file=";
    const char *start = settings ? strstr(settings, key) : NULL;
    char path[4096], report[65536] = "";
    if (!start)
        return 0;
    start += strlen(key);
    snprintf(path, sizeof path, "%.*s.%d", (int)strcspn(start, ";"), start, (int)getpid());
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    report[fread(report, 1, sizeof report - 1, file)] = '\0';
    fclose(file);
    const char *count = strstr(report, "\"delivered\":");
    return count ? (unsigned)strtoul(count + strlen("\"delivered\":"), NULL, 10) : 0;
}

static void wait_for_end(void)
{
    for (;;)
        pause();
}

/* --- the ways --- */

static void by_return(void) {}

static void *exit_here(void *unused)
{
    exit(STATUS);
}

static void by_exit_in_a_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, exit_here, NULL) == 0)
        wait_for_end();
}

static void by__exit(void)
{
    _exit(STATUS);
}

static void by_quick_exit(void)
{
    quick_exit(STATUS);
}

static void *play_and_end(void *unused)
{
    pause_ms(100);
    play(1);
    say("the last thread has ended");
    return NULL;
}

static void by_pthread_exit(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, play_and_end, NULL) == 0)
        pthread_exit(NULL);
}

static void by_signal(int number)
{
    kill(getpid(), number);
    wait_for_end();
}

static void by_term(void)
{
    by_signal(SIGTERM);
}
static void by_int(void)
{
    by_signal(SIGINT);
}
static void by_hup(void)
{
    by_signal(SIGHUP);
}
static void by_quit(void)
{
    by_signal(SIGQUIT);
}
static void by_usr1(void)
{
    by_signal(SIGUSR1);
}
static void by_kill(void)
{
    by_signal(SIGKILL);
}

static void by_abort(void)
{
    abort();
}

/* The address is in the signal's information, which a core dump keeps. */
static void by_fault(void)
{
    volatile char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *page = 1;
}

static void by_illegal_instruction(void)
{
    __builtin_trap();
}

static void by_throw(void)
{
    exit_host_throw();
}

static void by_dlclose(void)
{
    dlclose(library);
    dlclose(library);
    play(1);
}

static void *send_term_later(void *unused)
{
    pause_ms(300);
    kill(getpid(), SIGTERM);
    return NULL;
}

/* A second signal, while the first is still being handled. */
static void *send_term_twice(void *unused)
{
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &term, NULL); /* it must send the second signal, not handle the first */
    kill(getpid(), SIGTERM);
    pause_ms(1000);
    kill(getpid(), SIGTERM);
    return NULL;
}

static void begin_thread(void *(*body)(void *))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, NULL) != 0)
        exit(1);
    pthread_detach(thread);
}

static void by_term_twice(void)
{
    begin_thread(send_term_twice);
    wait_for_end();
}

/* The same signal from two senders, as when a whole group is signaled and a parent forwards it. */
static void by_term_and_its_echo(void)
{
    kill(getpid(), SIGTERM);
    kill(getpid(), SIGTERM);
    wait_for_end();
}

static void *wait_for_signals(void *unused)
{
    wait_for_end();
    return NULL;
}

static void by_term_and_its_echo_on_threads(void)
{
    for (int i = 0; i < 4; i++)
        begin_thread(wait_for_signals);
    begin_thread(send_term_later);
    begin_thread(send_term_later);
    wait_for_end();
}

/* Blocked except while waiting: a pending one would be blocked again when the handler returns. */
static void by_term_in_sigsuspend(void)
{
    sigset_t term, none;
    sigemptyset(&none);
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &term, NULL);
    begin_thread(send_term_later);
    sigsuspend(&none);
    say("TERM has been survived");
    exit(1);
}

/* TERM arrives on the thread that waits for a flush. */
static void by_term_in_flush(void)
{
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &term, NULL);
    begin_thread(send_term_later);
    pthread_sigmask(SIG_UNBLOCK, &term, NULL);
    if (cuspan_is_on())
        cuspan_flush(20000);
    wait_for_end();
}

static volatile sig_atomic_t handled;
static struct sigaction before;

static void note_signal(int number)
{
    handled++;
}

static void install(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};
    sigaction(number, &action, &before);
}

/* The host's own handler, installed after the agent's: it replaces it. */
static void by_own_handler(void)
{
    install(SIGTERM, note_signal);
    kill(getpid(), SIGTERM);
    play(1);
    say(handled == 1 ? "TERM was handled" : "TERM was not handled once");
}

/* Does its work and calls the previous handler; with the default action it ends the process itself. */
static void call_before(int number, siginfo_t *info, void *context)
{
    handled++;
    if (before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(number, info, context);
    } else if (before.sa_handler == SIG_DFL) {
        signal(number, SIG_DFL);
        raise(number);
    } else {
        before.sa_handler(number);
    }
}

static void by_chained_handler(void)
{
    struct sigaction action = {.sa_sigaction = call_before, .sa_flags = SA_SIGINFO};
    sigaction(SIGTERM, &action, &before);
    by_signal(SIGTERM);
}

/* A forked child has its parent's handlers, and ends at once. */
static void by_child_of_term(void)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        wait_for_end();
    pause_ms(100);
    kill(child, SIGTERM);
    int status = 0;
    waitpid(child, &status, 0);
    say(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM ? "the child has ended by TERM"
                                                           : "the child lives");
}

/* Finishes early on its own; the signal then finds nothing to do. */
static void by_term_after_finish(void)
{
    if (cuspan_is_on())
        cuspan_finish();
    by_signal(SIGTERM);
}

/* TERM during exit(). */
static void by_term_in_exit(void)
{
    begin_thread(send_term_later);
    exit(STATUS);
}

static void by_rounds_for_ever(void)
{
    const struct timespec pause = {0, 5000000};
    for (unsigned round = 1;; round++) {
        struct timespec now;
        play(1);
        clock_gettime(CLOCK_MONOTONIC, &now);
        printf("%u %ld.%09ld\n", round, (long)now.tv_sec, now.tv_nsec);
        fflush(stdout);
        nanosleep(&pause, NULL);
    }
}

static const struct {
    const char *name;
    void (*end)(void);
} ways[] = {
    {"return", by_return},
    {"exit-in-a-thread", by_exit_in_a_thread},
    {"_exit", by__exit},
    {"quick_exit", by_quick_exit},
    {"pthread_exit", by_pthread_exit},
    {"TERM", by_term},
    {"INT", by_int},
    {"HUP", by_hup},
    {"QUIT", by_quit},
    {"USR1", by_usr1},
    {"KILL", by_kill},
    {"abort", by_abort},
    {"fault", by_fault},
    {"illegal-instruction", by_illegal_instruction},
    {"throw", by_throw},
    {"dlclose", by_dlclose},
    {"TERM-twice", by_term_twice},
    {"TERM-and-its-echo", by_term_and_its_echo},
    {"TERM-and-its-echo-on-threads", by_term_and_its_echo_on_threads},
    {"TERM-in-sigsuspend", by_term_in_sigsuspend},
    {"TERM-in-flush", by_term_in_flush},
    {"TERM-in-exit", by_term_in_exit},
    {"TERM-after-finish", by_term_after_finish},
    {"own-handler", by_own_handler},
    {"chained-handler", by_chained_handler},
    {"child-of-TERM", by_child_of_term},
    {"rounds-for-ever", by_rounds_for_ever},
};

static void load(const char *double_path, const char *recording)
{
    struct error err = {""};
    void *handle = dlopen(double_path, RTLD_NOW | RTLD_LOCAL);
    cuspan_replay_load_fn *open_recording = (cuspan_replay_load_fn *)find_in(handle, "cuspan_replay_load");
    run = (cuspan_replay_run_fn *)find_in(handle, "cuspan_replay_run");
    if (open_recording(recording, &err) == STATUS_OK)
        return;
    printf("host: %s\n", err.text);
    exit(1);
}

int main(int argc, char **argv)
{
    const struct rlimit no_core = {0, 0};
    size_t way = 0;
    while (argc == 5 && way < sizeof ways / sizeof *ways && strcmp(ways[way].name, argv[4]) != 0)
        way++;
    if (argc != 5 || way == sizeof ways / sizeof *ways)
        return 2;
    setrlimit(RLIMIT_CORE, &no_core);
    load(argv[2], argv[3]);
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    ((int (*)(void))find_in(library, "InitializeInjection"))();
    play(number_in("HOST_ROUNDS", 1));
    say("played");
    while (delivered() < number_in("HOST_DELIVERED", 0))
        pause_ms(10);
    pause_ms(number_in("HOST_DELAY_MS", 0));
    ways[way].end();
    say("done");
    return STATUS;
}
