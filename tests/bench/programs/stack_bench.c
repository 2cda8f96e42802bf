/* Measures walks of the native stack beside glibc's backtrace() and, if it is installed, libunwind, in
 * alternating blocks of one run, on stacks of 18 frames.
 *
 *   stack_bench [BLOCKS]            medians of ns, instructions if the kernel counts them, and ratios
 *   stack_bench --counted WALKS     only that many cached walks, to count instructions in native_frames_walk
 *   stack_bench --names LIBRARY FUNCTION   the first lookup of a name in the library, at once and in parts of
 *                                          1 ms: medians and the longest part of 20 */
#include "measured.h"
#include "base/clock.h"
#include "agent/capture/stacks/native_frames.h"
#include "agent/correlate/stacks/symbols.h"
#include "support/stack_maker.h"
#include "support/stack_tool.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FRAMES     18
#define BLOCK      200
#define FIRST      64 /* blocks of first walks */
#define FRAMES_MAX 64

enum way { WAY_WALK, WAY_CALLER, WAY_BACKTRACE, WAY_LIBUNWIND, WAYS };
enum caches { CACHES_HOT, CACHES_USED, CACHES_EMPTY, CACHES };

static const char *const names[WAYS] = {"native_frames_walk", "the caller behind 6 frames of tools",
                                        "backtrace()", "libunwind"};
static struct native_stack stack;
static uint64_t frames[FRAMES_MAX];
static void *addresses[FRAMES_MAX];
static struct native_walk walk;
static int (*libunwind_backtrace)(void **, int); /* not linked: it would replace backtrace() */

static __attribute__((noinline)) void once(enum way way)
{
    switch (way) {
    case WAY_WALK:
        native_frames_walk(&stack, NATIVE_FROM_HERE, frames, FRAMES_MAX, &walk);
        break;
    case WAY_BACKTRACE:
        walk.count = (uint32_t)backtrace(addresses, FRAMES_MAX);
        break;
    default:
        walk.count = libunwind_backtrace ? (uint32_t)libunwind_backtrace(addresses, FRAMES_MAX) : 0;
        break;
    }
}

/* As in a callback: a function of the agent, called by CUPTI. */
static void (*tool_walk)(void *);
static stack_tool_call_fn *tool_call;

static __attribute__((noinline)) void find_caller(int times)
{
    struct stack_tool_order order = {native_frames_walk, &stack, frames, 1, &walk, times, NATIVE_FROM_CALLER};
    tool_call(tool_walk, &order, 4);
}

/* ---- What surrounds a walk ------------------------------------------------------------------------------
 */

static uint8_t *memory;

static void disturb(enum caches caches)
{
    static size_t at;
    size_t bytes = caches == CACHES_EMPTY ? (size_t)96 << 20 : (size_t)384 << 10;
    for (size_t i = 0; caches != CACHES_HOT && i < bytes; i += 64)
        memory[(at + i) % bytes]++;
    at += 4096 + 64;
}

static int counter = -1;

static void open_counter(void)
{
    struct perf_event_attr about = {.type = PERF_TYPE_HARDWARE,
                                    .size = sizeof about,
                                    .config = PERF_COUNT_HW_INSTRUCTIONS,
                                    .exclude_kernel = 1,
                                    .exclude_hv = 1};
    counter = (int)syscall(SYS_perf_event_open, &about, 0, -1, -1, 0);
}

static uint64_t instructions(void)
{
    uint64_t value = 0;
    return counter >= 0 && read(counter, &value, sizeof value) == sizeof value ? value : 0;
}

/* ---- Blocks ---------------------------------------------------------------------------------------------
 */

struct block {
    enum way way;
    enum caches caches;
    double ns, instructions;
};

/* With disturbed caches each walk is timed alone. The two readings of the clock are subtracted. */
static void run_block(struct block *block)
{
    uint64_t total_ns = 0, before = instructions(), begin_ns = clock_monotonic_ns();
    int walks = block->caches == CACHES_EMPTY ? 1 : block->caches == CACHES_USED ? 8 : BLOCK;
    if (block->caches == CACHES_HOT && block->way == WAY_CALLER) {
        find_caller(walks);
        total_ns = clock_monotonic_ns() - begin_ns;
        block->instructions = (double)(instructions() - before) / walks;
    } else if (block->caches == CACHES_HOT) {
        for (int i = 0; i < walks; i++)
            once(block->way);
        total_ns = clock_monotonic_ns() - begin_ns;
        block->instructions = (double)(instructions() - before) / walks;
    } else {
        for (int i = 0; i < walks; i++) {
            disturb(block->caches);
            begin_ns = clock_monotonic_ns();
            uint64_t clock_ns = clock_monotonic_ns() - begin_ns;
            if (block->way == WAY_CALLER)
                find_caller(1);
            else
                once(block->way);
            total_ns += clock_monotonic_ns() - begin_ns - 2 * clock_ns;
        }
    }
    block->ns = (double)total_ns / walks;
}

