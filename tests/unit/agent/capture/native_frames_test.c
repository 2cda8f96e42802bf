#include "agent/capture/stacks/native_frames.h"

#include "support/stack_maker.h"
#include "support/stack_tool.h"
#include "support/test.h"
#include "support/under_qemu.h"

#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#define FRAMES_MAX 2048

static const char *const flavors[] = {"O0", "O2", "omit", "keep", "Os", "exceptions"};
#define FLAVORS (sizeof flavors / sizeof *flavors)

static __thread struct native_stack own_stack;

/* If libunwind is installed. Not linked, since it would replace backtrace() and the unwinder of exceptions.
 */
static int (*libunwind_backtrace)(void **frames, int max);
/* glibc's: those of sanitizers have one frame more. */
static int (*libc_backtrace)(void **frames, int max);

struct seen {
    void *expected[FRAMES_MAX];
    int expected_count;
    uint64_t frames[FRAMES_MAX];
    struct native_walk walk;
};

static void learn_stack(void)
{
    struct native_stack *stacks[] = {&own_stack};
    if (atomic_load(&own_stack.noted) == 0)
        native_stack_begin(&own_stack);
    assert_true(native_stacks_find(stacks, 1));
}

/* Walks with the rest by native_frames_finish(). */
static __attribute__((noinline)) void walk_all(enum native_from from, uint64_t *frames, uint32_t max,
                                               struct native_walk *walk)
{
    native_frames_walk(&own_stack, from, frames, max, walk);
    if (walk->ticket) {
        struct native_walk rest;
        native_frames_finish(walk->ticket, frames + walk->count, max - walk->count, &rest);
        walk->count += rest.count;
        walk->end = rest.end;
    }
}

static void add_functions(struct stack_plan *plan, stack_function **functions)
{
    for (int i = 0; functions[i]; i++)
        plan->functions[plan->function_count++] = functions[i];
}

static void load(const char *flavor, void **library, struct stack_plan *plan)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/libstack_maker_%s.so", STACK_MAKERS, flavor);
    *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*library)
        fail_msg("%s", dlerror());
    stack_function **functions = dlsym(*library, STACK_FUNCTIONS_SYMBOL);
    assert_non_null(functions);
    add_functions(plan, functions);
    /* Handlers under qemu return to code without tables. */
    functions = is_under_qemu() ? NULL : dlsym(*library, STACK_SIGNAL_FUNCTIONS_SYMBOL);
    if (functions)
        add_functions(plan, functions);
}

/* ---- Random stacks --------------------------------------------------------------------------------------
 */

/* Both return to this function, at different addresses, so the first frame is not compared. After a signal
 * handler's frame, backtrace() has the interrupted instruction's address, and we have it plus 1. */
static void expect_equal(const struct seen *seen, const char *what)
{
    int count = seen->expected_count;
    while (count > 0 && !seen->expected[count - 1])
        count--;
    bool is_equal = (int)seen->walk.count == count;
    for (int i = 1; i < count && is_equal; i++) {
        uint64_t expected = (uint64_t)(uintptr_t)seen->expected[i];
        is_equal = seen->frames[i] == expected || (i > 2 && seen->frames[i] == expected + 1);
    }
    if (is_equal)
        return;
    for (int i = 0; i < count || i < (int)seen->walk.count; i++) {
        Dl_info info = {0};
        uint64_t expected = i < count ? (uint64_t)(uintptr_t)seen->expected[i] : 0;
        uint64_t got = i < (int)seen->walk.count ? seen->frames[i] : 0;
        dladdr((void *)(uintptr_t)(expected ? expected - 1 : got - 1), &info);
        print_message("%c %16llx %16llx %s %s\n", expected == got ? ' ' : '*', (unsigned long long)expected,
                      (unsigned long long)got, info.dli_fname ? info.dli_fname : "?",
                      info.dli_sname ? info.dli_sname : "?");
    }
    fail_msg("%s: %d frames instead of %d; end: %d", what, (int)seen->walk.count, count, (int)seen->walk.end);
}

