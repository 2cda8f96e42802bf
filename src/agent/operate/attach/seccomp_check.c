#include "agent/operate/attach/seccomp_check.h"

#include "agent/operate/attach/machine.h"
#include "base/files.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define PROGRAM_MAX BPF_MAXINSNS
#define FILTERS_MAX 256
#ifndef PTRACE_SECCOMP_GET_FILTER
#define PTRACE_SECCOMP_GET_FILTER 0x420c
#endif
#ifdef __x86_64__
#define AUDIT_ARCH_HERE AUDIT_ARCH_X86_64
#else
#define AUDIT_ARCH_HERE AUDIT_ARCH_AARCH64
#endif

/* --- a filter --- */

struct machine {
    uint32_t a, x, memory[BPF_MEMWORDS];
};

static uint32_t compute(uint16_t operation, uint32_t a, uint32_t by)
{
    return operation == BPF_ADD   ? a + by
           : operation == BPF_SUB ? a - by
           : operation == BPF_MUL ? a * by
           : operation == BPF_DIV ? a / by
           : operation == BPF_AND ? a & by
           : operation == BPF_OR  ? a | by
           : operation == BPF_XOR ? a ^ by
           : operation == BPF_LSH ? a << (by & 31)
           : operation == BPF_RSH ? a >> (by & 31)
                                  : 0 - a; /* BPF_NEG */
}

static bool jumps(uint16_t operation, uint32_t a, uint32_t by)
{
    return operation == BPF_JEQ   ? a == by
           : operation == BPF_JGT ? a > by
           : operation == BPF_JGE ? a >= by
                                  : a & by; /* BPF_JSET */
}

static uint32_t load(const struct machine *state, const struct sock_filter *at,
                     const struct seccomp_data *data)
{
    uint32_t word = 0;
    switch (BPF_MODE(at->code)) {
    case BPF_ABS:
        if (at->k <= sizeof *data - sizeof word)
            memcpy(&word, (const char *)data + at->k, sizeof word);
        return word;
    case BPF_MEM:
        return state->memory[at->k % BPF_MEMWORDS];
    case BPF_LEN:
        return sizeof *data;
    default:
        return at->k; /* BPF_IMM */
    }
}

/* The kernel has checked the program: jumps go forward, and it returns. */
uint32_t seccomp_check_run(const struct sock_filter *program, size_t count, const struct seccomp_data *data)
{
    struct machine state = {.a = 0};
    for (size_t i = 0; i < count; i++) {
        const struct sock_filter *at = &program[i];
        uint32_t by = BPF_SRC(at->code) == BPF_X ? state.x : at->k;
        switch (BPF_CLASS(at->code)) {
        case BPF_LD:
            state.a = load(&state, at, data);
            break;
        case BPF_LDX:
            state.x = load(&state, at, data);
            break;
        case BPF_ST:
            state.memory[at->k % BPF_MEMWORDS] = state.a;
            break;
        case BPF_STX:
            state.memory[at->k % BPF_MEMWORDS] = state.x;
            break;
        case BPF_ALU:
            if (BPF_OP(at->code) == BPF_DIV && by == 0)
                return SECCOMP_RET_KILL_THREAD;
            state.a = compute(BPF_OP(at->code), state.a, by);
            break;
        case BPF_JMP:
            i += BPF_OP(at->code) == BPF_JA ? at->k : jumps(BPF_OP(at->code), state.a, by) ? at->jt : at->jf;
            break;
        case BPF_RET:
            return BPF_RVAL(at->code) == BPF_A ? state.a : at->k;
        default: /* BPF_MISC */
            *(BPF_MISCOP(at->code) == BPF_TAX ? &state.x : &state.a) =
                BPF_MISCOP(at->code) == BPF_TAX ? state.a : state.x;
        }
    }
    return SECCOMP_RET_KILL_PROCESS;
}

/* --- the calls --- */

struct needed {
    int number;
    const char *name;
    uint64_t protection; /* the third argument */
};

/* Of the stopped thread, of pthread_create() and dlopen(), and of the agent until it traces. */
static const struct needed calls[] = {
    {SYS_mmap, "mmap", PROT_READ | PROT_WRITE},
    {SYS_mprotect, "mprotect", PROT_READ | PROT_EXEC},
    {SYS_mmap, "mmap (of code)", PROT_READ | PROT_EXEC},
    {SYS_munmap, "munmap", 0},
    {SYS_clone, "clone", 0},
    {SYS_clone3, "clone3", 0},
    {SYS_set_robust_list, "set_robust_list", 0},
    {SYS_rseq, "rseq", 0},
    {SYS_rt_sigprocmask, "rt_sigprocmask", 0},
    {SYS_openat, "openat", 0},
    {SYS_read, "read", 0},
    {SYS_pread64, "pread64", 0},
    {SYS_fstat, "fstat", 0},
    {SYS_newfstatat, "newfstatat", 0},
    {SYS_close, "close", 0},
    {SYS_madvise, "madvise", 0},
    {SYS_exit, "exit", 0},
    {SYS_prctl, "prctl", 0},
    {SYS_socket, "socket", 0},
    {SYS_connect, "connect", 0},
    {SYS_bind, "bind", 0},
    {SYS_listen, "listen", 0},
    {SYS_accept4, "accept4", 0},
    {SYS_ppoll, "ppoll", 0},
    {SYS_futex, "futex", 0},
    {SYS_getrandom, "getrandom", 0},
    {SYS_process_vm_readv, "process_vm_readv", 0},
    {SYS_rt_sigreturn, "rt_sigreturn", 0},
};

