/* Preloaded: where a program ends by a signal, on standard error. Signal, address, registers, call stack, the
 * words on the stack, and the memory map. For machines without a debugger. cc -O1 -g -shared -fPIC -o
 * crash_report.so crash_report.c */
#define _GNU_SOURCE
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define WORDS 400

static char stack[1 << 18];
static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE};

static void put(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        _exit(1);
}

static void put_map(void)
{
    char part[4096];
    ssize_t bytes;
    int map = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    while (map >= 0 && (bytes = read(map, part, sizeof part)) > 0)
        if (write(STDERR_FILENO, part, (size_t)bytes) < 0)
            _exit(1);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    static atomic_bool is_reported;
    const greg_t *registers = ((const ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned long *words = (const unsigned long *)registers[REG_RSP];
    void *calls[64];
    char line[128], thread[32] = "";
    if (atomic_exchange(&is_reported, true))
        pause();
    pthread_getname_np(pthread_self(), thread, sizeof thread);
    snprintf(line, sizeof line, "CRASH: signal %d, code %d, address %p, thread %s\n", number, info->si_code,
             info->si_addr, thread);
    put(line);
    for (int i = 0; i < NGREG; i++) {
        snprintf(line, sizeof line, " %d:%llx", i, registers[i]);
        put(line);
    }
    put("\nCALLS\n");
    backtrace_symbols_fd(calls, backtrace(calls, 64), STDERR_FILENO);
    put("STACK");
    for (int i = 0; i < WORDS; i++) {
        snprintf(line, sizeof line, " %lx", words[i]);
        put(line);
    }
    put("\nMAP\n");
    put_map();
    signal(number, SIG_DFL);
    raise(number);
}

__attribute__((constructor)) static void begin(void)
{
    void *calls[4];
    stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    backtrace(calls, 4); /* loads what it needs */
    sigaltstack(&own, NULL);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
}
