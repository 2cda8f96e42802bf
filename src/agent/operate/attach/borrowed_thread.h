/* A sleeping thread of the target that runs a little for us, and then continues its sleep.
 *
 * The order of steps is what makes it safe to kill this process at any moment. The kernel then lets the
 * thread run with the registers that it has, and these are either its own, or lead to the frame that restores
 * it:
 *
 *   borrowed_stop()     nothing is changed
 *   borrowed_prepare()  the frame is written where the stack is unused; the registers lead to it; then
 * signals are blocked, and the frame has the old mask borrowed_call()     a system call, and then the frame
 *   borrowed_run()      code that ends with the frame; if we live, the next step instead
 *   borrowed_release()  registers, mask and interrupted system call are as before */
#pragma once

#include "agent/operate/attach/machine.h"
#include "agent/operate/attach/remote_memory.h"
#include "agent/operate/attach/target.h"

struct borrowed_thread {
    const struct target *target;
    pid_t thread;
    bool is_prepared;
    uint64_t stopped_ns, released_ns; /* times; released: 0 before */
    struct machine_state state;
    struct machine_places places; /* set call and give_back before borrowed_prepare() */
};

/* Stops one thread if it still is in this sleep; otherwise it continues unchanged. */
bool borrowed_stop(struct borrowed_thread *borrowed, const struct target *target, pid_t thread,
                   const struct sleep *sleep);

/* UNAVAILABLE: its stack is not one of the C library's, or has no room. It then is to be released. */
enum status borrowed_prepare(struct borrowed_thread *borrowed, const struct remote_maps *maps,
                             struct error *err) MUST_CHECK;

/* A system call. `result` is negative if it failed. */
enum status borrowed_call(struct borrowed_thread *borrowed, long number, const uint64_t arguments[6],
                          long *result, struct error *err) MUST_CHECK;

/* Runs machine_code for the job, and releases the thread. TIMEOUT: it waits for a lock that another thread
 * holds, runs on without us, and restores itself when it gets the lock. */
enum status borrowed_run(struct borrowed_thread *borrowed, uint64_t code, uint64_t job, uint64_t stack,
                         struct error *err) MUST_CHECK;

/* Unless borrowed_run() did. */
void borrowed_release(struct borrowed_thread *borrowed);

/* How long it was stopped. */
uint64_t borrowed_stopped_ns(const struct borrowed_thread *borrowed);
