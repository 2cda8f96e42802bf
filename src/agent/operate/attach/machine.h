/* The parts that differ between processors: registers of a stopped thread, the frame that restores it, and
 * the code that it runs. One file implements it for each processor.
 *
 * A thread that runs anything for us ends in the system call by which signal handlers return, with a frame
 * that has the state from before. So it restores itself, also if our process is killed at any moment. If
 * we live, the registers are set from outside before that: the kernel then continues the interrupted system
 * call as if nothing had been, while the frame only can repeat it from its start. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#define MACHINE_EXTENDED_BYTES 16384 /* floating-point and vector registers */
#define MACHINE_FRAME_BYTES    (MACHINE_EXTENDED_BYTES + 2048)

/* A sleeping thread as /proc/PID/task/TID/syscall shows it. */
struct sleep {
    long number; /* of the system call */
    uint64_t arguments[6];
    uint64_t stack, code; /* pointers */
};

struct machine_state {
    struct user_regs_struct registers;
    size_t extended_bytes;
    uint8_t extended[MACHINE_EXTENDED_BYTES] __attribute__((aligned(64)));
    uint64_t signal_mask;
};

/* Addresses in the target. */
struct machine_places {
    uint64_t call;      /* an instruction for a system call, and one that returns */
    uint64_t give_back; /* makes the system call that restores a frame */
    uint64_t frame;     /* on the stopped thread's stack */
};

/* Code that is searched in the target for `machine_places`: bytes, and where they are. */
struct machine_pattern {
    const uint8_t *bytes;
    size_t count;
    bool is_in_vdso; /* or else in the C library */
};
extern const struct machine_pattern machine_call_pattern, machine_give_back_pattern;

/* The loader's part of the C library's files, "ld-linux-x86-64.so"; the ELF machine. */
extern const uint16_t machine_elf;

/* NULL, or why no thread of a process with this /proc/PID/status can be stopped. */
const char *machine_refuses(const char *status);

bool machine_save(pid_t thread, struct machine_state *state);
bool machine_restore(pid_t thread, const struct machine_state *state);
uint64_t machine_stack(const struct machine_state *state);
/* The address of the thread's data, which the C library keeps at the end of its stack. */
uint64_t machine_thread_pointer(pid_t thread, const struct machine_state *state);

/* Whether the state is that of an interrupted call which continues, as this sleep. If the kernel would let it
 * fail with EINTR, changes the state so that the call continues, unless a handler runs first. */
bool machine_takes_up(struct machine_state *state, const struct sleep *sleep);

/* Writes the frame for a stack pointer; returns its bytes, and its address in *at. */
size_t machine_make_frame(const struct machine_state *state, const struct machine_places *places,
                          uint8_t frame[MACHINE_FRAME_BYTES], uint64_t *at);

/* The stopped thread runs this when it continues, until it restores the frame: the call that does so
 * (machine_give_back()), a system call and then that one, or the code below. */
struct machine_run {
    uint64_t code, stack;
    long number; /* of the system call */
    uint64_t arguments[6];
    uint64_t job; /* of the code below */
};
struct machine_run machine_give_back(const struct machine_places *places);
bool machine_set(pid_t thread, const struct machine_state *state, const struct machine_places *places,
                 const struct machine_run *run);

/* Of the stopped thread: what the system call at whose end it is has returned; where its code is. */
bool machine_result(pid_t thread, long *result);
uint64_t machine_code_pointer(pid_t thread);

/* The code, which has no address of its own. It waits in ppoll(), because the kernel keeps what is left of an
 * interrupted nanosleep(), poll() or futex wait only until another one of these is interrupted; its part for
 * the new thread starts at machine_work. */
extern const char machine_code[], machine_work[], machine_code_end[];
