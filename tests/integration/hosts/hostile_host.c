/* A program in a hostile condition, which makes CUDA calls through the replay library, before and after the
 * condition begins at a moment (start: before the agent, middle, exit):
 *
 *   hostile_host AGENT DOUBLE RECORDING MOMENT CONDITION [ARGUMENT]
 *
 * AGENT "-": without an agent. Its output, errno, descriptors and status must be the same with and without
 * the agent. The table `conditions` is what hostile_hosts_test.py goes through: "list" prints it. */
#include "cuspan/cuspan.h"
#include "agent/recording/replay_seam.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STATUS       7
#define CHILD_STATUS 3
#define UNAVAILABLE  77 /* the condition cannot be made here */
#define NOBODY       65534
#define HOST_ERRNO   EDOM

static cuspan_replay_run_fn *run;
static const char *agent, *argument = "";
static char results[256]; /* is written where standard output may be closed */

static void say(const char *text)
{
    size_t used = strlen(results);
    snprintf(results + used, sizeof results - used, "host: %s\n", text);
}

static void unavailable(const char *why)
{
    fprintf(stderr, "unavailable: %s\n", why);
    _exit(UNAVAILABLE);
}

static void pause_us(long us)
{
    struct timespec left = {us / 1000000, us % 1000000 * 1000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

static void play(void)
{
    const struct replay_options options = {.repeat = 1, .overload = true};
    struct replay_result result;
    struct error err = {""};
    if (agent)
        (void)!run(&options, &result, &err);
}

/* ---- Descriptors and limits ---- */

static void close_0(void)
{
    close(0);
}

static void close_1(void)
{
    close(1);
}

static void close_2(void)
{
    close(2);
}

static void close_standard(void)
{
    close_0(), close_1(), close_2();
}

static int own_file; /* a descriptor of the program's */
static struct stat own_stat;

/* Then opens the file that gets the program's output, also at the numbers that the agent had, from 256 on. */
static void close_all(void)
{
    for (int number = 0; number < 1024; number++)
        close(number);
    own_file = open(getenv("HOSTILE_OUTPUT"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    for (int number = 256; number < 400; number++)
        dup2(own_file, number);
    fstat(own_file, &own_stat);
    say(own_file == 0 ? "the first file is 0" : "the first file is not 0");
}

static void limit(int resource, rlim_t value)
{
    struct rlimit now;
    getrlimit((__rlimit_resource_t)resource, &now);
    now.rlim_cur = value;
    if (setrlimit((__rlimit_resource_t)resource, &now) != 0)
        unavailable("setrlimit");
}

static void no_files(void)
{
    limit(RLIMIT_FSIZE, 0);
}

static void small_files(void)
{
    limit(RLIMIT_FSIZE, 2048);
}

static rlim_t address_space(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu", &pages) != 1)
        unavailable("/proc/self/statm");
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static void no_memory(void)
{
    limit(RLIMIT_AS, address_space() + (1 << 20));
}

static void little_memory(void)
{
    limit(RLIMIT_AS, address_space() + (32 << 20));
}

static void no_descriptors(void)
{
    limit(RLIMIT_NOFILE, 3);
}

static void no_processes(void)
{
    if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
        unavailable("setuid");
    limit(RLIMIT_NPROC, 0);
    prctl(PR_SET_DUMPABLE, 1);
}

static void no_locked_memory(void)
{
    limit(RLIMIT_MEMLOCK, 0);
}

static void small_stack(void)
{
    limit(RLIMIT_STACK, 128 << 10);
}

static void little_data(void)
{
    limit(RLIMIT_DATA, 16 << 20);
}

static void lock_all(void)
{
    if (mlockall(MCL_FUTURE) != 0)
        unavailable("mlockall");
}

static void deleted_folder(void)
{
    char folder[512];
    snprintf(folder, sizeof folder, "%s.folder", getenv("HOSTILE_OUTPUT"));
    if (mkdir(folder, 0700) != 0 || chdir(folder) != 0 || rmdir(folder) != 0)
        unavailable("chdir");
}

static void no_permissions(void)
{
    umask(0777);
}

static void no_environment(void)
{
    clearenv();
}

static void other_locale(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "C.UTF-8"};
    for (size_t i = 0; i < sizeof names / sizeof *names && !setlocale(LC_ALL, names[i]); i++) {
    }
}

static void ignore_signals(void)
{
    signal(SIGCHLD, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

static void block_signals(void)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
}

/* The rest of the program runs in the background, and its parent ends. */
static void daemonize(void)
{
    pid_t child = fork();
    int status;
    if (child < 0)
        unavailable("fork");
    if (child == 0) {
        setsid();
        return;
    }
    waitpid(child, &status, 0); /* so that the test knows how it ended */
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static void read_only(void)
{
    static const char *const folders[] = {"/", "/tmp", "/run", "/dev/shm"};
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        unavailable("unshare");
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (mount(folders[i], folders[i], NULL, MS_BIND, NULL) != 0 ||
            mount(NULL, folders[i], NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) != 0)
            unavailable("mount");
}

/* The rest of the program is process 1 of a namespace. */
static void process_1(void)
{
    int status;
    if (unshare(CLONE_NEWPID) != 0)
        unavailable("unshare");
    pid_t child = fork();
    if (child > 0 && waitpid(child, &status, 0) == child)
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    if (child < 0)
        unavailable("fork");
}

static void cgroup(void)
{
    static const char folder[] = "/sys/fs/cgroup/cuspan-hostile-host";
    char path[128];
    mkdir(folder, 0700);
    snprintf(path, sizeof path, "%s/memory.max", folder);
    FILE *file = fopen(path, "w");
    if (!file || fputs("33554432", file) < 0 || fclose(file) != 0)
        unavailable("no writable cgroup with a memory controller");
    snprintf(path, sizeof path, "%s/cgroup.procs", folder);
    file = fopen(path, "w");
    if (!file || fputs("0", file) < 0 || fclose(file) != 0)
        unavailable("cgroup.procs");
}

/* ---- Filters of system calls ---- */

static const int of_network[] = {SYS_socket, SYS_connect, SYS_bind, SYS_sendto, SYS_sendmsg, -1};
static const int of_threads[] = {SYS_clone, SYS_clone3, -1};
static const int of_files[] = {SYS_openat, SYS_renameat, SYS_renameat2, SYS_unlinkat, SYS_mkdirat, -1};
static const int of_memory[] = {SYS_mprotect, SYS_madvise, SYS_mremap, SYS_memfd_create, -1};
static const int of_scheduling[] = {SYS_sched_setaffinity,
                                    SYS_sched_getscheduler,
                                    SYS_sched_setscheduler,
                                    SYS_prctl,
                                    SYS_getrandom,
                                    SYS_getrusage,
                                    SYS_sysinfo,
                                    SYS_uname,
                                    -1};
/* Calls that systemd's SystemCallFilter=@system-service does not contain. */
static const int of_no_service[] = {SYS_ptrace,
                                    SYS_mount,
                                    SYS_umount2,
                                    SYS_init_module,
                                    SYS_kexec_load,
                                    SYS_reboot,
                                    SYS_swapon,
                                    SYS_settimeofday,
                                    SYS_clock_settime,
                                    SYS_bpf,
                                    SYS_perf_event_open,
                                    SYS_pivot_root,
                                    SYS_chroot,
                                    SYS_setns,
                                    SYS_unshare,
                                    SYS_process_vm_readv,
                                    SYS_process_vm_writev,
                                    SYS_userfaultfd,
                                    SYS_quotactl,
                                    SYS_acct,
                                    SYS_personality,
                                    SYS_io_uring_setup,
                                    SYS_kcmp,
                                    -1};

static void filter(const int *calls, uint32_t action)
{
    struct sock_filter program[64];
    unsigned short at = 0;
    program[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (; *calls >= 0; calls++) {
        program[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)*calls, 0, 1);
        program[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
    }
    program[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog filters = {at, program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filters) != 0)
        unavailable("seccomp");
}

static void deny_network(void)
{
    filter(of_network, SECCOMP_RET_ERRNO | EPERM);
}

static void deny_threads(void)
{
    filter(of_threads, SECCOMP_RET_ERRNO | EPERM);
}

static void deny_files(void)
{
    filter(of_files, SECCOMP_RET_ERRNO | EACCES);
}

static void deny_memory(void)
{
    filter(of_memory, SECCOMP_RET_ERRNO | ENOMEM);
}

static void deny_scheduling(void)
{
    filter(of_scheduling, SECCOMP_RET_ERRNO | ENOSYS);
}

static void kill_no_service(void)
{
    filter(of_no_service, SECCOMP_RET_KILL_PROCESS);
}

/* ---- Threads that end inside our functions ---- */

static void use_attach(void)
{
    static const char header[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    cuspan_context context, now;
    cuspan_parse(header, "vendor=value", &context);
    uint64_t token = cuspan_attach(&context);
    cuspan_current(&now);
    cuspan_detach(token);
}

static void use_range(void)
{
    const cuspan_attribute attributes[] = {cuspan_int("n", 1), cuspan_string("text", "value")};
    uint64_t outer = cuspan_range("outer", attributes, 2), span = cuspan_span("span", NULL, 0);
    cuspan_mark("mark", NULL, 0);
    for (cuspan_loop loop = cuspan_loop_begin("loop"); cuspan_loop_next(&loop);)
        cuspan_is_on();
    cuspan_end_with(span, CUSPAN_ERROR, "message", attributes, 2);
    cuspan_end(outer);
}

static void use_step(void)
{
    static atomic_int number;
    cuspan_step(atomic_fetch_add(&number, 1));
}

static void *use_all(void *unused)
{
    use_attach();
    use_range();
    use_step();
    cuspan_flush(10000);
    cuspan_stop();
    cuspan_start(NULL);
    return unused;
}

static void small_threads(void)
{
    pthread_attr_t small;
    pthread_t thread;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 32 << 10);
    if (pthread_create(&thread, &small, use_all, NULL) != 0)
        unavailable("pthread_create");
    pthread_join(thread, NULL);
}

static void use_flush(void)
{
    cuspan_flush(10000);
}

static void use_start_and_stop(void)
{
    cuspan_stop();
    cuspan_start(NULL);
}

static void use_publish(void)
{
    cuspan_publish(1);
    cuspan_publish(0);
}

static void (*const uses[])(void) = {use_attach, use_range,          use_step,
                                     use_flush,  use_start_and_stop, use_publish};
#define USES (sizeof uses / sizeof *uses)

static void (*used)(void);
static atomic_bool is_in_use;
static int cancel_type;

static void *use_until_cancelled(void *unused)
{
    int before;
    pthread_setcanceltype(cancel_type, &before);
    for (;;) {
        used();
        atomic_store(&is_in_use, true);
        pthread_testcancel();
    }
    return unused;
}

static void cancel_each(int type, int rounds)
{
    pthread_t thread;
    void *result = NULL;
    cancel_type = type;
    for (size_t i = 0; i < USES * (size_t)rounds; i++) {
        used = uses[i % USES];
        atomic_store(&is_in_use, false);
        if (pthread_create(&thread, NULL, use_until_cancelled, NULL) != 0)
            unavailable("pthread_create");
        while (!atomic_load(&is_in_use))
            sched_yield();
        pause_us((long)(i * 37 % 1500));
        pthread_cancel(thread);
        pthread_join(thread, &result);
        if (result != PTHREAD_CANCELED)
            say("a thread was not cancelled");
    }
}

static void cancel(void)
{
    cancel_each(PTHREAD_CANCEL_DEFERRED, 3);
}

static void cancel_asynchronously(void)
{
    cancel_each(PTHREAD_CANCEL_ASYNCHRONOUS, 3);
}

static __thread jmp_buf out;

static void jump_out(int number)
{
    siglongjmp(out, 1);
}

static void end_thread(int number)
{
    pthread_exit(NULL);
}

static void use_in_handler(int number)
{
    if (agent) /* otherwise it would search for one, with a lock of the loader */
        cuspan_flush(1);
}

static void *flush_until_interrupted(void *unused)
{
    cuspan_end(cuspan_span("flushed", NULL, 0)); /* allocates, so no handler may leave it */
    if (sigsetjmp(out, 1) == 0)
        for (;;) {
            atomic_store(&is_in_use, true);
            if (agent)
                cuspan_flush(10000);
            else
                pause_us(1000); /* the handler must not leave the search for an agent, which has a lock of the
                                   loader */
        }
    cuspan_flush(10000);
    return unused;
}

static void interrupt_flushes(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};
    pthread_t thread;
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < 10; i++) {
        atomic_store(&is_in_use, false);
        if (pthread_create(&thread, NULL, flush_until_interrupted, NULL) != 0)
            unavailable("pthread_create");
        while (!atomic_load(&is_in_use))
            sched_yield();
        pause_us(500 + i * 133);
        pthread_kill(thread, SIGUSR1);
        pthread_join(thread, NULL);
    }
}

static void jump_out_of_flushes(void)
{
    interrupt_flushes(jump_out);
}

static void end_threads_in_flushes(void)
{
    interrupt_flushes(end_thread);
}

static void *flush_for_a_while(void *unused)
{
    atomic_store(&is_in_use, true);
    for (int i = 0; i < 20; i++)
        if (agent)
            cuspan_flush(10000);
        else
            pause_us(1000);
    return unused;
}

static void flush_in_handlers(void)
{
    struct sigaction action = {.sa_handler = use_in_handler};
    pthread_t thread;
    sigaction(SIGUSR1, &action, NULL);
    atomic_store(&is_in_use, false);
    if (pthread_create(&thread, NULL, flush_for_a_while, NULL) != 0)
        unavailable("pthread_create");
    while (!atomic_load(&is_in_use))
        sched_yield();
    for (int i = 0; i < 20; i++) {
        pause_us(700);
        pthread_kill(thread, SIGUSR1);
    }
    pthread_join(thread, NULL);
}

/* ---- What goes on beside the program ---- */

static void *change_environment(void *unused)
{
    char name[32];
    for (unsigned i = 0;; i++) {
        snprintf(name, sizeof name, "HOSTILE_%u", i % 2000);
        setenv(name, "value", 1);
        if (i % 3 == 0)
            unsetenv(name);
    }
    return unused;
}

static void *load_and_unload(void *unused)
{
    for (;;) {
        void *library = dlopen(*argument ? argument : "libresolv.so.2", RTLD_NOW | RTLD_LOCAL);
        if (library)
            dlclose(library);
    }
    return unused;
}

static void *fork_again_and_again(void *unused)
{
    for (int i = 0; i < 10; i++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            use_attach();
            use_range();
            use_flush();
            exit(CHILD_STATUS);
        }
        if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
            WEXITSTATUS(status) != CHILD_STATUS)
            say("a child did not end");
    }
    return unused;
}

static void beside(void *(*what)(void *))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, what, NULL) != 0)
        unavailable("pthread_create");
    pthread_detach(thread);
    pause_us(2000);
}

