#include <stdint.h>
extern "C" {
#include "support/stack_maker.h"
}

#include <stdexcept>
#include <string>

namespace
{

struct guard {
    struct stack_plan *plan;
    std::string text = "a string that is too long for its own room, so that it must be freed";
    ~guard()
    {
        stack_next(plan);
    }
};

/* The destructor runs while the exception passes. */
__attribute__((noinline)) void thrower(struct stack_plan *plan)
{
    guard it{plan};
    throw std::runtime_error(it.text);
}

void in_destructor(struct stack_plan *plan)
{
    try {
        thrower(plan);
    } catch (const std::exception &) {
        __asm__ volatile("" : : : "memory");
    }
}

void in_handler(struct stack_plan *plan)
{
    try {
        throw plan->functions_left;
    } catch (int) {
        stack_next(plan);
    }
}

template <typename F> __attribute__((noinline)) void call(F f)
{
    f();
    __asm__ volatile("" : : : "memory");
}

void in_lambda(struct stack_plan *plan)
{
    std::string text(40, 'x');
    call([plan, text] { stack_next(plan); });
}

} // namespace

extern "C" {
__attribute__((visibility("default")))
stack_function *stack_functions[] = {in_destructor, in_handler, in_lambda, nullptr};
}