static __attribute__((noinline)) void expect_as_libunwind(struct seen *seen)
{
    int count = seen->expected_count;
    seen->expected_count = libunwind_backtrace(seen->expected, FRAMES_MAX);
    if (seen->expected_count > 2 && (uint64_t)(uintptr_t)seen->expected[2] == seen->frames[1]) {
        seen->expected_count--; /* this function, if the compiler has not merged it with its caller */
        memmove(seen->expected, seen->expected + 1, (size_t)seen->expected_count * sizeof *seen->expected);
    }
    expect_equal(seen, "libunwind");
    seen->expected_count = count;
}

static void compare_leaf(struct stack_plan *plan)
{
    struct seen *seen = plan->argument;
    seen->expected_count = libc_backtrace(seen->expected, FRAMES_MAX);
    for (int i = 0; i < 40; i++) { /* a copy may end before the stack does */
        walk_all(NATIVE_FROM_HERE, seen->frames, FRAMES_MAX, &seen->walk);
        /* walk_all() itself */
        memmove(seen->frames, seen->frames + 1, (size_t)seen->walk.count * sizeof *seen->frames);
        seen->walk.count--;
        if (seen->walk.end != NATIVE_END_STACK)
            break;
    }
    assert_int_equal(seen->walk.end, NATIVE_END_OUTERMOST);
    expect_equal(seen, "completed");
    for (volatile int i = 0; i < 2; i++) { /* this call's own address becomes known; volatile: one call */
        native_frames_walk(&own_stack, NATIVE_FROM_HERE, seen->frames, FRAMES_MAX, &seen->walk);
        if (i == 0)
            native_frames_poll();
    }
    assert_int_equal(seen->walk.end, NATIVE_END_OUTERMOST);
    assert_true(seen->walk.ticket == 0);
    expect_equal(seen, "cached");
    if (libunwind_backtrace && plan->functions_are_kept) /* it keeps rules of unloaded libraries */
        expect_as_libunwind(seen);
}

static void run_random(struct stack_plan *plan, int stacks, int depth_max)
{
    static __thread struct seen seen;
    plan->leaf = compare_leaf;
    plan->argument = &seen;
    for (int i = 0; i < stacks; i++) {
        plan->functions_left = (int)(stack_random(&plan->random) % (uint64_t)depth_max);
        stack_next(plan);
    }
}

static struct stack_plan all_flavors = {.random = 88172645463325252u, .functions_are_kept = true};

static void *random_on_thread(void *argument)
{
    struct stack_plan plan = all_flavors;
    plan.random = (uint64_t)(uintptr_t)argument;
    learn_stack();
    run_random(&plan, 400, 60);
    return NULL;
}

static void test_nothing_before_the_start(void **state)
{
    uint64_t frames[4];
    struct native_walk walk;
    native_frames_walk(&own_stack, NATIVE_FROM_HERE, frames, 4, &walk);
    assert_int_equal(walk.count, 0);
    assert_int_equal(walk.end, NATIVE_END_UNSUPPORTED);
    native_frames_finish(256, frames, 4, &walk);
    assert_int_equal(walk.end, NATIVE_END_UNKNOWN);
    native_frames_poll();
    assert_int_equal(native_frames_start(), STATUS_OK);
    assert_int_equal(native_frames_start(), STATUS_OK);
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(libc);
    libc_backtrace = (int (*)(void **, int))(uintptr_t)dlsym(libc, "backtrace");
    assert_non_null(libc_backtrace);
#ifndef WITHOUT_LIBUNWIND /* under ThreadSanitizer it crashes, and under valgrind it reads below the stack   \
                           */
    void *libunwind =
        getenv("CUSPAN_UNDER_VALGRIND") ? NULL : dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    if (libunwind)
        libunwind_backtrace = (int (*)(void **, int))(uintptr_t)dlsym(libunwind, "unw_backtrace");
#endif
}

static void test_random_stacks_equal_backtrace(void **state)
{
    void *library;
    for (size_t i = 0; i < FLAVORS; i++)
        load(flavors[i], &library, &all_flavors);
    learn_stack();
    struct stack_plan plan = all_flavors;
    run_random(&plan, 2000, 30);
    run_random(&plan, 20, 300);
}

static void test_random_stacks_on_threads(void **state)
{
    for (uintptr_t i = 1; i <= 4; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, random_on_thread, (void *)(i * 7919)), 0);
        pthread_join(thread, NULL);
    }
}

/* ---- The caller -----------------------------------------------------------------------------------------
 */

