#include "command/table/command_table.h"

#include "agent/operate/agents/agents.h"

#include <string.h>

/* The agent has stopped in any case; its message about calls concerns their spans. */
static bool say(const struct agent *agent, const cJSON *answer, uint32_t timeout_ms)
{
    uint64_t under_way = agents_number(answer, "under_way");
    if (agents_say_failure(agent, answer, "stop"))
        return false;
    if (strcmp(agents_text(answer, "answer"), "already") == 0)
        printf("%s wasn't traced\n", agents_title(agent));
    else if (strcmp(agents_text(answer, "state"), "released") == 0)
        printf("%s is no longer traced, and CUPTI is available to other tools\n", agents_title(agent));
    else if (under_way)
        printf("%s is no longer traced; %llu %s had not returned after %u ms, and %s no span\n",
               agents_title(agent), (unsigned long long)under_way, under_way == 1 ? "call" : "calls",
               (unsigned)timeout_ms, under_way == 1 ? "has" : "have");
    else
        printf("%s is no longer traced\n", agents_title(agent));
    return true;
}

int cmd_stop(const struct command *command, int argc, char **argv)
{
    return agents_command(command, argc, argv, "stop", say);
}
