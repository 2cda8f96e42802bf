#include "agent/operate/attach/machine.h"

#ifdef __x86_64__

#include "agent/operate/attach/remote_job.h"

#include <asm/sigcontext.h>
#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define RED_ZONE_BYTES  128 /* below the stack pointer, and in use */
#define DIRECTION_FLAG  0x400u
#define FXSAVE_BYTES    512
#define HEADER_BYTES    64  /* behind it; the first word has the components in use */
#define MAGIC_OFFSET    464 /* of struct _fpx_sw_bytes; in ptrace()'s copy, the known components */
#define PROTECTION_KEYS (1u << 9)
/* Results of interrupted calls that the kernel restarts, unless a handler runs; they are not in <errno.h>. */
#define RESTART_FIRST     (-516)
#define RESTART_LAST      (-512)
#define RESTART_NOHANDLER (-514)

static const uint8_t call_bytes[] = {0x0f, 0x05, 0xc3}; /* syscall; ret */
/* __restore_rt: mov $15,%rax; syscall */
static const uint8_t give_back_bytes[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
const struct machine_pattern machine_call_pattern = {call_bytes, sizeof call_bytes, false};
const struct machine_pattern machine_give_back_pattern = {give_back_bytes, sizeof give_back_bytes, false};
const uint16_t machine_elf = EM_X86_64;

const char *machine_refuses(const char *status)
{
    const char *features = strstr(status, "x86_Thread_features:");
    const char *end = features ? strchr(features, '\n') : NULL;
    const char *stack = features ? strstr(features, "shstk") : NULL;
    return stack && end && stack < end
               ? "it has a shadow stack (CET), which would end a thread that returns to other code"
               : NULL;
}

bool machine_save(pid_t thread, struct machine_state *state)
{
    struct iovec extended = {state->extended, sizeof state->extended};
    bool is_read = ptrace(PTRACE_GETREGS, thread, 0, &state->registers) == 0 &&
                   ptrace(PTRACE_GETSIGMASK, thread, sizeof state->signal_mask, &state->signal_mask) == 0 &&
                   ptrace(PTRACE_GETREGSET, thread, NT_X86_XSTATE, &extended) == 0;
    state->extended_bytes = extended.iov_len;
    return is_read && extended.iov_len >= FXSAVE_BYTES + HEADER_BYTES &&
           extended.iov_len < sizeof state->extended;
}

bool machine_restore(pid_t thread, const struct machine_state *state)
{
    struct iovec extended = {(void *)(uintptr_t)state->extended, state->extended_bytes};
    return ptrace(PTRACE_SETREGSET, thread, NT_X86_XSTATE, &extended) == 0 &&
           ptrace(PTRACE_SETSIGMASK, thread, sizeof state->signal_mask, &state->signal_mask) == 0 &&
           ptrace(PTRACE_SETREGS, thread, 0, &state->registers) == 0;
}

uint64_t machine_stack(const struct machine_state *state)
{
    return state->registers.rsp;
}

uint64_t machine_thread_pointer(pid_t thread, const struct machine_state *state)
{
    return state->registers.fs_base;
}

bool machine_takes_up(struct machine_state *state, const struct sleep *sleep)
{
    struct user_regs_struct *regs = &state->registers;
    long result = (long)regs->rax;
    if ((long)regs->orig_rax != sleep->number || regs->rsp != sleep->stack || regs->rip != sleep->code)
        return false;
    if (result == -EINTR) /* epoll_wait() and others */
        regs->rax = (uint64_t)RESTART_NOHANDLER;
    return result == -EINTR || (result >= RESTART_FIRST && result <= RESTART_LAST);
}

/* The size of the components in use, in the standard format of XSAVE. The frame must not have more than the
 * thread may use. */
static uint32_t used_bytes(uint64_t components)
{
    uint32_t used = FXSAVE_BYTES + HEADER_BYTES, size, offset, c, d;
    for (uint32_t i = 2; i < 63; i++)
        if (components >> i & 1 && __get_cpuid_count(0xd, i, &size, &offset, &c, &d) && offset + size > used)
            used = offset + size;
    return used;
}

/* As struct sigcontext and ucontext_t, which userspace headers do not have like this. */
struct frame {
    uint64_t return_address, flags, link;
    struct {
        uint64_t sp;
        uint32_t flags, unused;
        uint64_t size;
    } stack;
    struct sigcontext context;
    uint64_t signal_mask;
    uint8_t information[128]; /* siginfo_t */
};

#define STACK_UNCHANGED 7u /* invalid flags: the kernel keeps the stack for signal handlers */
#define FRAME_FLAGS     7u /* UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS */

static void fill_context(struct sigcontext *context, const struct user_regs_struct *regs)
{
    *context = (struct sigcontext){.r8 = regs->r8,
                                   .r9 = regs->r9,
                                   .r10 = regs->r10,
                                   .r11 = regs->r11,
                                   .r12 = regs->r12,
                                   .r13 = regs->r13,
                                   .r14 = regs->r14,
                                   .r15 = regs->r15,
                                   .rdi = regs->rdi,
                                   .rsi = regs->rsi,
                                   .rbp = regs->rbp,
                                   .rbx = regs->rbx,
                                   .rdx = regs->rdx,
                                   .rcx = regs->rcx,
                                   .rsp = regs->rsp,
                                   .eflags = regs->eflags,
                                   .cs = (uint16_t)regs->cs,
                                   .ss = (uint16_t)regs->ss};
    /* The call is made once more. */
    context->rax = regs->orig_rax;
    context->rip = regs->rip - 2;
}

/* The frame is below the red zone, and what it points to above it. */
size_t machine_make_frame(const struct machine_state *state, const struct machine_places *places,
                          uint8_t bytes[MACHINE_FRAME_BYTES], uint64_t *at)
{
    struct frame *frame = (struct frame *)bytes;
    uint64_t components, known;
    memcpy(&components, state->extended + FXSAVE_BYTES, sizeof components);
    memcpy(&known, state->extended + MAGIC_OFFSET, sizeof known);
    components |= known & PROTECTION_KEYS; /* their initial value is not the default */
    uint32_t used = used_bytes(components);
    uint64_t extended = (state->registers.rsp - RED_ZONE_BYTES - used - FP_XSTATE_MAGIC2_SIZE) & ~63ull;
    uint64_t base = (extended - sizeof *frame) & ~15ull;
    uint8_t *saved = bytes + (extended - base);
    struct _fpx_sw_bytes words = {.magic1 = FP_XSTATE_MAGIC1,
                                  .extended_size = used + FP_XSTATE_MAGIC2_SIZE,
                                  .xfeatures = components | 3,
                                  .xstate_size = used};
    uint32_t magic = FP_XSTATE_MAGIC2;
    memset(bytes, 0, extended - base);
    frame->return_address = places->give_back;
    frame->flags = FRAME_FLAGS;
    frame->stack.flags = STACK_UNCHANGED;
    frame->signal_mask = state->signal_mask;
    fill_context(&frame->context, &state->registers);
    frame->context.fpstate = (void *)extended;
    memcpy(saved, state->extended, used);
    memcpy(saved + FXSAVE_BYTES, &components, sizeof components);
    memcpy(saved + MAGIC_OFFSET, &words, sizeof words);
    memcpy(saved + used, &magic, sizeof magic);
    *at = base;
    return extended - base + used + sizeof magic;
}

/* As after a handler's return. */
struct machine_run machine_give_back(const struct machine_places *places)
{
    return (struct machine_run){.code = places->give_back, .stack = places->frame + sizeof(uint64_t)};
}

bool machine_set(pid_t thread, const struct machine_state *state, const struct machine_places *places,
                 const struct machine_run *run)
{
    struct user_regs_struct regs = state->registers;
    regs.rip = run->code;
    regs.rsp = run->stack;
    regs.rax = (uint64_t)run->number;
    regs.rdi = run->arguments[0];
    regs.rsi = run->arguments[1];
    regs.rdx = run->arguments[2];
    regs.r10 = run->arguments[3];
    regs.r8 = run->arguments[4];
    regs.r9 = run->arguments[5];
    regs.rbx = run->job;
    regs.r12 = places->frame + sizeof(uint64_t);
    regs.orig_rax = (uint64_t)-1; /* the kernel must not restart the interrupted call now */
    regs.eflags &= ~(uint64_t)DIRECTION_FLAG;
    return ptrace(PTRACE_SETREGS, thread, 0, &regs) == 0;
}

bool machine_result(pid_t thread, long *result)
{
    struct user_regs_struct regs;
    if (ptrace(PTRACE_GETREGS, thread, 0, &regs) != 0)
        return false;
    *result = (long)regs.rax;
    return true;
}

uint64_t machine_code_pointer(pid_t thread)
{
    struct user_regs_struct regs;
    return ptrace(PTRACE_GETREGS, thread, 0, &regs) == 0 ? regs.rip : 0;
}

/* rbx: the job; r12: the frame's stack pointer. */
#define AT(field)           "%c[" #field "](%%rbx)"
#define OF(register, field) "lea " AT(field) ", %%" #register "\n"
#define CALL(offset)        "call *" #offset "(%%rbx)\n"
/* clang-format off */
/* In a function, because only there assembly has operands. */
__attribute__((used, noinline)) static void define_code(void)
{
    __asm__ volatile(".pushsection .rodata\n .globl machine_code, machine_work, machine_code_end\n"
        "machine_code:\n"
        OF(rdi, thread) "xor %%esi, %%esi\n mov " AT(work) ", %%rdx\n mov %%rbx, %%rcx\n"
        CALL(24) /* pthread_create */
        "mov %%eax, " AT(created) "\n test %%eax, %%eax\n jnz 1f\n mov " AT(thread) ", %%rdi\n"
        CALL(32) /* pthread_detach */
        "1: movl $1, " AT(is_created) "\n"
        OF(rdx, limit) "xor %%edi, %%edi\n xor %%esi, %%esi\n xor %%r10d, %%r10d\n"
        "mov $271, %%eax\n syscall\n" /* ppoll */
        "mov %%r12, %%rsp\n mov $15, %%eax\n syscall\n" /* rt_sigreturn */
        "machine_work:\n"
        "push %%rbx\n mov %%rdi, %%rbx\n movl $1, " AT(stage) "\n"
        OF(rdi, path) "mov $2, %%esi\n" /* RTLD_NOW */
        CALL(0) /* dlopen */
        "test %%rax, %%rax\n jz 2f\n mov %%rax, %%rdi\n" OF(rsi, symbol)
        CALL(8) /* dlsym */
        "test %%rax, %%rax\n jz 5f\n movl $2, " AT(stage) "\n"
        OF(rdi, settings) OF(rsi, message) "mov %[bytes], %%edx\n call *%%rax\n"
        "mov %%eax, " AT(result) "\n movl $3, " AT(stage) "\n jmp 6f\n"
        "2:\n" CALL(16) /* dlerror */
        "xor %%ecx, %%ecx\n test %%rax, %%rax\n jz 4f\n"
        "3: mov (%%rax,%%rcx), %%dl\n mov %%dl, %c[message](%%rbx,%%rcx)\n"
        "inc %%ecx\n cmp %[bytes] - 1, %%ecx\n jae 4f\n test %%dl, %%dl\n jnz 3b\n"
        "4: movl $-1, " AT(stage) "\n jmp 6f\n"
        "5: movl $-2, " AT(stage) "\n"
        "6: xor %%eax, %%eax\n pop %%rbx\n ret\n"
        "machine_code_end:\n .popsection\n" : : JOB_PLACES);
}
/* clang-format on */

#endif