static void *open_library(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", STACK_MAKERS, name);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    return library;
}

static bool is_in_this_program(uint64_t frame)
{
    Dl_info found, own;
    assert_true(dladdr(&all_flavors, &own));
    return dladdr((void *)(uintptr_t)(frame - 1), &found) && found.dli_fbase == own.dli_fbase;
}

/* A callback in one tool's library, called by another one's. */
static void test_the_caller_behind_tools(void **state)
{
    void *cupti = open_library("libcupti_stack_tool.so"), *agent = open_library("libcuspan_stack_tool.so");
    stack_tool_call_fn *call = (stack_tool_call_fn *)(uintptr_t)dlsym(cupti, "stack_tool_call");
    void (*callback)(void *) = (void (*)(void *))(uintptr_t)dlsym(agent, "stack_tool_walk");
    assert_non_null(call);
    assert_non_null(callback);
    uint64_t frames[2], last = 0;
    struct native_walk walk, rest;
    struct stack_tool_order order = {native_frames_walk, &own_stack, frames, 2, &walk, 1, NATIVE_FROM_CALLER};
    for (int i = 0; i < 4; i++) { /* unknown, then cached */
        order.max = i == 3 ? 1 : 2;
        call(callback, &order, 4);
        assert_int_equal(walk.ticket != 0, i == 0);
        if (walk.ticket) {
            assert_int_equal(walk.count, 0);
            native_frames_finish(walk.ticket, frames, 2, &rest);
            walk = rest;
        }
        assert_int_equal(walk.count, order.max);
        assert_int_equal(walk.end, NATIVE_END_FULL);
        assert_true(is_in_this_program(frames[0]));
        assert_true(i == 0 || frames[0] == last);
        last = frames[0];
    }
    /* Without skipping, the first frame is in the tool. */
    order.walk = native_frames_walk;
    native_frames_walk(&own_stack, NATIVE_FROM_CALLER, frames, 1, &walk);
    assert_true(walk.count == 0 || is_in_this_program(frames[0]));
    dlclose(agent);
    dlclose(cupti);
}

/* ---- Ends -----------------------------------------------------------------------------------------------
 */

static void test_a_full_result_says_so(void **state)
{
    uint64_t all[FRAMES_MAX], some[FRAMES_MAX];
    struct native_walk walk, shorter;
    do /* a copy may end before the stack does */
        walk_all(NATIVE_FROM_HERE, all, FRAMES_MAX, &walk);
    while (walk.end == NATIVE_END_STACK);
    assert_int_equal(walk.end, NATIVE_END_OUTERMOST);
    assert_true(walk.count > 3);
    for (uint32_t max = 1; max <= walk.count; max++) {
        walk_all(NATIVE_FROM_HERE, some, max, &shorter);
        assert_int_equal(shorter.count, max);
        assert_int_equal(shorter.end, max < walk.count ? NATIVE_END_FULL : NATIVE_END_OUTERMOST);
        /* The first frame is in walk_all(), the second one here, behind another call. */
        assert_memory_equal(some + 2, all + 2, max > 2 ? (max - 2) * sizeof *some : 0);
    }
}

/* Calls the function. New code each time, without unwind tables. */
typedef void generated_fn(void (*function)(void *), void *argument);

static generated_fn *generate(void)
{
#if defined(__x86_64__)
    /* mov %rdi, %rax; mov %rsi, %rdi; sub $8, %rsp; call *%rax; add $8, %rsp; ret */
    static const uint8_t code[] = {0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0x48, 0x83, 0xec,
                                   0x08, 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x08, 0xc3};
#else
    /* stp x29, x30, [sp, -16]!; mov x2, x0; mov x0, x1; blr x2; ldp x29, x30, [sp], 16; ret */
    static const uint32_t code[] = {0xa9bf7bfd, 0xaa0003e2, 0xaa0103e0, 0xd63f0040, 0xa8c17bfd, 0xd65f03c0};
#endif
    void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(at, MAP_FAILED);
    memcpy(at, code, sizeof code);
    assert_int_equal(mprotect(at, 4096, PROT_READ | PROT_EXEC), 0);
    __builtin___clear_cache(at, (char *)at + sizeof code);
    return (generated_fn *)(uintptr_t)at;
}

