#include "agent/operate/attach/borrowed_thread.h"

#include "agent/operate/attach/remote_job.h"
#include "base/clock.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#define STOP_NS (1 * NS_PER_SECOND) /* a sleeping thread stops within microseconds */
#define RUN_NS  (2 * NS_PER_SECOND) /* for a lock that another thread holds */
#define SPIN_NS (NS_PER_MS)         /* afterwards, this process sleeps between its looks */
#define LOOK_NS (50 * 1000)

/* --- stops --- */

enum stop {
    STOP_NONE,   /* not in time */
    STOP_EVENT,  /* by PTRACE_INTERRUPT */
    STOP_GROUP,  /* by SIGSTOP or a terminal */
    STOP_CALL,   /* at the start or end of a system call */
    STOP_SIGNAL, /* a signal is about to be delivered */
    STOP_GONE
};

static enum stop kind_of(int status, int *number)
{
    *number = WSTOPSIG(status);
    if (!WIFSTOPPED(status))
        return STOP_GONE;
    if (status >> 16 == PTRACE_EVENT_STOP)
        return *number == SIGTRAP ? STOP_EVENT : STOP_GROUP;
    return *number == (SIGTRAP | 0x80) ? STOP_CALL : STOP_SIGNAL;
}

/* Without a handler or a timer, because this may run in any program. */
static enum stop wait_for_stop(pid_t thread, uint64_t limit_ns, int *number)
{
    uint64_t start_ns = clock_monotonic_ns(), waited_ns = 0;
    int status;
    for (; waited_ns < limit_ns; waited_ns = clock_monotonic_ns() - start_ns) {
        pid_t got = waitpid(thread, &status, __WALL | WNOHANG);
        if (got == thread)
            return kind_of(status, number);
        if (got < 0 && errno != EINTR)
            return STOP_GONE;
        if (waited_ns < SPIN_NS)
            sched_yield();
        else
            nanosleep(&(struct timespec){0, LOOK_NS}, NULL);
    }
    return STOP_NONE;
}

static bool go_on(pid_t thread, int request, int number)
{
    return ptrace(request, thread, 0, number) == 0;
}

/* Stops a running thread. Signals that come first are delivered. False: it has ended, or is being stopped by
 * others. */
static bool interrupt(pid_t thread)
{
    int number;
    if (ptrace(PTRACE_INTERRUPT, thread, 0, 0) != 0)
        return false;
    for (;;) {
        enum stop stop = wait_for_stop(thread, STOP_NS, &number);
        if (stop == STOP_EVENT)
            return true;
        if (stop == STOP_GROUP)
            ptrace(PTRACE_DETACH, thread, 0, 0);
        if ((stop != STOP_SIGNAL && stop != STOP_CALL) ||
            !go_on(thread, PTRACE_CONT, stop == STOP_SIGNAL ? number : 0))
            return false;
    }
}

/* --- stopping --- */

/* Whether a handler is about to run: the call then must fail with EINTR, and is left alone. */
static bool has_signal(const struct target *target, pid_t thread, uint64_t mask)
{
    char name[64], status[TARGET_STATUS_BYTES];
    snprintf(name, sizeof name, "task/%d/status", (int)thread);
    return target_read(target, name, status, sizeof status) <= 0 ||
           (target_status_number(status, "SigPnd", 16, 0) | target_status_number(status, "ShdPnd", 16, 0)) &
               ~mask;
}

static bool is_asleep(struct borrowed_thread *borrowed, const struct sleep *sleep)
{
    return machine_save(borrowed->thread, &borrowed->state) &&
           !has_signal(borrowed->target, borrowed->thread, borrowed->state.signal_mask) &&
           target_is_same(borrowed->target) && machine_takes_up(&borrowed->state, sleep);
}

