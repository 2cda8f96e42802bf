/* libcuspan-stacks-switch.so: the agent, from the same objects, whose stacks of launches can be switched
 * while the program runs, so that both states are measured in one process. The linker replaces
 * launch_stacks_take with the function below (tests/cmake/bench.cmake), so the agent itself has no
 * instruction for this. Switched off, a call costs some instructions more than without capture.launch_stacks.
 */
#include "agent/capture/stacks/launch_stacks.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT extern int bench_takes_stacks;
int bench_takes_stacks = 1;

bool __real_launch_stacks_take(struct host_thread *thread, struct launch_stack *stack);
bool __wrap_launch_stacks_take(struct host_thread *thread, struct launch_stack *stack);

bool __wrap_launch_stacks_take(struct host_thread *thread, struct launch_stack *stack)
{
    return __atomic_load_n(&bench_takes_stacks, __ATOMIC_RELAXED) && __real_launch_stacks_take(thread, stack);
}