struct plain_walk {
    uint64_t frames[64];
    struct native_walk walk;
    bool is_finished;
};

static __attribute__((noinline)) void walk_only(void *argument)
{
    struct plain_walk *plain = argument;
    if (plain->is_finished)
        walk_all(NATIVE_FROM_HERE, plain->frames, 64, &plain->walk);
    else
        native_frames_walk(&own_stack, NATIVE_FROM_HERE, plain->frames, 64, &plain->walk);
    __asm__ volatile("" : : : "memory");
}

static void test_generated_code_ends_the_stack(void **state)
{
    struct plain_walk plain = {.is_finished = true};
    generated_fn *code = generate();
    for (int i = 0; i < 2; i++) { /* unknown, cached */
        code(walk_only, &plain);
        assert_int_equal(plain.walk.end, NATIVE_END_NO_TABLES);
        assert_int_equal(plain.walk.count, 3); /* walk_all(), walk_only(), the code */
        assert_true(plain.frames[2] - (uint64_t)(uintptr_t)code < 32);
    }
    /* Not unmapped: other code at this address would be known already. */
}

static void test_copies_are_given_back(void **state)
{
    static generated_fn *codes[NATIVE_COPIES + 2];
    struct plain_walk plain = {.is_finished = false};
    uint64_t tickets[NATIVE_COPIES];
    for (int i = 0; i < NATIVE_COPIES + 2; i++)
        codes[i] = generate();
    for (int i = 0; i <= NATIVE_COPY_POLLS; i++) /* what other tests have left */
        native_frames_poll();
    for (volatile int i = 0; i < 2; i++) { /* the addresses in this program become known */
        struct native_walk rest;
        walk_only(&plain);
        native_frames_finish(plain.walk.ticket, plain.frames, 64, &rest);
    }
    for (int i = 0; i < NATIVE_COPIES; i++) {
        codes[i](walk_only, &plain);
        assert_int_equal(plain.walk.end, NATIVE_END_UNKNOWN);
        assert_int_equal(plain.walk.count, 1); /* walk_only() */
        tickets[i] = plain.walk.ticket;
        assert_true(tickets[i] != 0);
        assert_true(i == 0 || tickets[i] != tickets[i - 1]);
    }
    codes[NATIVE_COPIES](walk_only, &plain);
    assert_int_equal(plain.walk.end, NATIVE_END_UNKNOWN);
    assert_true(plain.walk.ticket == 0);
    assert_int_equal(plain.walk.count, 2); /* with the frame whose rule is unknown */
    assert_true(plain.frames[1] - (uint64_t)(uintptr_t)codes[NATIVE_COPIES] < 32);
    /* A finished copy is free, and its ticket has no use any more. */
    struct native_walk rest;
    uint64_t frames[8];
    native_frames_finish(tickets[3], frames, 8, &rest);
    assert_int_equal(rest.end, NATIVE_END_NO_TABLES);
    assert_int_equal(rest.count, 1);
    native_frames_finish(tickets[3], frames, 8, &rest);
    assert_int_equal(rest.end, NATIVE_END_UNKNOWN);
    assert_int_equal(rest.count, 0);
    native_frames_finish(UINT64_MAX, frames, 8, &rest);
    assert_int_equal(rest.end, NATIVE_END_UNKNOWN);
    codes[NATIVE_COPIES + 1](walk_only, &plain); /* in the copy that is free again */
    assert_true(plain.walk.ticket != 0);
    native_frames_finish(tickets[3], frames, 8, &rest);
    assert_int_equal(rest.end, NATIVE_END_UNKNOWN);
    /* A poll learns the rules of all copies, and later ones free them. */
    native_frames_poll();
    codes[1](walk_only, &plain);
    assert_int_equal(plain.walk.end, NATIVE_END_NO_TABLES);
    native_frames_finish(tickets[1], frames, 8, &rest);
    assert_int_equal(rest.end, NATIVE_END_NO_TABLES);
    for (int i = 1; i < NATIVE_COPY_POLLS; i++)
        native_frames_poll();
    native_frames_finish(tickets[2], frames, 8, &rest);
    assert_int_equal(rest.end, NATIVE_END_NO_TABLES);
    native_frames_poll();
    native_frames_finish(tickets[0], frames, 8, &rest);
    assert_int_equal(rest.end, NATIVE_END_UNKNOWN);
    for (int i = 0; i < NATIVE_COPIES + 2; i++)
        munmap((void *)(uintptr_t)codes[i], 4096);
}

