/* Programs that `cuspan attach` is tried on.
 *
 *   attach_host sleep KIND        one system call of SLEEP_S; prints its result, errno and seconds
 *   attach_host loop WHAT THREADS threads that call malloc, dlopen or both in a loop, and a main thread that
 * reads attach_host busy THREADS      the same without a thread that sleeps: the main one loops as well,
 * until SIGTERM attach_host read              sleeps in read() with known registers attach_host nap sleeps 20
 * ms at a time with nanosleep() attach_host coroutine         sleeps on a stack of its own attach_host
 * handler           sleeps in a signal handler attach_host forbid CALL HOW   with a seccomp filter that kills
 * at this system call, or fails with EPERM
 *
 * All but `sleep` and `busy` print "ready", and answer each line of standard input with one of theirs: the
 * number of loops, of calls that were interrupted, and what of this thread has changed. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define SLEEP_S    3
#define NAP_MS     20
#define STACK_SIZE (256 * 1024)

static atomic_ulong loops;
static unsigned interrupted;
static sigset_t mask_before;

/* --- one call --- */

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static struct timespec in_some_seconds(clockid_t clock)
{
    struct timespec then;
    clock_gettime(clock, &then);
    then.tv_sec += SLEEP_S;
    return then;
}

/* A pipe into which a child writes then; `pid` is the child's. */
static int late_pipe(pid_t *pid)
{
    int ends[2];
    if (pipe(ends) != 0 || (*pid = fork()) < 0)
        exit(2);
    if (*pid == 0) {
        sleep(SLEEP_S);
        _exit(write(ends[1], "x", 1) != 1);
    }
    return ends[0];
}

static long receive(void)
{
    int ends[2];
    char byte;
    const struct timeval limit = {SLEEP_S, 0};
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return recv(ends[0], &byte, 1, 0);
}

static long wait_for_condition(void)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    const struct timespec then = in_some_seconds(CLOCK_REALTIME);
    pthread_mutex_lock(&mutex);
    return pthread_cond_timedwait(&cond, &mutex, &then);
}

static long wait_for_semaphore(void)
{
    sem_t semaphore;
    const struct timespec then = in_some_seconds(CLOCK_REALTIME);
    sem_init(&semaphore, 0, 0);
    return sem_timedwait(&semaphore, &then);
}

static long wait_for_signal(void)
{
    sigset_t set;
    const struct timespec limit = {SLEEP_S, 0};
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return sigtimedwait(&set, NULL, &limit);
}

static long wait_in_epoll(void)
{
    struct epoll_event event;
    return epoll_wait(epoll_create1(0), &event, 1, SLEEP_S * 1000);
}

static long wait_for_sem_op(void)
{
    int id = semget(IPC_PRIVATE, 1, 0600);
    struct sembuf down = {0, -1, 0};
    const struct timespec limit = {SLEEP_S, 0};
    long result = semtimedop(id, &down, 1, &limit);
    int saved = errno;
    semctl(id, 0, IPC_RMID);
    errno = saved;
    return result;
}

static long sleep_in(const char *kind)
{
    const struct timespec limit = {SLEEP_S, 0}, then = in_some_seconds(CLOCK_MONOTONIC);
    struct timeval time = {SLEEP_S, 0};
    sigset_t none;
    char byte;
    pid_t child;
    sigemptyset(&none);
    if (strcmp(kind, "nanosleep") == 0)
        return nanosleep(&limit, NULL);
    if (strcmp(kind, "clock_nanosleep") == 0)
        return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL);
    if (strcmp(kind, "poll") == 0)
        return poll(NULL, 0, SLEEP_S * 1000);
    if (strcmp(kind, "ppoll") == 0)
        return ppoll(NULL, 0, &limit, &none);
    if (strcmp(kind, "select") == 0)
        return select(0, NULL, NULL, NULL, &time);
    if (strcmp(kind, "epoll_wait") == 0)
        return wait_in_epoll();
    if (strcmp(kind, "read") == 0)
        return read(late_pipe(&child), &byte, 1);
    if (strcmp(kind, "recv") == 0)
        return receive();
    if (strcmp(kind, "cond") == 0)
        return wait_for_condition();
    if (strcmp(kind, "sem") == 0)
        return wait_for_semaphore();
    if (strcmp(kind, "sigtimedwait") == 0)
        return wait_for_signal();
    if (strcmp(kind, "semtimedop") == 0)
        return wait_for_sem_op();
    late_pipe(&child); /* waitpid */
    return waitpid(child, NULL, 0) == child;
}

static int sleep_once(const char *kind)
{
    double start_s = now_s();
    errno = 0;
    printf("ready\n");
    long result = sleep_in(kind);
    int error = errno;
    printf("%ld %d %.3f\n", result, error, now_s() - start_s);
    return 0;
}

/* --- loops --- */

static void loop_malloc(void)
{
    void *blocks[16];
    for (size_t i = 0; i < 16; i++)
        blocks[i] = malloc((i * 7919 + loops % 4096) % 200000 + 1);
    for (size_t i = 0; i < 16; i++)
        free(blocks[i]);
}

/* A static program has no loader of its own. */
static void loop_dlopen(void)
{
#ifndef WITHOUT_LOADER
    void *library = dlopen("libm.so.6", RTLD_NOW), *other = dlopen("libresolv.so.2", RTLD_NOW);
    if (library)
        dlclose(library);
    if (other)
        dlclose(other);
#endif
}

static void *loop(void *what)
{
    for (;;) {
        if (strcmp(what, "dlopen") != 0)
            loop_malloc();
        if (strcmp(what, "malloc") != 0)
            loop_dlopen();
        atomic_fetch_add(&loops, 1);
    }
    return NULL;
}

