/* Stands in for the agent where only the way into a process is tried: it has the agent's entry, and starts
 * nothing. ATTACH_DOUBLE in the settings says how it answers: "slow" (after 300 ms), "refuses", or at once.
 * attach_test.py's Agent group does the same with the real agent. */
#include "agent/core/entry/attach_entry.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

int cuspan_agent_attach(const char *lines, char *message, size_t bytes)
{
    if (strstr(lines, "double=slow"))
        nanosleep(&(struct timespec){0, 300000000}, NULL);
    if (strstr(lines, "double=refuses")) {
        snprintf(message, bytes, "the double refuses");
        return -1;
    }
    snprintf(message, bytes, "13.5");
    return 0;
}