/* The copy for a caller has no ticket, and is free after one poll, with which the caller is known. */
static void test_the_caller_alone(void **state)
{
    void *cupti = open_library("libcupti_stack_tool.so"), *agent = open_library("libcuspan_stack_tool.so");
    stack_tool_call_fn *call = (stack_tool_call_fn *)(uintptr_t)dlsym(cupti, "stack_tool_call");
    void (*callback)(void *) = (void (*)(void *))(uintptr_t)dlsym(agent, "stack_tool_walk");
    assert_non_null(call);
    assert_non_null(callback);
    uint64_t frame = 0;
    struct native_walk walk;
    struct stack_tool_order order = {native_frames_walk, &own_stack, &frame, 1, &walk, 1, NATIVE_CALLER};
    for (int i = 0; i <= NATIVE_COPY_POLLS; i++) /* what other tests have left */
        native_frames_poll();
    for (volatile int i = 0; i < 2; i++) {
        if (i == 1)
            native_frames_poll();
        call(callback, &order, 4);
        assert_true(walk.ticket == 0);
        assert_int_equal(walk.count, i);
        assert_int_equal(walk.end, i == 0 ? NATIVE_END_UNKNOWN : NATIVE_END_FULL);
    }
    assert_true(is_in_this_program(frame));
    struct plain_walk plain = {.is_finished = false};
    for (volatile int i = 0; i < 2; i++) { /* the addresses in this program become known */
        struct native_walk rest;
        walk_only(&plain);
        native_frames_finish(plain.walk.ticket, plain.frames, 64, &rest);
    }
    for (int i = 0; i < NATIVE_COPIES; i++) { /* all copies are free */
        generate()(walk_only, &plain);
        assert_true(plain.walk.ticket != 0);
    }
    for (int i = 0; i <= NATIVE_COPY_POLLS; i++)
        native_frames_poll();
    dlclose(agent);
    dlclose(cupti);
}

/* ---- Damaged stacks -------------------------------------------------------------------------------------
 */

static volatile uint64_t damage_values[] = {0,
                                            1,
                                            8,
                                            UINT64_MAX,
                                            UINT64_MAX - 7,
                                            0x00007ffffffff000u,
                                            0x0000800000000000u,
                                            0xdeadbeefdeadbee8u,
                                            0x00000000fffffff8u};

static uint64_t damage_random = 1234567;

/* Writes a value over the saved frame pointer or the return address of this function, walks and puts the
 * old one back. */
static __attribute__((noinline)) void walk_damaged(struct plain_walk *plain, int word, uint64_t value)
{
    uint64_t *frame = __builtin_frame_address(0);
    uint64_t old = frame[word];
    frame[word] = value;
    __asm__ volatile("" : : : "memory");
    walk_all(NATIVE_FROM_HERE, plain->frames, 64, &plain->walk);
    __asm__ volatile("" : : : "memory");
    frame[word] = old;
    __asm__ volatile("" : : "r"(frame) : "memory");
}

static __attribute__((noinline)) void under_damaged(struct plain_walk *plain, int word, uint64_t value)
{
    volatile char bytes[64];
    bytes[0] = 1;
    walk_damaged(plain, word, value);
    bytes[1] = bytes[0];
}