bool borrowed_stop(struct borrowed_thread *borrowed, const struct target *target, pid_t thread,
                   const struct sleep *sleep)
{
    *borrowed = (struct borrowed_thread){.target = target, .thread = thread, .places = borrowed->places};
    /* Never PTRACE_O_EXITKILL. */
    if (ptrace(PTRACE_SEIZE, thread, 0, PTRACE_O_TRACESYSGOOD) != 0)
        return false;
    borrowed->stopped_ns = clock_monotonic_ns();
    if (!interrupt(thread))
        return false;
    if (is_asleep(borrowed, sleep))
        return true;
    ptrace(PTRACE_DETACH, thread, 0, 0);
    return false;
}

/* --- running --- */

#define STACK_MAX (512ull << 20)

/* The C library puts a thread's data at the end of its stack. Runtimes with stacks of their own (coroutines,
 * Go) may have other data right below the stack pointer. */
static bool has_room(const struct borrowed_thread *borrowed, const struct remote_maps *maps, uint64_t frame)
{
    uint64_t stack = machine_stack(&borrowed->state);
    uint64_t thread = machine_thread_pointer(borrowed->thread, &borrowed->state);
    const struct remote_mapping *mapping = remote_maps_at(maps, stack);
    bool is_main = borrowed->thread == borrowed->target->pid;
    bool is_usual =
        mapping && (is_main ? strcmp(mapping->name, "[stack]") == 0
                            : thread > stack && thread - stack < STACK_MAX && thread <= mapping->end);
    return is_usual && frame >= mapping->start && frame < stack;
}

static enum status fail(const struct borrowed_thread *borrowed, const char *what, struct error *err)
{
    return target_refuse(borrowed->target, err, ": thread %d %s", (int)borrowed->thread, what);
}

enum status borrowed_prepare(struct borrowed_thread *borrowed, const struct remote_maps *maps,
                             struct error *err)
{
    static uint8_t frame[MACHINE_FRAME_BYTES] __attribute__((aligned(64)));
    struct machine_places *places = &borrowed->places;
    uint64_t all = ~0ull;
    size_t bytes = machine_make_frame(&borrowed->state, places, frame, &places->frame);
    if (!has_room(borrowed, maps, places->frame))
        return fail(borrowed, "has a stack of its own kind", err);
    if (!remote_write(borrowed->target->pid, places->frame, frame, bytes))
        return fail(borrowed, "has a stack that cannot be written", err);
    borrowed->is_prepared = true;
    const struct machine_run run = machine_give_back(places);
    if (!machine_set(borrowed->thread, &borrowed->state, places, &run) ||
        ptrace(PTRACE_SETSIGMASK, borrowed->thread, sizeof all, &all) != 0)
        return fail(borrowed, "has ended", err);
    return STATUS_OK;
}

/* Goes on to the next start or end of a system call. Only SIGKILL and faults come in spite of the mask. */
static enum stop to_next_call(const struct borrowed_thread *borrowed, uint64_t limit_ns)
{
    enum stop stop = STOP_GROUP;
    int number;
    while (stop == STOP_GROUP || stop == STOP_EVENT) {
        if (!go_on(borrowed->thread, PTRACE_SYSCALL, 0))
            return STOP_GONE;
        stop = wait_for_stop(borrowed->thread, limit_ns, &number);
    }
    return stop;
}

enum status borrowed_call(struct borrowed_thread *borrowed, long number, const uint64_t arguments[6],
                          long *result, struct error *err)
{
    struct machine_run run = {
        .code = borrowed->places.call, .stack = borrowed->places.frame, .number = number};
    memcpy(run.arguments, arguments, sizeof run.arguments);
    if (!target_is_same(borrowed->target) ||
        !machine_set(borrowed->thread, &borrowed->state, &borrowed->places, &run) ||
        to_next_call(borrowed, STOP_NS) != STOP_CALL || to_next_call(borrowed, STOP_NS) != STOP_CALL ||
        !machine_result(borrowed->thread, result))
        return fail(borrowed, "did not make a system call", err);
    return STATUS_OK;
}