static void environment(void)
{
    beside(change_environment);
}

static void libraries(void)
{
    beside(load_and_unload);
}

static void forks(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, fork_again_and_again, NULL) != 0)
            unavailable("pthread_create");
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

/* ARGUMENT: a folder with copies of the libraries, of which the agent is one. */
static void uninstall(void)
{
    char path[512];
    DIR *folder = opendir(argument);
    if (!folder)
        unavailable("no folder");
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", argument, entry->d_name);
        unlink(path);
    }
    closedir(folder);
    rmdir(argument);
}

/* As a package's upgrade does it. */
static void replace(void)
{
    char path[512], next[520];
    DIR *folder = opendir(argument);
    if (!folder)
        unavailable("no folder");
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", argument, entry->d_name);
        snprintf(next, sizeof next, "%s.new", path);
        FILE *file = fopen(next, "w");
        if (!file || fputs("of another build", file) < 0 || fclose(file) != 0 || rename(next, path) != 0)
            unavailable("rename");
    }
    closedir(folder);
}

/* ---- Python. ARGUMENT: a libpython ---- */

static void *python;

static void *of_python(const char *name)
{
    void *found = dlsym(python, name);
    if (!found)
        unavailable(name);
    return found;
}

static void load_python(int how)
{
    if (!python)
        python = dlopen(argument, RTLD_NOW | how);
    if (!python)
        unavailable(dlerror());
}