/* Functions that are not merged into each other. */
#define DEEPER(number, next)                                                                                 \
    static __attribute__((noinline)) void deeper_##number(struct block *block)                               \
    {                                                                                                        \
        volatile char bytes[16 * (number) + 8];                                                              \
        bytes[0] = 1;                                                                                        \
        next(block);                                                                                         \
        bytes[1] = bytes[0];                                                                                 \
    }
DEEPER(1, run_block)
DEEPER(2, deeper_1)
DEEPER(3, deeper_2)
DEEPER(4, deeper_3)
DEEPER(5, deeper_4)
DEEPER(6, deeper_5)
DEEPER(7, deeper_6)
DEEPER(8, deeper_7)
DEEPER(9, deeper_8)
DEEPER(10, deeper_9)
DEEPER(11, deeper_10)
DEEPER(12, deeper_11)
DEEPER(13, deeper_12)
DEEPER(14, deeper_13)

static void run(struct block *block)
{
    deeper_14(block);
}

static double median(double *values, size_t count)
{
    sort(values, count);
    return values[count / 2];
}

static bool learn(void)
{
    struct native_stack *stacks[] = {&stack};
    native_stack_begin(&stack);
    if (native_frames_start() != STATUS_OK || !native_stacks_find(stacks, 1))
        return false;
    void *cupti = dlopen(STACK_TOOLS "/libcupti_stack_tool.so", RTLD_NOW);
    void *agent = dlopen(STACK_TOOLS "/libcuspan_stack_tool.so", RTLD_NOW);
    if (!cupti || !agent)
        return false;
    tool_call = (stack_tool_call_fn *)(uintptr_t)dlsym(cupti, "stack_tool_call");
    tool_walk = (void (*)(void *))(uintptr_t)dlsym(agent, "stack_tool_walk");
    for (int i = 0; i < 8; i++)
        for (int way = WAY_CALLER; way >= WAY_WALK; way--) {
            struct block block = {.way = (enum way)way, .caches = (enum caches)(i % CACHES)};
            run(&block);
            for (int poll = 0; poll < 70; poll++) /* until all copies are free again */
                native_frames_poll();
        }
    return walk.end == NATIVE_END_OUTERMOST;
}

static void compare_ways(size_t blocks)
{
    static const char *const about[CACHES] = {"hot loop", "after other work (384 KiB)", "caches emptied"};
    double *ns[WAYS], *counts[WAYS], medians[WAYS];
    for (int way = 0; way < WAYS; way++) {
        ns[way] = calloc(blocks, sizeof **ns);
        counts[way] = calloc(blocks, sizeof **counts);
        if (!ns[way] || !counts[way])
            exit(1);
    }
    for (int caches = 0; caches < CACHES; caches++) {
        size_t used = caches == CACHES_EMPTY ? blocks / 10 + 1 : blocks;
        for (size_t i = 0; i < used; i++)
            for (int way = 0; way < WAYS; way++) {
                struct block block = {.way = (enum way)way, .caches = (enum caches)caches};
                run(&block);
                ns[way][i] = block.ns;
                counts[way][i] = block.instructions;
            }
        printf("%s:\n", about[caches]);
        for (int way = 0; way < WAYS; way++)
            medians[way] = median(ns[way], used);
        for (int way = 0; way < WAYS; way++) {
            if (way == WAY_LIBUNWIND && !libunwind_backtrace)
                continue;
            printf("  %-36s %8.0f ns", names[way], medians[way]);
            if (caches == CACHES_HOT && counter >= 0)
                printf(" %8.0f instructions", median(counts[way], used));
            printf("  %.3f of backtrace()\n",
                   medians[way] / (medians[WAY_BACKTRACE] > 0 ? medians[WAY_BACKTRACE] : 1));
        }
    }
}

struct first {
    double walk_ns, finish_ns;
    uint32_t frames, known;
};

