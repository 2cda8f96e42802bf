/* Looks at all threads of the own process from a thread of ours: what each one runs, in Python and in native
 * code, and what it waits for. Two looks tell which threads stand still.
 *
 * A look never stops, signals or waits for a thread of the host. It takes neither Python's GIL nor a lock of
 * the allocator or of the loader, and reads the host's memory by system calls only
 * (base/process/self_memory.h). So it works while a thread hangs with any of these locks. Like each access to
 * /proc, it can wait for the kernel's lock of the address space.
 *
 * Threads run meanwhile. So each value is checked, each loop is bounded, and a stack that has changed while
 * it was read is marked as torn: its frames need not belong together. Sleeping threads have native frames,
 * too: the kernel shows their stack pointer and program counter, and .eh_frame leads on from there. It does
 * not show the frame pointer. Where a function needs it before another one has restored it, the next return
 * address on the stack is taken, and this frame and all further ones are marked as guessed.
 *
 * Stacks have functions, files and lines, never values. All texts are valid UTF-8 and NUL-terminated. They
 * may have control characters, except names of threads. */
#pragma once

#include "agent/watch/stacks/stack_result.h"

/* Fills `into`, whose content need not be initialized. Never fails: what cannot be read is left out and
 * marked. A thread of ours with 64 KiB of stack, one at a time. Maps 0.7 MiB meanwhile. CPU time
 * (tests/bench/thread_stacks.py): 2 ms, and 0.1 ms for each thread. */
void thread_stacks_look(struct thread_stacks *into, enum stack_detail detail);

/* Sets used_ns, is_same and is_still in `second` by an earlier look at the same process. A thread that did
 * not exist in `first` or was torn in one of them is not the same. */
void thread_stacks_compare(struct thread_stacks *second, const struct thread_stacks *first);
