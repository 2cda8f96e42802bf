/* A program that uses cuspan.h: prints whether it has found the agent. */
#include "cuspan/cuspan.h"

#include <stdio.h>

int main(void)
{
    printf("%s\n", cuspan_agent() ? "agent" : "none");
    return 0;
}