static void start_loops(char *what, int count)
{
    pthread_t thread;
    for (int i = 0; i < count; i++)
        pthread_create(&thread, NULL, loop, what);
}

/* --- a thread with known registers --- */

/* read() into a byte; false: a register has changed. A call of the system keeps all but three. */
#ifdef __x86_64__
static bool read_with_registers(char *byte, long *result)
{
    static const uint64_t in[2] = {0x1122334455667788, 0x99aabbccddeeff00};
    static uint64_t out[2], zero[2];
    static const uint64_t b = 0x0b0b0b0b, r12 = 0x12121212, r15 = 0x15151515;
    register uint64_t changed __asm__("r8");
    static const uint32_t control = 0x9fc0;
    static uint32_t control_after; /* flushes denormals to zero */
    __asm__ volatile(
        "push %%rbx\n push %%r12\n push %%r15\n"
        "mov %[b], %%rbx\n mov %[r12], %%r12\n mov %[r15], %%r15\n"
        "ldmxcsr %[control]\n movdqu %[in], %%xmm0\n movdqu %[in], %%xmm7\n"
        "xor %%eax, %%eax\n xor %%edi, %%edi\n mov $1, %%edx\n syscall\n"
        "pxor %%xmm0, %%xmm7\n movdqu %%xmm0, %[out]\n movdqu %%xmm7, %[zero]\n stmxcsr %[after]\n"
        "xor %[b], %%rbx\n xor %[r12], %%r12\n xor %[r15], %%r15\n"
        "or %%r12, %%rbx\n or %%r15, %%rbx\n mov %%rbx, %%r8\n"
        "pop %%r15\n pop %%r12\n pop %%rbx\n"
        : "=a"(*result), [out] "=m"(out), [zero] "=m"(zero), [after] "=m"(control_after), "=r"(changed)
        : [b] "m"(b), [r12] "m"(r12), [r15] "m"(r15), [control] "m"(control), [in] "m"(in), "S"(byte)
        : "rdi", "rdx", "rcx", "r11", "xmm0", "xmm7", "memory");
    static const uint32_t usual = 0x1f80;
    __asm__ volatile("ldmxcsr %0" : : "m"(usual));
    return changed == 0 && zero[0] == 0 && zero[1] == 0 && memcmp(in, out, sizeof in) == 0 &&
           control == control_after;
}
#else
static bool read_with_registers(char *byte, long *result)
{
    *result = read(STDIN_FILENO, byte, 1);
    return true;
}
#endif

static bool are_registers_same = true;

static long read_byte(char *byte)
{
    long result;
    are_registers_same &= read_with_registers(byte, &result);
    return result;
}

static long nap_for_byte(char *byte)
{
    long result;
    fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
    while ((result = read(STDIN_FILENO, byte, 1)) < 0 && errno == EAGAIN)
        interrupted += nanosleep(&(struct timespec){0, NAP_MS * 1000000}, NULL) != 0;
    return result < 0 ? -errno : result;
}

static void answer(void)
{
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    bool is_same_mask = memcmp(&mask, &mask_before, sizeof(uint64_t)) == 0;
    printf("%lu loops, %u interrupted, registers %s, mask %s\n", (unsigned long)loops, interrupted,
           are_registers_same ? "same" : "changed", is_same_mask ? "same" : "changed");
}

static int serve(long (*next)(char *byte))
{
    char byte;
    pthread_sigmask(SIG_SETMASK, NULL, &mask_before);
    printf("ready\n");
    for (long result; (result = next(&byte)) != 0;) {
        interrupted += result < 0;
        if (result == 1 && byte == '\n')
            answer();
    }
    return 0;
}

/* --- places where a thread must not be stopped --- */

static ucontext_t main_context, other_context;

static void in_other_context(void)
{
    serve(read_byte);
}

static int serve_in_coroutine(void)
{
    char *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    getcontext(&other_context);
    other_context.uc_stack.ss_sp = stack;
    other_context.uc_stack.ss_size = STACK_SIZE;
    other_context.uc_link = &main_context;
    makecontext(&other_context, in_other_context, 0);
    return swapcontext(&main_context, &other_context);
}

static void in_handler(int number)
{
    serve(read_byte);
}

static int serve_in_handler(void)
{
    signal(SIGUSR1, in_handler);
    return raise(SIGUSR1);
}

static int forbid(const char *call, const char *how)
{
    struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)atoi(call), 0, 1),
                                 BPF_STMT(BPF_RET | BPF_K, strcmp(how, "kill") == 0
                                                               ? SECCOMP_RET_KILL_PROCESS
                                                               : SECCOMP_RET_ERRNO | EPERM),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        perror("seccomp");
        return 2;
    }
    return serve(read_byte);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(what, "sleep") == 0 && argc == 3)
        return sleep_once(argv[2]);
    if (strcmp(what, "loop") == 0 && argc == 4) {
        start_loops(argv[2], atoi(argv[3]));
        return serve(read_byte);
    }
    if (strcmp(what, "busy") == 0 && argc == 3) {
        start_loops("both", atoi(argv[2]));
        printf("ready\n");
        loop("both");
    }
    if (strcmp(what, "read") == 0)
        return serve(read_byte);
    if (strcmp(what, "nap") == 0)
        return serve(nap_for_byte);
    if (strcmp(what, "coroutine") == 0)
        return serve_in_coroutine();
    if (strcmp(what, "handler") == 0)
        return serve_in_handler();
    if (strcmp(what, "forbid") == 0 && argc == 4)
        return forbid(argv[2], argv[3]);
    fprintf(stderr, "attach_host: see the top of attach_host.c\n");
    return 2;
}