static void initialize_python(void)
{
    ((void (*)(int))of_python("Py_InitializeEx"))(0);
    if (((int (*)(const char *))of_python("PyRun_SimpleString"))("import sys; x = sum(range(100))") != 0)
        say("Python does not work");
}

static void finalize_python(void)
{
    if (((int (*)(void))of_python("Py_FinalizeEx"))() != 0)
        say("Py_FinalizeEx failed");
}

static void python_loaded(void)
{
    load_python(RTLD_GLOBAL);
}

static void python_initialized(void)
{
    load_python(RTLD_GLOBAL);
    initialize_python();
}

static void python_local(void)
{
    load_python(RTLD_LOCAL);
    initialize_python();
}

static void python_finalized(void)
{
    python_initialized();
    finalize_python();
}

static void python_again(void)
{
    python_finalized();
    play();
    initialize_python();
}

static void python_ends_later(void)
{
    python_initialized();
    atexit(finalize_python);
}

static void python_unloaded(void)
{
    load_python(RTLD_LOCAL);
    dlclose(python);
    python = NULL;
}

static void python_subinterpreter(void)
{
    python_initialized();
    void *first = ((void *(*)(void))of_python("PyThreadState_Get"))();
    void *second = ((void *(*)(void))of_python("Py_NewInterpreter"))();
    play();
    ((void (*)(void *))of_python("Py_EndInterpreter"))(second);
    ((void *(*)(void *))of_python("PyThreadState_Swap"))(first);
}