static void first_leaf(struct stack_plan *plan)
{
    struct first *first = plan->argument;
    struct native_walk rest = {.count = 0};
    uint64_t begin_ns = clock_monotonic_ns();
    native_frames_walk(&stack, NATIVE_FROM_HERE, frames, FRAMES_MAX, &walk);
    uint64_t walked_ns = clock_monotonic_ns();
    native_frames_finish(walk.ticket, frames, FRAMES_MAX, &rest);
    first->finish_ns = (double)(clock_monotonic_ns() - walked_ns);
    first->walk_ns = (double)(walked_ns - begin_ns);
    first->known = walk.count;
    first->frames = walk.count + rest.count;
}

/* A library that is loaded again each time: its rules were dropped when it was unloaded. */
static void measure_first(void)
{
    double walks[FIRST], finishes[FIRST];
    struct first first = {0};
    for (int i = 0; i < FIRST; i++) {
        struct stack_plan plan = {.random = 99, .functions_left = 12, .leaf = first_leaf, .argument = &first};
        void *library = dlopen(STACK_MAKER, RTLD_NOW);
        stack_function **functions = library ? dlsym(library, STACK_FUNCTIONS_SYMBOL) : NULL;
        if (!functions)
            return;
        for (int f = 0; f < 10; f++)
            plan.functions[plan.function_count++] = functions[f];
        native_frames_poll();
        stack_next(&plan);
        dlclose(library);
        native_frames_poll();
        walks[i] = first.walk_ns;
        finishes[i] = first.finish_ns;
    }
    printf("first walk: %.0f ns on the program's thread, which knows %u of %u frames, and %.0f ns on ours\n",
           median(walks, FIRST), first.known, first.frames, median(finishes, FIRST));
}

static enum way counted_way(const char *name)
{
    return strcmp(name, "--counted-caller") == 0 ? WAY_CALLER : WAY_WALK;
}

#define LOOKUPS 20

/* False: no memory, or it has no name. */
static bool look_up(uint64_t address, uint64_t part_ns, double *all_ms, double *longest_ms)
{
    struct symbols *symbols;
    struct symbol_frame frame;
    bool is_done = false;
    if (symbols_create(8 << 20, &symbols) != STATUS_OK)
        return false;
    for (*all_ms = *longest_ms = 0; !is_done;) {
        uint64_t begin_ns = clock_monotonic_ns();
        is_done = symbols_look_up_until(symbols, address, part_ns ? begin_ns + part_ns : UINT64_MAX, &frame);
        double ms = (double)(clock_monotonic_ns() - begin_ns) / 1e6;
        *all_ms += ms;
        *longest_ms = ms > *longest_ms ? ms : *longest_ms;
    }
    bool has_name = frame.function != NULL;
    symbols_destroy(symbols);
    return has_name;
}

static int measure_names(const char *path, const char *function)
{
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    void *at = library ? dlsym(library, function) : NULL;
    double all[2][LOOKUPS], longest[2][LOOKUPS];
    for (size_t i = 0; i < 2 * LOOKUPS; i++)
        if (!at || !look_up((uint64_t)(uintptr_t)at + 1, i % 2 * 1000000, &all[i % 2][i / 2],
                            &longest[i % 2][i / 2])) {
            printf("%s in %s has no name\n", function, path);
            return 1;
        }
    for (int way = 0; way < 2; way++) {
        sort(all[way], LOOKUPS);
        sort(longest[way], LOOKUPS);
        printf("%s: %.1f ms (%.1f to %.1f); longest part %.1f ms (%.1f to %.1f)\n",
               way ? "in parts" : "at once", all[way][LOOKUPS / 2], all[way][0], all[way][LOOKUPS - 1],
               longest[way][LOOKUPS / 2], longest[way][0], longest[way][LOOKUPS - 1]);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--names") == 0)
        return measure_names(argv[2], argv[3]);
    bool is_counted = argc == 3 && strncmp(argv[1], "--counted", 9) == 0;
    void *libunwind = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    if (libunwind)
        libunwind_backtrace = (int (*)(void **, int))(uintptr_t)dlsym(libunwind, "unw_backtrace");
    memory = calloc(1, (size_t)128 << 20);
    clock_init();
    if (!memory || !learn())
        return 1;
    printf("%u frames\n", walk.count);
    if (is_counted) {
        struct block block = {.way = counted_way(argv[1])};
        for (size_t walks = strtoul(argv[2], NULL, 10); walks >= BLOCK; walks -= BLOCK)
            run(&block);
        return 0;
    }
    open_counter();
    compare_ways(argc > 1 ? strtoul(argv[1], NULL, 10) : 1000);
    measure_first();
    return 0;
}
