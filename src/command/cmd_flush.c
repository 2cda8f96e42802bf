#include "command/table/command_table.h"

#include "agent/operate/agents/agents.h"

static bool say(const struct agent *agent, const cJSON *answer, uint32_t timeout_ms)
{
    if (agents_say_failure(agent, answer, "flush"))
        return false;
    printf("%s: everything captured was delivered\n", agents_title(agent));
    return true;
}

int cmd_flush(const struct command *command, int argc, char **argv)
{
    return agents_command(command, argc, argv, "flush", say);
}