static void (*later)(void); /* after the agent's start */

/* Its KeyboardInterrupt must not be lost to a handler of ours. */
static void interrupt_python(void)
{
    static const char program[] = "import os, signal, time\n"
                                  "try:\n"
                                  "    os.kill(os.getpid(), signal.SIGINT)\n"
                                  "    time.sleep(9)\n"
                                  "except KeyboardInterrupt:\n"
                                  "    pass\n"
                                  "else:\n"
                                  "    raise RuntimeError\n";
    ((void (*)(int))of_python("Py_InitializeEx"))(1);
    bool failed = ((int (*)(const char *))of_python("PyRun_SimpleString"))(program) != 0;
    say(failed ? "no KeyboardInterrupt" : "KeyboardInterrupt");
}

static void python_interrupted(void)
{
    load_python(RTLD_GLOBAL);
    later = interrupt_python;
}

/* Python before 3.12 would read this key before it has made its own. */
static void python_foreign_key(void)
{
    pthread_key_t key;
    do
        if (pthread_key_create(&key, NULL) != 0 ||
            pthread_setspecific(key, (void *)(uintptr_t)0xdeadbeef0) != 0)
            unavailable("pthread_key_create");
    while (key < 3);
    load_python(RTLD_GLOBAL);
}

static void nothing(void) {}

