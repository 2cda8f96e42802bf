#include "agent/watch/stacks/thread_stacks.h"

#include "agent/watch/stacks/native_look.h"
#include "agent/watch/stacks/process_map.h"
#include "agent/watch/stacks/python_look.h"
#include "agent/watch/stacks/thread_facts.h"
#include "base/clock.h"

#include <string.h>
#include <sys/mman.h>

#define WALKS_MAX 3 /* of a thread that runs meanwhile */

/* The memory of a look besides its result. Mapped for the duration of the look: all zero, and no allocator's
 * lock, which a thread may hang with. */
struct workspace {
    struct process_map map;
    struct python_texts texts;
    struct native_look native;
    struct python_thread python_threads[2 * STACK_THREADS_MAX];
    uint32_t python_count;
    int32_t tids[STACK_THREADS_MAX];
};

/* The interpreter of the look before. */
static struct python_process python;

/* A thread may have several states, in interpreters; the newest one with frames counts. */
static void look_at_python(struct workspace *work, struct thread_stacks *into, struct thread_stack *thread,
                           enum stack_detail detail)
{
    struct python_stack_walk walks[2] = {{.end = STACK_PYTHON_NONE}, {.end = STACK_PYTHON_NONE}},
                             *walk = walks;
    for (uint32_t i = 0; i < work->python_count && walk->count == 0; i++) {
        const struct python_thread *found = &work->python_threads[i];
        if (found->tid != thread->tid)
            continue;
        thread->holds_gil |= found->holds_gil;
        python_look_walk(&python, found->state, walk);
        /* A walk of a thread that has not run is right. Otherwise two must agree. */
        for (int again = 1; again < WALKS_MAX && thread_facts_cpu_ns(thread->tid) != thread->cpu_ns;
             again++) {
            struct python_stack_walk *last = walk;
            walk = walk == walks ? &walks[1] : walks;
            python_look_walk(&python, found->state, walk);
            thread->is_torn = walk->end == STACK_PYTHON_UNREADABLE || !python_look_is_same(last, walk);
            if (!thread->is_torn)
                break;
        }
    }
    thread->python = walk->end;
    thread->python_first = into->python_total;
    for (uint32_t i = 0; i < walk->count; i++) {
        if (into->python_total == STACK_FRAMES_TOTAL) {
            thread->python = STACK_PYTHON_CUT;
            break;
        }
        python_look_describe(&python, &work->texts, walk->frames[i].code, walk->frames[i].position, detail,
                             into, &into->python_frames[into->python_total++]);
        thread->python_count++;
    }
}

static void look_at(struct workspace *work, struct thread_stacks *into, int32_t tid, enum stack_detail detail)
{
    struct thread_stack *thread = &into->threads[into->count];
    if (!thread_facts_read(tid, thread))
        return;
    into->count++;
    thread->cpu_ns = thread_facts_cpu_ns(tid);
    if (!work || detail == STACK_DETAIL_NONE)
        return;
    if (thread->sp)
        native_look_walk(&work->native, &work->map, into, thread);
    bool has_run = thread_facts_cpu_ns(tid) != thread->cpu_ns;
    if (python.runtime)
        look_at_python(work, into, thread, detail);
    /* The registers are of a moment before. */
    thread->is_torn |= has_run && thread->native_count > 0;
    thread->cpu_ns = thread_facts_cpu_ns(tid);
}

void thread_stacks_look(struct thread_stacks *into, enum stack_detail detail)
{
    struct workspace *work =
        mmap(NULL, sizeof *work, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(into, 0, offsetof(struct thread_stacks, threads));
    into->text[0] = '\0';
    into->text_bytes = 1;
    into->taken_ns = clock_monotonic_ns();
    if (work == MAP_FAILED) {
        into->is_incomplete = true;
        into->look_ns = 0;
        return;
    }
    uint32_t count = thread_facts_list(work->tids, STACK_THREADS_MAX);
    if (count > STACK_THREADS_MAX) {
        into->left_out = count - STACK_THREADS_MAX;
        count = STACK_THREADS_MAX;
    }
    if (detail != STACK_DETAIL_NONE) {
        process_map_read(&work->map);
        if (python_look_find(&python, &work->map)) {
            into->python_minor = python.layout.minor;
            work->python_count = python_look_list(&python, work->tids, count, work->python_threads,
                                                  sizeof work->python_threads / sizeof *work->python_threads,
                                                  &into->is_incomplete);
        }
    }
    for (uint32_t i = 0; i < count; i++)
        look_at(work, into, work->tids[i], detail);
    native_look_name(&work->native, &work->map, into);
    munmap(work, sizeof *work);
    into->look_ns = clock_monotonic_ns() - into->taken_ns;
}

/* ---- Two looks ----------------------------------------------------------------------------------------- */

static const struct thread_stack *find(const struct thread_stacks *stacks, int32_t tid)
{
    uint32_t low = 0, high = stacks->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (stacks->threads[middle].tid < tid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < stacks->count && stacks->threads[low].tid == tid ? &stacks->threads[low] : NULL;
}

static bool has_same_python(const struct thread_stacks *a, const struct thread_stack *of_a,
                            const struct thread_stacks *b, const struct thread_stack *of_b)
{
    const struct stack_python_frame *frames_a = &a->python_frames[of_a->python_first];
    const struct stack_python_frame *frames_b = &b->python_frames[of_b->python_first];
    if (of_a->python != of_b->python || of_a->python_count != of_b->python_count)
        return false;
    for (uint32_t i = 0; i < of_a->python_count; i++)
        if (frames_a[i].code != frames_b[i].code || frames_a[i].position != frames_b[i].position)
            return false;
    return true;
}

static bool has_same_native(const struct thread_stacks *a, const struct thread_stack *of_a,
                            const struct thread_stacks *b, const struct thread_stack *of_b)
{
    const struct stack_native_frame *frames_a = &a->native_frames[of_a->native_first];
    const struct stack_native_frame *frames_b = &b->native_frames[of_b->native_first];
    if (of_a->call != of_b->call || of_a->sp != of_b->sp || of_a->pc != of_b->pc ||
        of_a->native_count != of_b->native_count)
        return false;
    for (uint32_t i = 0; i < of_a->native_count; i++)
        if (frames_a[i].address != frames_b[i].address)
            return false;
    return true;
}

void thread_stacks_compare(struct thread_stacks *second, const struct thread_stacks *first)
{
    for (uint32_t i = 0; i < second->count; i++) {
        struct thread_stack *thread = &second->threads[i];
        const struct thread_stack *before = find(first, thread->tid);
        thread->is_same = thread->is_still = false;
        thread->used_ns = 0;
        if (!before || before->start_ticks != thread->start_ticks)
            continue;
        if (thread->cpu_ns > before->cpu_ns)
            thread->used_ns = thread->cpu_ns - before->cpu_ns;
        if (before->is_torn || thread->is_torn || !has_same_python(first, before, second, thread))
            continue;
        bool is_native_same = has_same_native(first, before, second, thread);
        /* Running threads without Python frames show nothing that could be the same. */
        thread->is_same = thread->python_count > 0 || (is_native_same && thread->sp != 0);
        thread->is_still = thread->is_same && is_native_same && before->cpu_ns == thread->cpu_ns;
    }
}
