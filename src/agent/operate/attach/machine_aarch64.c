#include "agent/operate/attach/machine.h"

#ifdef __aarch64__

#include "agent/operate/attach/remote_job.h"

#include <asm/sigcontext.h>
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>

#define INSTRUCTION_BYTES 4
#define CALL_REGISTER     8 /* x8 has the number of a system call */
#define LINK_REGISTER     30
#define JOB_REGISTER      19
#define FRAME_REGISTER    20
#define NO_CALL           (-1)

static const uint8_t call_bytes[] = {0x01, 0, 0, 0xd4, 0xc0, 0x03, 0x5f, 0xd6}; /* svc #0; ret */
/* __kernel_rt_sigreturn: mov x8, #139; svc #0 */
static const uint8_t give_back_bytes[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};
const struct machine_pattern machine_call_pattern = {call_bytes, sizeof call_bytes, false};
const struct machine_pattern machine_give_back_pattern = {give_back_bytes, sizeof give_back_bytes, true};
const uint16_t machine_elf = EM_AARCH64;

const char *machine_refuses(const char *status)
{
    return NULL;
}

static bool get(pid_t thread, int set, void *bytes, size_t size, size_t *got)
{
    struct iovec vector = {bytes, size};
    if (ptrace(PTRACE_GETREGSET, thread, set, &vector) != 0)
        return false;
    if (got)
        *got = vector.iov_len;
    return true;
}

static bool put(pid_t thread, int set, const void *bytes, size_t size)
{
    struct iovec vector = {(void *)(uintptr_t)bytes, size};
    return ptrace(PTRACE_SETREGSET, thread, set, &vector) == 0;
}

static bool set_call_number(pid_t thread, int number)
{
    return put(thread, NT_ARM_SYSTEM_CALL, &number, sizeof number);
}

/* A system call leaves of SVE only what the floating-point registers have. */
bool machine_save(pid_t thread, struct machine_state *state)
{
    return get(thread, NT_PRSTATUS, &state->registers, sizeof state->registers, NULL) &&
           ptrace(PTRACE_GETSIGMASK, thread, sizeof state->signal_mask, &state->signal_mask) == 0 &&
           get(thread, NT_PRFPREG, state->extended, sizeof(struct user_fpsimd_struct),
               &state->extended_bytes);
}

bool machine_restore(pid_t thread, const struct machine_state *state)
{
    return put(thread, NT_PRFPREG, state->extended, state->extended_bytes) &&
           ptrace(PTRACE_SETSIGMASK, thread, sizeof state->signal_mask, &state->signal_mask) == 0 &&
           put(thread, NT_PRSTATUS, &state->registers, sizeof state->registers);
}

uint64_t machine_stack(const struct machine_state *state)
{
    return state->registers.sp;
}

uint64_t machine_thread_pointer(pid_t thread, const struct machine_state *state)
{
    uint64_t pointer = 0;
    return get(thread, NT_ARM_TLS, &pointer, sizeof pointer, NULL) ? pointer : 0;
}

/* Linux has already set the registers back to the call's instruction if it restarts the call. If the call
 * would continue only what is left of it (nanosleep()), it sleeps as long once more. */
bool machine_takes_up(struct machine_state *state, const struct sleep *sleep)
{
    struct user_regs_struct *regs = &state->registers;
    bool is_same = regs->sp == sleep->stack && (long)regs->regs[CALL_REGISTER] == sleep->number;
    if (is_same && regs->pc == sleep->code && (long)regs->regs[0] == -EINTR) {
        regs->pc -= INSTRUCTION_BYTES;
        regs->regs[0] = sleep->arguments[0];
    }
    return is_same && regs->pc == sleep->code - INSTRUCTION_BYTES;
}

struct frame {
    uint8_t information[128]; /* siginfo_t */
    ucontext_t context;
};

#define STACK_UNCHANGED 7 /* invalid flags: the kernel keeps the stack for signal handlers */

size_t machine_make_frame(const struct machine_state *state, const struct machine_places *places,
                          uint8_t bytes[MACHINE_FRAME_BYTES], uint64_t *at)
{
    struct frame *frame = (struct frame *)bytes;
    const struct user_regs_struct *regs = &state->registers;
    struct fpsimd_context *floats = (struct fpsimd_context *)frame->context.uc_mcontext.__reserved;
    struct user_fpsimd_struct saved;
    memset(frame, 0, sizeof *frame);
    memcpy(&saved, state->extended, sizeof saved);
    frame->context.uc_stack.ss_flags = STACK_UNCHANGED;
    memcpy(&frame->context.uc_sigmask, &state->signal_mask, sizeof state->signal_mask);
    memcpy(frame->context.uc_mcontext.regs, regs->regs, sizeof regs->regs);
    frame->context.uc_mcontext.sp = regs->sp;
    frame->context.uc_mcontext.pc = regs->pc;
    frame->context.uc_mcontext.pstate = regs->pstate;
    floats->head.magic = FPSIMD_MAGIC;
    floats->head.size = sizeof *floats;
    floats->fpsr = saved.fpsr;
    floats->fpcr = saved.fpcr;
    memcpy(floats->vregs, saved.vregs, sizeof saved.vregs);
    *at = (regs->sp - sizeof *frame) & ~15ull;
    return sizeof *frame;
}

