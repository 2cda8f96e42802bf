/* Stacks made at random: functions that call each other in an order that depends on a number. Built several
 * times with different compiler options, as libraries. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct stack_plan;
typedef void stack_function(struct stack_plan *plan);

struct stack_plan {
    uint64_t random;
    int functions_left; /* before the leaf */
    stack_function *leaf;
    void *argument;
    stack_function *functions[256];
    int function_count;
    bool functions_are_kept; /* their libraries stay loaded */
};

/* Exported by each library: NULL at the end. */
#define STACK_FUNCTIONS_SYMBOL        "stack_functions"
#define STACK_SIGNAL_FUNCTIONS_SYMBOL "stack_signal_functions" /* these call through signal handlers */

static inline uint64_t stack_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Calls the next function. No tail call, so that the caller keeps its frame. */
static inline void stack_next(struct stack_plan *plan)
{
    if (plan->functions_left-- <= 0)
        plan->leaf(plan);
    else
        plan->functions[stack_random(&plan->random) % (uint64_t)plan->function_count](plan);
    __asm__ volatile("" : : : "memory");
}