static void test_an_overwritten_stack_ends_with_a_mark(void **state)
{
    struct plain_walk plain = {.is_finished = true};
    under_damaged(&plain, 1, 0);
    assert_int_equal(plain.walk.end, NATIVE_END_OUTERMOST); /* 0 is how the outermost frame is marked */
    assert_int_equal(plain.walk.count, 2);
#if defined(__x86_64__) /* arm64 ignores the upper bits, which sign an address */
    under_damaged(&plain, 1, UINT64_MAX - 7);
    assert_int_equal(plain.walk.end, NATIVE_END_DAMAGED);
    assert_int_equal(plain.walk.count, 2);
#endif
    under_damaged(&plain, 1, 8);
    assert_int_equal(plain.walk.end, NATIVE_END_NO_TABLES);
    assert_int_equal(plain.walk.count, 3);
    for (int word = 0; word < 2; word++)
        for (size_t i = 0; i < sizeof damage_values / sizeof *damage_values; i++)
            under_damaged(&plain, word, damage_values[i]);
    Dl_info libc;
    assert_true(dladdr((void *)(uintptr_t)qsort, &libc));
    for (int i = 0; i < 20000; i++) {
        uint64_t random = stack_random(&damage_random), value = random;
        if (i % 4 == 1) /* wrong code */
            value = (uint64_t)(uintptr_t)libc.dli_fbase + random % 0x180000;
        else if (i % 4 == 2) /* near the stack */
            value = (uint64_t)(uintptr_t)&plain + random % 65536 - 32768;
        else if (i % 4 == 3) /* this program's code */
            value = (uint64_t)(uintptr_t)under_damaged + random % 65536 - 32768;
        under_damaged(&plain, (int)(stack_random(&damage_random) % 2), value);
        assert_true(plain.walk.count >= 2 && plain.walk.count <= 64);
        assert_true(is_in_this_program(plain.frames[0]) && is_in_this_program(plain.frames[1]));
    }
    under_damaged(&plain, 1, 8);
    assert_int_equal(plain.walk.end, NATIVE_END_NO_TABLES);
}

static __attribute__((noinline)) void walk_with_fp(struct plain_walk *plain, uint64_t *fake)
{
    uint64_t *frame = __builtin_frame_address(0);
    uint64_t old = frame[0];
    fake[0] = (uint64_t)(uintptr_t)fake;
    fake[1] = (uint64_t)(uintptr_t)__builtin_return_address(0);
    frame[0] = (uint64_t)(uintptr_t)fake;
    __asm__ volatile("" : : : "memory");
    walk_all(NATIVE_FROM_HERE, plain->frames, 64, &plain->walk);
    __asm__ volatile("" : : : "memory");
    frame[0] = old;
    __asm__ volatile("" : : "r"(frame) : "memory");
}

/* The frame pointer leads to a frame that leads to itself. */
static void test_frames_in_a_circle(void **state)
{
    struct plain_walk plain = {.is_finished = true};
    uint64_t *fake = alloca(16 + stack_random(&damage_random) % 64 / 16 * 16); /* makes this one need it */
    walk_with_fp(&plain, fake);
    assert_int_equal(plain.walk.end, NATIVE_END_DAMAGED);
    assert_in_range(plain.walk.count, 3, 4);
}

static struct plain_walk in_handler;

/* The interrupted function's stack would be below the handler's. */
static void on_signal_with_damage(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
#if defined(__x86_64__)
    greg_t *sp = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RSP];
#else
    unsigned long long *sp = &((ucontext_t *)context)->uc_mcontext.sp;
#endif
    in_handler.is_finished = true;
    walk_only(&in_handler);
    assert_int_equal(in_handler.walk.end, NATIVE_END_OUTERMOST);
    __typeof__(*sp) old = *sp;
    *sp = (__typeof__(*sp))(uintptr_t)__builtin_frame_address(0);
    walk_only(&in_handler);
    assert_int_equal(in_handler.walk.end, NATIVE_END_STACK);
    *sp = old - 64;
    walk_only(&in_handler);
    *sp = old;
}

static void test_a_damaged_signal_frame(void **state)
{
    struct sigaction action = {.sa_sigaction = on_signal_with_damage, .sa_flags = SA_SIGINFO};
    if (is_under_qemu()) /* its handlers return to code without tables */
        skip();
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    assert_true(in_handler.walk.count > 0);
}

/* ---- Other stacks ---------------------------------------------------------------------------------------
 */

#define FIBER_BYTES 65536

static ucontext_t of_program, of_fiber;
static struct plain_walk on_other_stack;

static void deep(int depth)
{
    char bytes[600];
    __asm__ volatile("" : : "r"(bytes) : "memory");
    if (depth > 0)
        deep(depth - 1);
    else
        walk_only(&on_other_stack);
    __asm__ volatile("" : : : "memory");
}

static void fiber(void)
{
    deep(12);
    swapcontext(&of_fiber, &of_program);
}

