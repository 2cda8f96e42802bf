#include "agent/watch/stacks/thread_stacks.h"

void thread_stacks_compare(struct thread_stacks *second, const struct thread_stacks *first) {}
