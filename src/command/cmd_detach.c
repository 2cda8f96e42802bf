#include "command/table/command_table.h"

#include "agent/operate/agents/agents.h"

#include <string.h>

static bool say(const struct agent *agent, const cJSON *answer, uint32_t timeout_ms)
{
    if (agents_say_failure(agent, answer, "detach"))
        return false;
    if (strcmp(agents_text(answer, "answer"), "already") == 0)
        printf("%s wasn't traced\n", agents_title(agent));
    else
        printf("%s is no longer traced, and CUPTI is available to other tools; the agent stays "
               "loaded: `cuspan start %ld` traces again\n",
               agents_title(agent), agent->pid);
    return true;
}

int cmd_detach(const struct command *command, int argc, char **argv)
{
    return agents_command(command, argc, argv, "release", say);
}