/* --- releasing --- */

static void detach(struct borrowed_thread *borrowed)
{
    ptrace(PTRACE_DETACH, borrowed->thread, 0, 0);
    borrowed->released_ns = clock_monotonic_ns();
}

/* The kernel continues the interrupted call only behind this kind of stop. */
static bool to_event(const struct borrowed_thread *borrowed)
{
    int number;
    enum stop stop;
    if (ptrace(PTRACE_INTERRUPT, borrowed->thread, 0, 0) != 0)
        return false;
    do {
        if (!go_on(borrowed->thread, PTRACE_CONT, 0))
            return false;
        stop = wait_for_stop(borrowed->thread, STOP_NS, &number);
    } while (stop == STOP_CALL || stop == STOP_GROUP);
    return stop == STOP_EVENT;
}

void borrowed_release(struct borrowed_thread *borrowed)
{
    if (borrowed->released_ns || (borrowed->is_prepared && !to_event(borrowed)))
        return;
    machine_restore(borrowed->thread, &borrowed->state);
    detach(borrowed);
}

uint64_t borrowed_stopped_ns(const struct borrowed_thread *borrowed)
{
    return (borrowed->released_ns ? borrowed->released_ns : clock_monotonic_ns()) - borrowed->stopped_ns;
}

/* --- running code --- */

/* Until it has created the thread (STOP_NONE). It does not stop at each of its system calls, because each
 * stop takes two switches between threads. */
static enum stop wait_for_thread(const struct borrowed_thread *borrowed, uint64_t job, uint64_t end_ns)
{
    int32_t is_created = 0;
    int number;
    uint64_t start_ns = clock_monotonic_ns();
    for (uint64_t now_ns = start_ns; now_ns < end_ns; now_ns = clock_monotonic_ns()) {
        if (remote_read(borrowed->target->pid, job + offsetof(struct remote_job, is_created), &is_created,
                        sizeof is_created) &&
            is_created)
            return STOP_NONE;
        enum stop stop = wait_for_stop(borrowed->thread, now_ns - start_ns < SPIN_NS ? 1 : LOOK_NS, &number);
        if (stop == STOP_SIGNAL || stop == STOP_GONE)
            return stop;
        if (stop != STOP_NONE && !go_on(borrowed->thread, PTRACE_CONT, 0))
            return STOP_GONE;
    }
    return STOP_EVENT;
}

/* If we are late, it has restored itself. */
static bool is_waiting(const struct borrowed_thread *borrowed, uint64_t code)
{
    uint64_t at = machine_code_pointer(borrowed->thread);
    return at >= code && at < code + (uint64_t)(machine_work - machine_code);
}

enum status borrowed_run(struct borrowed_thread *borrowed, uint64_t code, uint64_t job, uint64_t stack,
                         struct error *err)
{
    const struct machine_run run = {.code = code, .stack = stack & ~15ull, .job = job};
    if (!machine_set(borrowed->thread, &borrowed->state, &borrowed->places, &run) ||
        !go_on(borrowed->thread, PTRACE_CONT, 0))
        return fail(borrowed, "has ended", err);
    enum stop stop = wait_for_thread(borrowed, job, clock_monotonic_ns() + RUN_NS);
    if (stop == STOP_SIGNAL)
        return fail(borrowed, "has failed in pthread_create()", err);
    if (stop == STOP_GONE || !interrupt(borrowed->thread))
        return fail(borrowed, "has ended", err);
    if (is_waiting(borrowed, code))
        machine_restore(borrowed->thread, &borrowed->state);
    detach(borrowed);
    if (stop == STOP_NONE)
        return STATUS_OK;
    return error_set(err, STATUS_TIMEOUT,
                     "%s (PID %d): a thread waits for a lock that another thread of it holds; it continues "
                     "as before when it gets the lock",
                     borrowed->target->program, (int)borrowed->target->pid);
}
