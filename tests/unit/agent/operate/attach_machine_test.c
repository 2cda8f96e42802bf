#include "agent/operate/attach/machine.h"
#include "agent/operate/attach/remote_job.h"

#include "support/test.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* The code and the frame of a processor, in a child of this process: its thread is the stopped one and the
 * new one. A function that stands where the system call would be made again looks at what became of it. */

#define BYTES       (1u << 20)
#define CODE_OFFSET (64u << 10)
#define HANDLE      ((void *)0x77)
#define NO_THREADS  11

enum fault { NO_FAULT, NO_LIBRARY, NO_FUNCTION, NO_THREAD };

static enum fault fault;
static struct remote_job *job;
static struct machine_state state;
static bool was_opened, was_detached;

/* --- what the code calls --- */

static int enter(const char *lines, char *message, size_t bytes)
{
    snprintf(message, bytes, "from %s", lines);
    return 7;
}

static void *open_library(const char *path, int flags)
{
    was_opened = strcmp(path, "/path") == 0 && flags == 2 && job->stage == STAGE_LOADING;
    return fault == NO_LIBRARY ? NULL : HANDLE;
}

static void *find_symbol(void *library, const char *name)
{
    return library == HANDLE && fault != NO_FUNCTION && strcmp(name, "symbol") == 0 ? (void *)(uintptr_t)enter
                                                                                    : NULL;
}

static char *tell_error(void)
{
    static char error[2 * ERROR_TEXT_MAX];
    memset(error, 'e', sizeof error - 1); /* too long */
    return error;
}

static int create(unsigned long *thread, const void *attributes, void *(*work)(void *), void *context)
{
    if (fault == NO_THREAD)
        return NO_THREADS;
    *thread = 5;
    return attributes || work(context) != NULL;
}

static int detach(unsigned long thread)
{
    was_detached = thread == 5;
    return 0;
}

/* --- where the thread lands --- */

#define EXPECT(condition)                                                                                    \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            _exit(__LINE__ % 250 + 1);                                                                       \
    } while (0)

/* `kept`: a register that a call keeps; `number`: a floating-point one. */
__attribute__((noinline, used)) static void landed(uint64_t kept, double number)
{
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    EXPECT(kept == 0x1919 && number == 3.5);
    EXPECT(sigismember(&mask, SIGUSR1) == 1 && sigismember(&mask, SIGUSR2) == 0);
    EXPECT(job->is_created == 1 && job->created == (fault == NO_THREAD ? NO_THREADS : 0));
    EXPECT(was_detached == (fault != NO_THREAD) && was_opened == (fault != NO_THREAD));
    switch (fault) {
    case NO_FAULT:
        EXPECT(job->stage == STAGE_DONE && job->result == 7 && strcmp(job->message, "from lines") == 0);
        break;
    case NO_LIBRARY:
        EXPECT(job->stage == STAGE_NOT_LOADED && strspn(job->message, "e") == ERROR_TEXT_MAX - 1);
        EXPECT(strcmp(job->symbol, "symbol") == 0);
        break;
    case NO_FUNCTION:
        EXPECT(job->stage == STAGE_NO_SYMBOL);
        break;
    case NO_THREAD:
        EXPECT(job->stage == STAGE_NOTHING);
    }
    _exit(0);
}

/* --- the registers --- */

void landing(void);
static double number = 3.5;

#ifdef __x86_64__
__asm__(".text\nlanding:\n mov %rbx, %rdi\n movaps %xmm6, %xmm0\n call landed\n");

static void fill_state(uint64_t stack)
{
    const uint16_t control = 0x37f;
    const uint32_t modes = 0x1f80;
    const uint64_t components = 3;
    state.registers.rsp = stack;
    state.registers.rip = (uint64_t)(uintptr_t)landing + 2;
    state.registers.rbx = 0x1919;
    state.registers.cs = 0x33;
    state.registers.ss = 0x2b;
    memcpy(state.extended, &control, sizeof control);
    memcpy(state.extended + 24, &modes, sizeof modes);
    memcpy(state.extended + 160 + 6 * 16, &number, sizeof number);
    memcpy(state.extended + 512, &components, sizeof components);
}

