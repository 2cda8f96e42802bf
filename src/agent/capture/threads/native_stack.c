#include "agent/capture/threads/native_stack.h"

#include "base/files.h"

#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#define PAGE_BYTES 4096 /* the smallest that Linux has */
#define NOTES_MAX  8    /* notes of one thread: a program may switch between stacks all the time */
/* Linux puts no other mapping closer below the main stack, which may still grow. */
#define MAIN_STACK_BYTES_MAX  ((uint64_t)128 * 1024 * 1024)
#define MAIN_STACK_BYTES_NEAR ((uint64_t)1024 * 1024)

static void note(struct native_stack *stack, uint64_t sp)
{
    if (stack->notes_left == 0)
        return;
    stack->notes_left--;
    atomic_store_explicit(&stack->noted_sp, sp, memory_order_relaxed);
    atomic_store_explicit(&stack->noted_thread_pointer, (uint64_t)(uintptr_t)thread_pointer(),
                          memory_order_relaxed);
    uint32_t last = atomic_load_explicit(&stack->noted, memory_order_relaxed);
    atomic_store_explicit(&stack->noted, last + 1 ? last + 1 : 1, memory_order_release);
}

void native_stack_begin(struct native_stack *stack)
{
    stack->notes_left = NOTES_MAX;
    note(stack, (uint64_t)(uintptr_t)__builtin_frame_address(0));
}

/* Returns the end of the readable part while the limits are not known: the end of the page, or on the main
 * stack, which is the only mapping near its end, the data that the kernel passes to a program. */
static uint64_t end_meanwhile(uint64_t sp, uint64_t page_end)
{
    uint64_t of_program = (uint64_t)getauxval(AT_RANDOM) & ~(uint64_t)7;
    return of_program > page_end && of_program - sp < MAIN_STACK_BYTES_NEAR ? of_program : page_end;
}

uint64_t native_stack_end(struct native_stack *stack, uint64_t sp)
{
    uint64_t page_end = (sp | (PAGE_BYTES - 1)) + 1;
    if (!stack)
        return page_end;
    uint32_t noted = atomic_load_explicit(&stack->noted, memory_order_relaxed);
    uint32_t answered = atomic_load_explicit(&stack->answered, memory_order_acquire);
    if (noted != answered)
        return end_meanwhile(sp, page_end);
    uint64_t high = atomic_load_explicit(&stack->high, memory_order_relaxed);
    if (noted && sp >= atomic_load_explicit(&stack->low, memory_order_relaxed) && sp < high)
        return high;
    /* The stack was never noted, or noted while the thread was on another one. Once the thread's own is
     * known, it stays known. */
    if (noted == 0)
        native_stack_begin(stack);
    else if (high == 0)
        note(stack, sp);
    return noted == 0 ? end_meanwhile(sp, page_end) : page_end;
}

bool native_stack_is_waiting(const struct native_stack *stack)
{
    return atomic_load_explicit(&stack->noted, memory_order_acquire) !=
           atomic_load_explicit(&stack->answered, memory_order_relaxed);
}

struct mapping {
    uint64_t begin, end;
    uint64_t below; /* end of the mapping before it */
    bool is_writable;
};

/* Sets the limits if the mapping is the thread's own stack. A stack that pthread made is in one mapping with
 * the thread's variables (the thread pointer), which are above it. The main stack contains the data that the
 * kernel passes to a program. */
static void answer(struct native_stack *stack, uint32_t number, const struct mapping *in)
{
    uint64_t sp = atomic_load_explicit(&stack->noted_sp, memory_order_relaxed);
    uint64_t of_thread = atomic_load_explicit(&stack->noted_thread_pointer, memory_order_relaxed);
    uint64_t of_program = (uint64_t)getauxval(AT_RANDOM), low = in->begin, high = 0;
    if (in->is_writable && of_program > sp && of_program < in->end) {
        struct rlimit limit;
        uint64_t grows = MAIN_STACK_BYTES_MAX;
        if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < grows)
            grows = limit.rlim_cur;
        high = in->end;
        low = high - in->below > grows ? high - grows : in->below;
    } else if (in->is_writable && of_thread > sp && of_thread <= in->end) {
        high = of_thread & ~(uint64_t)7;
    }
    atomic_store_explicit(&stack->low, low < in->begin ? low : in->begin, memory_order_relaxed);
    atomic_store_explicit(&stack->high, high, memory_order_relaxed);
    atomic_store_explicit(&stack->answered, number, memory_order_release);
}

static void match(struct native_stack *const stacks[], size_t count, const struct mapping *mapping)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t number = atomic_load_explicit(&stacks[i]->noted, memory_order_acquire);
        uint64_t sp = atomic_load_explicit(&stacks[i]->noted_sp, memory_order_relaxed);
        if (sp >= mapping->begin && sp < mapping->end && native_stack_is_waiting(stacks[i]))
            answer(stacks[i], number, mapping);
    }
}

bool native_stacks_find(struct native_stack *const stacks[], size_t count)
{
    char line[256];
    struct mapping mapping = {0};
    const struct mapping nowhere = {0};
    bool is_line_start = true;
    FILE *maps = files_open_stream("/proc/self/maps");
    if (!maps)
        return false;
    while (fgets(line, sizeof line, maps)) {
        unsigned long long begin, end;
        char permissions[5];
        if (is_line_start && sscanf(line, "%llx-%llx %4s", &begin, &end, permissions) == 3) {
            mapping.below = mapping.end;
            mapping.begin = begin;
            mapping.end = end;
            mapping.is_writable = strncmp(permissions, "rw", 2) == 0;
            match(stacks, count, &mapping);
        }
        is_line_start = strchr(line, '\n') != NULL;
    }
    fclose(maps);
    /* Stacks still waiting here are in no mapping, because their threads have ended. */
    for (size_t i = 0; i < count; i++)
        if (native_stack_is_waiting(stacks[i]))
            answer(stacks[i], atomic_load_explicit(&stacks[i]->noted, memory_order_acquire), &nowhere);
    return true;
}
