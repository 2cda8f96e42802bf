/* A program that uses cuspan.h, in C and C++. Without the agent, cuspan's functions do nothing. */
#include <cuspan/cuspan.h>

int main(void)
{
    uint64_t range = cuspan_range("work", NULL, 0);
    cuspan_end(range);
    return range == 0 ? 0 : 1;
}
