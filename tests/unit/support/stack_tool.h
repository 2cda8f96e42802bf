/* A library that poses as a tool by its file's name. */
#pragma once

#include "agent/capture/stacks/native_frames.h"

/* A walk from inside the library. */
struct stack_tool_order {
    void (*walk)(struct native_stack *stack, enum native_from from, uint64_t *frames, uint32_t max,
                 struct native_walk *walk);
    struct native_stack *stack;
    uint64_t *frames;
    uint32_t max;
    struct native_walk *result;
    int times; /* at least once */
    enum native_from from;
};

typedef void stack_tool_call_fn(void (*function)(void *), void *argument, int depth);

/* Calls a function through some frames. */
void stack_tool_call(void (*function)(void *), void *argument, int depth);
/* Takes a struct stack_tool_order. */
void stack_tool_walk(void *order);