/* The C library does without these. Without rseq and clone3, it expects ENOSYS. */
static bool may_refuse(const struct needed *call, uint32_t answer)
{
    bool is_error = (answer & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO;
    uint32_t error = answer & SECCOMP_RET_DATA;
    switch (call->number) {
    case SYS_clone3:
        return is_error && error == ENOSYS;
    case SYS_rseq:
    case SYS_set_robust_list:
    case SYS_madvise:
    case SYS_getrandom:
    case SYS_process_vm_readv:
        return is_error;
    default:
        return false;
    }
}

static const char *meaning_of(uint32_t answer)
{
    switch (answer & SECCOMP_RET_ACTION_FULL) {
    case SECCOMP_RET_ERRNO:
        return strerror((int)(answer & SECCOMP_RET_DATA));
    case SECCOMP_RET_TRACE:
    case SECCOMP_RET_USER_NOTIF:
        return "asks a supervisor";
    case SECCOMP_RET_TRAP:
        return "sends SIGSYS";
    default:
        return "kills the process";
    }
}

static enum status judge(const struct target *target, const struct sock_filter *program, size_t count,
                         struct error *err)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct seccomp_data data = {
            .nr = calls[i].number,
            .arch = AUDIT_ARCH_HERE,
            .args = {[0] = calls[i].number == SYS_socket ? AF_UNIX : 0, [2] = calls[i].protection}};
        uint32_t answer = seccomp_check_run(program, count, &data), action = answer & SECCOMP_RET_ACTION_FULL;
        if (action != SECCOMP_RET_ALLOW && action != SECCOMP_RET_LOG && !may_refuse(&calls[i], answer))
            return target_refuse(target, err,
                                 "has a seccomp filter that does not allow %s (%s); allow it there, or start "
                                 "the program with cuspan run",
                                 calls[i].name, meaning_of(answer));
    }
    return STATUS_OK;
}

/* --- access --- */

static bool may_read_filters(void)
{
    char status[TARGET_STATUS_BYTES];
    return files_read_small("/proc/self/status", status, sizeof status) > 0 &&
           target_status_number(status, "CapEff", 16, 0) >> CAP_SYS_ADMIN & 1 &&
           target_status_number(status, "Seccomp", 10, 2) == 0;
}

/* A container's filter is inherited by all its processes, so the same number of filters means the same. */
static bool are_ours(const struct target *target)
{
    char status[TARGET_STATUS_BYTES];
    struct stat facts;
    return target->seccomp_filters > 0 && stat("/proc/self/ns/mnt", &facts) == 0 &&
           facts.st_ino == target->mount_namespace &&
           files_read_small("/proc/self/status", status, sizeof status) > 0 &&
           target_status_number(status, "Seccomp_filters", 10, 0) == (uint64_t)target->seccomp_filters;
}

enum status seccomp_check_access(const struct target *target, struct error *err)
{
    if (target->seccomp_mode == SECCOMP_MODE_STRICT)
        return target_refuse(target, err, "is in seccomp's strict mode, which allows no new thread");
    if (target->seccomp_mode == 0 || may_read_filters() || are_ours(target))
        return STATUS_OK;
    return target_refuse(target, err,
                         "has a seccomp filter that might end it at an attach, and only root on the host can "
                         "read it; run: sudo cuspan attach %d",
                         (int)target->pid);
}

enum status seccomp_check_thread(const struct target *target, pid_t thread, struct error *err)
{
    static struct sock_filter program[PROGRAM_MAX];
    if (target->seccomp_mode == 0 || !may_read_filters())
        return STATUS_OK;
    for (long number = 0; number < FILTERS_MAX; number++) {
        long count = ptrace(PTRACE_SECCOMP_GET_FILTER, thread, (void *)number, program);
        if (count <= 0 && errno == ENOENT)
            return STATUS_OK;
        if (count <= 0)
            return error_set(err, STATUS_UNAVAILABLE, "the seccomp filter of %s (PID %d) cannot be read: %s",
                             target->program, (int)target->pid, strerror(errno));
        enum status status = judge(target, program, (size_t)count, err);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}
