#include "command/table/command_table.h"

#include "agent/operate/agents/agents.h"

#include <string.h>

static bool say(const struct agent *agent, const cJSON *answer, uint32_t timeout_ms)
{
    if (agents_say_failure(agent, answer, "start"))
        return false;
    bool is_new = strcmp(agents_text(answer, "answer"), "done") == 0;
    printf("%s is traced%s\n", agents_title(agent), is_new ? "" : " already");
    return true;
}

int cmd_start(const struct command *command, int argc, char **argv)
{
    return agents_command(command, argc, argv, "start", say);
}