enum moment { START = 1, MIDDLE = 2, EXIT = 4, ANY = 7 };

static const struct condition {
    const char *name;
    void (*begin)(void);
    unsigned moments;
} conditions[] = {
    {"nothing", nothing, ANY},
    {"close-0", close_0, ANY},
    {"close-1", close_1, ANY},
    {"close-2", close_2, ANY},
    {"close-standard", close_standard, ANY},
    {"close-all", close_all, ANY},
    {"no-files", no_files, ANY},
    {"small-files", small_files, ANY},
    {"no-memory", no_memory, ANY},
    {"little-memory", little_memory, ANY},
    {"no-descriptors", no_descriptors, MIDDLE | EXIT},
    {"no-processes", no_processes, ANY},
    {"no-locked-memory", no_locked_memory, ANY},
    {"small-stack", small_stack, ANY},
    {"little-data", little_data, ANY},
    {"lock-all", lock_all, ANY},
    {"deleted-folder", deleted_folder, ANY},
    {"no-permissions", no_permissions, ANY},
    {"no-environment", no_environment, MIDDLE | EXIT},
    {"other-locale", other_locale, ANY},
    {"ignore-signals", ignore_signals, ANY},
    {"block-signals", block_signals, ANY},
    {"daemonize", daemonize, START},
    {"small-threads", small_threads, ANY},
    {"read-only", read_only, ANY},
    {"process-1", process_1, START},
    {"cgroup", cgroup, START},
    {"deny-network", deny_network, ANY},
    {"deny-threads", deny_threads, ANY},
    {"deny-files", deny_files, MIDDLE | EXIT},
    {"deny-memory", deny_memory, MIDDLE | EXIT},
    {"deny-scheduling", deny_scheduling, ANY},
    {"kill-no-service", kill_no_service, ANY},
    {"cancel", cancel, MIDDLE | EXIT},
    {"cancel-asynchronously", cancel_asynchronously, MIDDLE | EXIT},
    {"jump-out-of-flushes", jump_out_of_flushes, MIDDLE | EXIT},
    {"end-threads-in-flushes", end_threads_in_flushes, MIDDLE | EXIT},
    {"flush-in-handlers", flush_in_handlers, MIDDLE | EXIT},
    {"environment", environment, ANY},
    {"libraries", libraries, ANY},
    {"forks", forks, ANY},
    {"uninstall", uninstall, MIDDLE | EXIT},
    {"replace", replace, MIDDLE | EXIT},
    {"python-loaded", python_loaded, ANY},
    {"python-initialized", python_initialized, ANY},
    {"python-local", python_local, ANY},
    {"python-finalized", python_finalized, ANY},
    {"python-again", python_again, ANY},
    {"python-ends-later", python_ends_later, ANY},
    {"python-unloaded", python_unloaded, ANY},
    {"python-subinterpreter", python_subinterpreter, ANY},
    {"python-foreign-key", python_foreign_key, START},
    {"python-interrupted", python_interrupted, START},
};
#define CONDITIONS (sizeof conditions / sizeof *conditions)

