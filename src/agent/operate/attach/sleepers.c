#include "agent/operate/attach/sleepers.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>

#define NEAR_WORDS 256  /* from the top of the stack: what the thread is in */
#define ALL_WORDS  2048 /* a handler's frame may be farther away */
/* malloc has a heap of its own for threads, aligned at this, with its lock in the first page. */
#define HEAP_BYTES (64ul << 20)
#define PAGE_BYTES 4096ul

bool sleepers_parse(const char *line, struct sleep *sleep)
{
    uint64_t *argument = sleep->arguments;
    int read = sscanf(line, "%ld %lx %lx %lx %lx %lx %lx %lx %lx", &sleep->number, &argument[0], &argument[1],
                      &argument[2], &argument[3], &argument[4], &argument[5], &sleep->stack, &sleep->code);
    return read == 9 && sleep->number >= 0;
}

/* Neither a lock of the C library, nor of an allocator, nor of a heap of malloc. */
static bool is_safe_futex(const struct sleep *sleep, const struct remote_maps *maps)
{
    const struct remote_mapping *mapping = remote_maps_at(maps, sleep->arguments[0]);
    int operation = (int)sleep->arguments[1] & FUTEX_CMD_MASK;
    return (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET) &&
           !(mapping && mapping->part != REMOTE_OTHER) && sleep->arguments[0] % HEAP_BYTES >= PAGE_BYTES;
}

bool sleepers_is_safe_call(const struct sleep *sleep, const struct remote_maps *maps)
{
    static const long calls[] = {
#ifdef SYS_poll
        SYS_poll,           SYS_select,          SYS_epoll_wait,    SYS_pause,
#endif
        SYS_ppoll,          SYS_pselect6,        SYS_epoll_pwait,   441 /* epoll_pwait2 */,
        SYS_nanosleep,      SYS_clock_nanosleep, SYS_wait4,         SYS_waitid,
        SYS_accept,         SYS_accept4,         SYS_recvfrom,      SYS_recvmsg,
        SYS_read,           SYS_rt_sigtimedwait, SYS_rt_sigsuspend, SYS_semtimedop,
        SYS_restart_syscall};
    if (sleep->number == SYS_futex)
        return is_safe_futex(sleep, maps);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i] == sleep->number)
            return true;
    return false;
}

static bool is_unsafe_code(const struct remote_mapping *mapping)
{
    return mapping && mapping->is_code &&
           (mapping->part == REMOTE_LOADER || mapping->part == REMOTE_ALLOCATOR);
}

bool sleepers_is_clear_stack(const uint64_t *words, size_t count, const struct remote_maps *maps,
                             uint64_t signal_return)
{
    for (size_t i = 0; i < count; i++)
        if (words[i] == signal_return || (i < NEAR_WORDS && is_unsafe_code(remote_maps_at(maps, words[i]))))
            return false;
    return count > 0;
}

bool sleepers_has_clear_stack(const struct target *target, const struct remote_maps *maps, uint64_t stack,
                              uint64_t signal_return)
{
    uint64_t words[ALL_WORDS];
    const struct remote_mapping *mapping = stack % sizeof *words == 0 ? remote_maps_at(maps, stack) : NULL;
    size_t count = mapping ? (mapping->end - stack) / sizeof *words : 0;
    if (count > ALL_WORDS)
        count = ALL_WORDS;
    return count && remote_read(target->pid, stack, words, count * sizeof *words) &&
           sleepers_is_clear_stack(words, count, maps, signal_return);
}

bool sleepers_is_safe(const struct target *target, const struct remote_maps *maps, pid_t thread,
                      uint64_t signal_return, struct sleep *sleep)
{
    char name[64], line[256];
    snprintf(name, sizeof name, "task/%d/syscall", (int)thread);
    return target_read(target, name, line, sizeof line) > 0 && sleepers_parse(line, sleep) &&
           sleepers_is_safe_call(sleep, maps) &&
           sleepers_has_clear_stack(target, maps, sleep->stack, signal_return);
}
