/* Runs a program, and kills it at one of its steps in other processes.
 *
 *   kill_at STEP PROGRAM [ARGUMENT...]
 *
 * Steps are the starts and ends of its ptrace() and process_vm_writev() calls. Exit status: 0, and the number
 * of steps on the last line, if it ended before; 9 if it was killed. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_step(pid_t program)
{
    struct __ptrace_syscall_info info;
    static long number; /* the end of a call does not tell it */
    if (ptrace(PTRACE_GET_SYSCALL_INFO, program, sizeof info, &info) <= 0)
        return false;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
        number = (long)info.entry.nr;
    return number == SYS_ptrace || number == SYS_process_vm_writev;
}

int main(int argc, char **argv)
{
    int status, steps = 0, last = argc > 2 ? atoi(argv[1]) : 0;
    pid_t program = fork();
    if (program == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        execv(argv[2], argv + 2);
        _exit(127);
    }
    if (waitpid(program, &status, 0) != program || !WIFSTOPPED(status) ||
        ptrace(PTRACE_SETOPTIONS, program, 0, PTRACE_O_TRACESYSGOOD) != 0)
        return 2;
    for (long number = 0;;) {
        if (ptrace(PTRACE_SYSCALL, program, 0, number) != 0 || waitpid(program, &status, 0) != program)
            return 2;
        if (!WIFSTOPPED(status))
            break;
        number = WSTOPSIG(status) == (SIGTRAP | 0x80) ? 0 : WSTOPSIG(status);
        if (number == 0 && is_step(program) && ++steps == last) {
            kill(program, SIGKILL);
            waitpid(program, &status, 0);
            return 9;
        }
    }
    printf("%d\n", steps);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}
