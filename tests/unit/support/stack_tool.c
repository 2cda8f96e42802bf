#include "support/stack_tool.h"

__attribute__((visibility("default"))) void stack_tool_call(void (*function)(void *), void *argument,
                                                            int depth)
{
    if (depth > 0)
        stack_tool_call(function, argument, depth - 1);
    else
        function(argument);
    __asm__ volatile("" : : : "memory");
}

__attribute__((visibility("default"))) void stack_tool_walk(void *argument)
{
    struct stack_tool_order *order = argument;
    int times = order->times;
    do
        order->walk(order->stack, order->from, order->frames, order->max, order->result);
    while (--times > 0);
    __asm__ volatile("" : : : "memory");
}