struct machine_run machine_give_back(const struct machine_places *places)
{
    return (struct machine_run){.code = places->give_back, .stack = places->frame};
}

bool machine_set(pid_t thread, const struct machine_state *state, const struct machine_places *places,
                 const struct machine_run *run)
{
    struct user_regs_struct regs = state->registers;
    memcpy(regs.regs, run->arguments, sizeof run->arguments);
    regs.regs[CALL_REGISTER] = (uint64_t)run->number;
    regs.regs[LINK_REGISTER] = places->give_back;
    regs.regs[JOB_REGISTER] = run->job;
    regs.regs[FRAME_REGISTER] = places->frame;
    regs.pc = run->code;
    regs.sp = run->stack;
    return put(thread, NT_PRSTATUS, &regs, sizeof regs) && set_call_number(thread, NO_CALL);
}

bool machine_result(pid_t thread, long *result)
{
    struct user_regs_struct regs;
    if (!get(thread, NT_PRSTATUS, &regs, sizeof regs, NULL))
        return false;
    *result = (long)regs.regs[0];
    return true;
}

uint64_t machine_code_pointer(pid_t thread)
{
    struct user_regs_struct regs;
    return get(thread, NT_PRSTATUS, &regs, sizeof regs, NULL) ? regs.pc : 0;
}

/* x19: the job; x20: the frame. */
#define AT(field)           "[x19, #%c[" #field "]]\n"
#define OF(register, field) "add " #register ", x19, #%c[" #field "]\n"
#define CALL(offset)        "ldr x9, [x19, #" #offset "]\n blr x9\n"
/* clang-format off */
/* In a function, because only there assembly has operands. */
__attribute__((used, noinline)) static void define_code(void)
{
    __asm__ volatile(".pushsection .rodata\n .balign 4\n .globl machine_code, machine_work, machine_code_end\n"
        "machine_code:\n"
        OF(x0, thread) "mov x1, #0\n ldr x2, " AT(work) "mov x3, x19\n"
        CALL(24) /* pthread_create */
        "str w0, " AT(created) "cbnz w0, 1f\n ldr x0, " AT(thread)
        CALL(32) /* pthread_detach */
        "1: mov w1, #1\n str w1, " AT(is_created)
        OF(x2, limit) "mov x0, #0\n mov x1, #0\n mov x3, #0\n"
        "mov x8, #73\n svc #0\n" /* ppoll */
        "mov sp, x20\n mov x8, #139\n svc #0\n" /* rt_sigreturn */
        "machine_work:\n"
        "stp x29, x30, [sp, #-32]!\n stp x19, x20, [sp, #16]\n mov x19, x0\n"
        "mov w9, #1\n str w9, " AT(stage)
        OF(x0, path) "mov w1, #2\n" /* RTLD_NOW */
        CALL(0) /* dlopen */
        "cbz x0, 2f\n" OF(x1, symbol)
        CALL(8) /* dlsym */
        "cbz x0, 5f\n mov x9, x0\n mov w10, #2\n str w10, " AT(stage)
        OF(x0, settings) OF(x1, message) "mov x2, #%c[bytes]\n blr x9\n"
        "str w0, " AT(result) "mov w9, #3\n b 6f\n"
        "2:\n" CALL(16) /* dlerror */
        "mov x2, #0\n" OF(x3, message) "cbz x0, 4f\n"
        "3: ldrb w4, [x0, x2]\n strb w4, [x3, x2]\n add x2, x2, #1\n cmp x2, #%c[bytes] - 1\n b.hs 4f\n cbnz w4, 3b\n"
        "4: mov w9, #-1\n b 6f\n"
        "5: mov w9, #-2\n"
        "6: dmb ish\n str w9, " AT(stage)
        "mov x0, #0\n ldp x19, x20, [sp, #16]\n ldp x29, x30, [sp], #32\n ret\n"
        "machine_code_end:\n .popsection\n" : : JOB_PLACES);
}
/* clang-format on */

#endif
