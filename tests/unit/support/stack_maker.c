#include "support/stack_maker.h"

#include <alloca.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

static __thread struct stack_plan *current;

static void keep(void *address)
{
    __asm__ volatile("" : : "r"(address) : "memory");
}

static void plain(struct stack_plan *plan)
{
    stack_next(plan);
}

#ifndef LARGE_BYTES
#define LARGE_BYTES 5000
#endif

static void large_frame(struct stack_plan *plan)
{
    char bytes[LARGE_BYTES];
    keep(bytes);
    stack_next(plan);
}

static void dynamic_frame(struct stack_plan *plan)
{
    char *bytes = alloca(16 + stack_random(&plan->random) % 700);
    keep(bytes);
    stack_next(plan);
}

/* Many compilers keep the old stack pointer in another register here. */
static void aligned_frame(struct stack_plan *plan)
{
    _Alignas(64) char bytes[200];
    keep(bytes);
    stack_next(plan);
}

static void aligned_dynamic_frame(struct stack_plan *plan)
{
    _Alignas(128) char bytes[128];
    char *more = alloca(16 + stack_random(&plan->random) % 300);
    keep(bytes);
    keep(more);
    stack_next(plan);
}

static int many_arguments(struct stack_plan *plan, int a, int b, int c, int d, int e, int f, int g, int h,
                          int i)
{
    stack_next(plan);
    return a + b + c + d + e + f + g + h + i;
}

static void pushed_arguments(struct stack_plan *plan)
{
    volatile int sum = many_arguments(plan, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    (void)sum;
}

static int variadic(struct stack_plan *plan, ...)
{
    va_list list;
    va_start(list, plan);
    stack_next(plan);
    int sum = va_arg(list, int) + (int)va_arg(list, double);
    va_end(list);
    return sum;
}

static void with_variadic(struct stack_plan *plan)
{
    volatile int sum = variadic(plan, 1, 2.5);
    (void)sum;
}

static int compare(const void *a, const void *b)
{
    struct stack_plan *plan = current;
    current = NULL;
    if (plan)
        stack_next(plan);
    return *(const int *)a - *(const int *)b;
}

static void through_qsort(struct stack_plan *plan)
{
    int numbers[4] = {3, 1, 2, 0};
    current = plan;
    qsort(numbers, 4, sizeof *numbers, compare);
    keep(numbers);
}

static void recursive(struct stack_plan *plan, int depth)
{
    volatile int after = depth;
    if (depth > 0)
        recursive(plan, depth - 1);
    else
        stack_next(plan);
    after--;
}

static void with_recursion(struct stack_plan *plan)
{
    recursive(plan, (int)(stack_random(&plan->random) % 5));
}

/* Many registers are saved. */
static void busy(struct stack_plan *plan)
{
    volatile long numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    long a = numbers[0], b = numbers[1], c = numbers[2], d = numbers[3], e = numbers[4], f = numbers[5];
    stack_next(plan);
    numbers[6] = a * b + c * d + e * f;
}

static void early_return(struct stack_plan *plan)
{
    if (stack_random(&plan->random) % 2) {
        stack_next(plan);
        return;
    }
    char bytes[64];
    memset(bytes, 1, sizeof bytes);
    keep(bytes);
    stack_next(plan);
}

#ifndef WITHOUT_SIGNALS

/* SIGILL comes from an instruction of two bytes, which is skipped. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    struct stack_plan *plan = current;
    current = NULL;
    if (plan)
        stack_next(plan);
#if defined(__x86_64__)
    if (number == SIGILL)
        ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
#else
    (void)number, (void)context;
#endif
}

static void handle(struct stack_plan *plan, int number)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_NODEFER | SA_SIGINFO};
    sigaction(number, &action, NULL);
    current = plan;
}

static void through_signal(struct stack_plan *plan)
{
    handle(plan, SIGUSR2);
    raise(SIGUSR2);
}

/* The signal interrupts this function itself, in its middle. */
static void interrupted(struct stack_plan *plan)
{
    handle(plan, SIGTRAP);
#if defined(__x86_64__)
    __asm__ volatile("int3" : : : "memory");
#else
    raise(SIGTRAP);
#endif
}

/* The signal interrupts a function without a frame, at its first instruction: the rule of the byte before it,
 * which belongs to another function, would be wrong. */
#if defined(__x86_64__)
__attribute__((visibility("hidden"))) void frameless(void);
__asm__(".text\n"
        ".cfi_startproc\n.cfi_def_cfa_offset 4096\nnop\n.cfi_endproc\n"
        ".type frameless, @function\nframeless:\n"
        ".cfi_startproc\nud2\nret\n.cfi_endproc\n.size frameless, .-frameless\n");
static void interrupted_frameless(struct stack_plan *plan)
{
    handle(plan, SIGILL);
    frameless();
    __asm__ volatile("" : : : "memory");
}
#else
#define interrupted_frameless plain
#endif

#endif

__attribute__((visibility("default"))) stack_function *stack_functions[] = {
    plain,         large_frame,   dynamic_frame,  aligned_frame, aligned_dynamic_frame, pushed_arguments,
    with_variadic, through_qsort, with_recursion, busy,          early_return,          NULL};
__attribute__((visibility("default"))) stack_function *stack_signal_functions[] = {
#ifndef WITHOUT_SIGNALS
    through_signal, interrupted, interrupted_frameless,
#endif
    NULL};