/* The frames in the same page; nothing beyond it is read. */
static void test_another_stack_is_left_alone(void **state)
{
    if (getenv("CUSPAN_UNDER_VALGRIND")) /* which loses track of the stacks */
        skip();
    char *bytes = mmap(NULL, FIBER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(bytes, MAP_FAILED);
    on_other_stack.is_finished = true;
    for (int i = 0; i < 12; i++) { /* more often than a thread may note its stack */
        getcontext(&of_fiber);
        of_fiber.uc_stack.ss_sp = bytes;
        of_fiber.uc_stack.ss_size = FIBER_BYTES;
        of_fiber.uc_link = &of_program;
        makecontext(&of_fiber, fiber, 0);
        swapcontext(&of_program, &of_fiber);
        assert_int_equal(on_other_stack.walk.end, NATIVE_END_STACK);
        assert_in_range(on_other_stack.walk.count, 0, 12);
        learn_stack();
    }
    munmap(bytes, FIBER_BYTES);
    struct plain_walk plain = {.is_finished = true};
    walk_only(&plain);
    assert_int_equal(plain.walk.end, NATIVE_END_OUTERMOST);
}

static void *first_on_a_fiber(void *argument)
{
    struct native_stack *stacks[] = {&own_stack};
    on_other_stack.is_finished = true;
    getcontext(&of_fiber);
    of_fiber.uc_stack.ss_sp = argument;
    of_fiber.uc_stack.ss_size = FIBER_BYTES;
    of_fiber.uc_link = &of_program;
    makecontext(&of_fiber, fiber, 0);
    swapcontext(&of_program, &of_fiber); /* notes the fiber's stack */
    assert_true(native_stack_is_waiting(&own_stack));
    assert_true(native_stacks_find(stacks, 1));
    assert_true(atomic_load(&own_stack.high) == 0);
    struct plain_walk plain = {.is_finished = true};
    walk_only(&plain); /* notes the thread's own */
    assert_true(native_stack_is_waiting(&own_stack));
    assert_true(native_stacks_find(stacks, 1));
    walk_only(&plain);
    assert_int_equal(plain.walk.end, NATIVE_END_OUTERMOST);
    return NULL;
}

static void test_a_thread_that_begins_on_another_stack(void **state)
{
    pthread_t thread;
    if (getenv("CUSPAN_UNDER_VALGRIND")) /* as above */
        skip();
    char *bytes = mmap(NULL, FIBER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(pthread_create(&thread, NULL, first_on_a_fiber, bytes), 0);
    pthread_join(thread, NULL);
    munmap(bytes, FIBER_BYTES);
}

/* Begins the walk at the end of a page, the rest of which it may read. */
static void on_alternate_stack(int number)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    volatile char *room = __builtin_alloca((here - 3584) % 4096);
    *room = (char)number;
    walk_only(&on_other_stack);
    *room = 0;
}

static void test_an_alternate_signal_stack(void **state)
{
    static char bytes[65536];
    stack_t alternate = {.ss_sp = bytes, .ss_size = sizeof bytes}, old;
    if (is_under_qemu()) /* its handlers return to code without tables */
        skip();
    struct sigaction action = {.sa_handler = on_alternate_stack, .sa_flags = SA_ONSTACK};
    assert_int_equal(sigaltstack(&alternate, &old), 0);
    sigaction(SIGUSR1, &action, NULL);
    on_other_stack = (struct plain_walk){.is_finished = true};
    raise(SIGUSR1);
    assert_int_equal(on_other_stack.walk.end, NATIVE_END_STACK);
    assert_true(on_other_stack.walk.count >= 1);
    alternate.ss_flags = SS_DISABLE;
    sigaltstack(&alternate, NULL);
}

/* ---- Libraries that come and go -------------------------------------------------------------------------
 */

static void test_rules_of_unloaded_libraries_are_dropped(void **state)
{
    uint32_t last = 0;
    for (int i = 0; i < 24; i++) {
        static struct stack_plan plan;
        void *library;
        char path[64];
        plan = (struct stack_plan){.random = 1000 + (uint64_t)i};
        snprintf(path, sizeof path, "again%d", i % 3);
        load(path, &library, &plan);
        run_random(&plan, 5, 30);
        dlclose(library);
        native_frames_poll();
        static struct seen seen;
        walk_all(NATIVE_FROM_HERE, seen.frames, FRAMES_MAX, &seen.walk);
        assert_int_equal(seen.walk.end, NATIVE_END_OUTERMOST);
        if (i > 0)
            assert_int_not_equal(seen.walk.generation, last);
        last = seen.walk.generation;
    }
}

static atomic_bool is_over;

static void count_leaf(struct stack_plan *plan)
{
    struct seen *seen = plan->argument;
    native_frames_walk(&own_stack, NATIVE_FROM_HERE, seen->frames, FRAMES_MAX, &seen->walk);
    seen->expected_count += seen->walk.end == NATIVE_END_OUTERMOST;
}

/* A library that is loaded later, and stays. */
static struct stack_plan late_plans[8];
static atomic_int late_count;

static void *walk_meanwhile(void *argument)
{
    struct native_stack *_Atomic *stack = argument;
    struct stack_plan plan = all_flavors;
    static __thread struct seen seen;
    native_stack_begin(&own_stack);
    atomic_store(stack, &own_stack);
    plan.random += (uint64_t)(uintptr_t)argument;
    while (!atomic_load(&is_over) || seen.expected_count < 100) {
        int late = atomic_load(&late_count);
        if (late > 0 && stack_random(&plan.random) % 2) { /* others, while they are new */
            uint64_t random = plan.random;
            plan = late_plans[late - 1];
            plan.random = random;
        }
        plan.leaf = count_leaf;
        plan.argument = &seen;
        plan.functions_left = 20;
        stack_next(&plan);
    }
    atomic_store(stack, NULL);
    return NULL;
}

/* A stack in the list does not go away before this thread has seen that it is not. */
static void find_stacks(struct native_stack *_Atomic stacks[], int count)
{
    for (int i = 0; i < count; i++) {
        struct native_stack *one[] = {atomic_load(&stacks[i])};
        if (one[0])
            native_stacks_find(one, 1);
    }
}

/* For ThreadSanitizer: the tables change while others read them. */
static void test_walks_while_libraries_come_and_go(void **state)
{
    enum { THREADS = 3 };
    pthread_t threads[THREADS];
    static struct native_stack *_Atomic stacks[THREADS];
    atomic_store(&is_over, false);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, walk_meanwhile, (void *)(uintptr_t)&stacks[i]), 0);
    for (int i = 0; i < 60; i++) {
        static struct stack_plan plan;
        void *library;
        char path[64];
        plan = (struct stack_plan){.function_count = 0};
        snprintf(path, sizeof path, "again%d", i % 3);
        load(path, &library, &plan);
        find_stacks(stacks, THREADS);
        native_frames_poll();
        if (i % 8 == 7) {
            void *late;
            snprintf(path, sizeof path, "late%d", i / 8 + 1);
            load(path, &late, &late_plans[i / 8]);
            atomic_store(&late_count, i / 8 + 1);
            for (int j = 0; j < 40; j++) {
                const struct timespec pause = {.tv_nsec = 300000};
                native_frames_poll();
                nanosleep(&pause, NULL);
            }
        }
        dlclose(library);
        native_frames_poll();
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < THREADS; i++) {
        while (atomic_load(&stacks[i])) {
            find_stacks(&stacks[i], 1);
            native_frames_poll();
        }
        pthread_join(threads[i], NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_before_the_start),
        cmocka_unit_test(test_random_stacks_equal_backtrace),
        cmocka_unit_test(test_random_stacks_on_threads),
        cmocka_unit_test(test_the_caller_behind_tools),
        cmocka_unit_test(test_a_full_result_says_so),
        cmocka_unit_test(test_generated_code_ends_the_stack),
        cmocka_unit_test(test_copies_are_given_back),
        cmocka_unit_test(test_the_caller_alone),
        cmocka_unit_test(test_an_overwritten_stack_ends_with_a_mark),
        cmocka_unit_test(test_frames_in_a_circle),
        cmocka_unit_test(test_a_damaged_signal_frame),
        cmocka_unit_test(test_another_stack_is_left_alone),
        cmocka_unit_test(test_a_thread_that_begins_on_another_stack),
        cmocka_unit_test(test_an_alternate_signal_stack),
        cmocka_unit_test(test_rules_of_unloaded_libraries_are_dropped),
        cmocka_unit_test(test_walks_while_libraries_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