static int list(void)
{
    for (size_t i = 0; i < CONDITIONS; i++)
        printf("%s %s%s%s\n", conditions[i].name, conditions[i].moments & START ? "start," : "",
               conditions[i].moments & MIDDLE ? "middle," : "", conditions[i].moments & EXIT ? "exit," : "");
    return 0;
}

static const struct condition *condition;
static void begin_at(const char *wanted, const char *moment)
{
    if (strcmp(wanted, moment) != 0)
        return;
    errno = 0;
    condition->begin();
    errno = HOST_ERRNO;
}

static void inject(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int (*initialize)(void) =
        library ? (int (*)(void))(uintptr_t)dlsym(library, "InitializeInjection") : NULL;
    if (!initialize)
        return; /* as the driver, which ignores a library that it cannot load */
    errno = HOST_ERRNO;
    if (initialize() != 1)
        say("InitializeInjection failed");
    if (errno != HOST_ERRNO)
        say("errno has changed");
}

/* The agent has a number below 3 for a moment, because the kernel chooses them (docs/limits.md). */
static int open_lowest(void)
{
    int tries = strncmp(condition->name, "close", 5) == 0 ? 200 : 1, number = dup(own_file);
    while (number >= 3 && --tries > 0) {
        close(number);
        pause_us(1000);
        number = dup(own_file);
    }
    return number;
}

/* The numbers that the program's next files get, and whether its own file is still there. */
static void check_descriptors(void)
{
    struct stat now;
    char text[64];
    if (fcntl(own_file, F_GETFD) >= 0 && (fstat(own_file, &now) != 0 || now.st_ino != own_stat.st_ino))
        say("a descriptor of the program is another file");
    int pair[3] = {open_lowest(), open_lowest(), open_lowest()};
    for (int i = 0; i < 3; i++)
        if (pair[i] >= 0 && pair[i] < 3 && write(pair[i], "host: data\n", 11) != 11)
            say("a file with a low number does not work");
    snprintf(text, sizeof text, "%d low descriptors",
             (pair[0] >= 0 && pair[0] < 3) + (pair[1] >= 0 && pair[1] < 3) + (pair[2] >= 0 && pair[2] < 3));
    say(text);
}

int main(int argc, char **argv)
{
    struct error err = {""};
    if (argc == 2)
        return list();
    if (argc < 6)
        return 2;
    const char *moment = argv[4];
    argument = argc > 6 ? argv[6] : "";
    agent = strcmp(argv[1], "-") != 0 ? argv[1] : NULL;
    for (size_t i = 0; i < CONDITIONS; i++)
        if (strcmp(conditions[i].name, argv[5]) == 0)
            condition = &conditions[i];
    own_file = dup(STDOUT_FILENO);
    fstat(own_file, &own_stat);
    void *replay = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    cuspan_replay_load_fn *load =
        replay ? (cuspan_replay_load_fn *)(uintptr_t)dlsym(replay, "cuspan_replay_load") : NULL;
    run = replay ? (cuspan_replay_run_fn *)(uintptr_t)dlsym(replay, "cuspan_replay_run") : NULL;
    if (!condition || !load || load(argv[3], &err) != STATUS_OK)
        return 2;
    begin_at("start", moment);
    if (agent)
        inject(agent);
    play();
    use_range();
    begin_at("middle", moment);
    play();
    use_range();
    begin_at("exit", moment);
    if (later)
        later();
    check_descriptors();
    if (write(own_file, results, strlen(results)) < 0 && write(STDERR_FILENO, results, strlen(results)) < 0)
        return STATUS + 1;
    return STATUS;
}