static void jump(uint64_t code, uint64_t frame, uint64_t stack)
{
    __asm__ volatile("mov %0, %%rbx\n mov %1, %%r12\n mov %2, %%rsp\n jmp *%3"
                     :
                     : "r"(job), "r"(frame + 8), "r"(stack), "a"(code)
                     : "rbx", "r12", "memory");
}
#else
__asm__(".text\nlanding:\n mov x0, x19\n fmov d0, d9\n bl landed\n");

static void fill_state(uint64_t stack)
{
    struct user_fpsimd_struct floats = {.fpcr = 0};
    state.registers.sp = stack;
    state.registers.pc = (uint64_t)(uintptr_t)landing;
    state.registers.regs[19] = 0x1919;
    memcpy(&floats.vregs[9], &number, sizeof number);
    memcpy(state.extended, &floats, sizeof floats);
}

static void jump(uint64_t code, uint64_t frame, uint64_t stack)
{
    register uint64_t in_19 __asm__("x19") = (uint64_t)(uintptr_t)job, in_20 __asm__("x20") = frame;
    __asm__ volatile("mov sp, %2\n br %3" : : "r"(in_19), "r"(in_20), "r"(stack), "r"(code) : "memory");
}
#endif

static void fill_job(uint64_t code)
{
    void *const functions[] = {(void *)(uintptr_t)open_library, (void *)(uintptr_t)find_symbol,
                               (void *)(uintptr_t)tell_error, (void *)(uintptr_t)create,
                               (void *)(uintptr_t)detach};
    for (size_t i = 0; i < REMOTE_FUNCTIONS; i++)
        job->functions[i] = (uint64_t)(uintptr_t)functions[i];
    job->work = code + (uint64_t)(machine_work - machine_code);
    job->created = NOT_CREATED;
    job->limit[1] = 1000000; /* for the wait of the stopped thread */
    strcpy(job->symbol, "symbol");
    strcpy(job->path, "/path");
    strcpy(job->settings, "lines");
}

static void run(void)
{
    static uint8_t frame[MACHINE_FRAME_BYTES] __attribute__((aligned(64))), stack[4 * MACHINE_FRAME_BYTES];
    struct machine_places places = {0};
    char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t code_bytes = (size_t)(machine_code_end - machine_code);
    uint64_t code = (uint64_t)(uintptr_t)memory + CODE_OFFSET;
    job = (struct remote_job *)memory;
    memcpy(memory + CODE_OFFSET, machine_code, code_bytes);
    __builtin___clear_cache(memory + CODE_OFFSET, memory + CODE_OFFSET + code_bytes);
    EXPECT(mprotect(memory + CODE_OFFSET, CODE_OFFSET, PROT_READ | PROT_EXEC) == 0);
    fill_job(code);
    fill_state(((uint64_t)(uintptr_t)stack + sizeof stack - 256) & ~15ull);
    state.signal_mask = 1ull << (SIGUSR1 - 1);
    size_t bytes = machine_make_frame(&state, &places, frame, &places.frame);
    EXPECT(bytes <= sizeof frame && places.frame + bytes <= machine_stack(&state));
    memcpy((void *)(uintptr_t)places.frame, frame, bytes);
    jump(code, places.frame, (uint64_t)(uintptr_t)memory + BYTES - 64);
}

static void run_with(enum fault planted)
{
    int status;
    fault = planted;
    pid_t child = fork();
    if (child == 0)
        run();
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void test_all_goes_well(void **unused)
{
    run_with(NO_FAULT);
}

static void test_what_goes_wrong(void **unused)
{
    run_with(NO_LIBRARY);
    run_with(NO_FUNCTION);
    run_with(NO_THREAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_goes_well),
                                       cmocka_unit_test(test_what_goes_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
