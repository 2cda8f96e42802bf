#include "command/top/top_poll.h"

#include "cli/util/sort.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

static struct top_agent *find(struct top_poll *poll, const struct agent *agent)
{
    for (size_t i = 0; i < poll->count; i++)
        if (strcmp(poll->agents[i].socket, agent->name) == 0 &&
            strcmp(poll->agents[i].folder, agent->folder) == 0)
            return &poll->agents[i];
    struct top_agent *made = XADD(poll->agents, poll->count, poll->capacity);
    memset(made, 0, sizeof *made);
    snprintf(made->socket, sizeof made->socket, "%s", agent->name);
    snprintf(made->folder, sizeof made->folder, "%s", agent->folder);
    return made;
}

static const char *reach_word(enum reach reach)
{
    return reach == REACH_REFUSED ? "it belongs to another user" : "it does not respond";
}

/* The PID in the name of a socket may belong to another process by now. An agent that does not respond keeps
 * its description. */
static void describe(struct top_agent *known, const struct agent *agent)
{
    char program[sizeof known->program];
    if (agent->reach != REACHED && known->pid)
        return;
    snprintf(program, sizeof program, "%s", agents_text(agent->description, "program"));
    if (known->pid != agent->pid || strcmp(known->program, program) != 0)
        known->has_before = false;
    known->pid = agent->pid;
    memcpy(known->program, program, sizeof program);
    known->lost = agents_number(agent->description, "lost");
    snprintf(known->state, sizeof known->state, "%s", agents_text(agent->description, "state"));
    snprintf(known->why, sizeof known->why, "%s", agents_text(agent->description, "why"));
}

static void ask(struct top_agent *known, const struct agent *agent, uint32_t timeout_ms)
{
    static struct top_sample now; /* large */
    cJSON *answer = NULL;
    enum reach reach = agent->reach;
    known->has_figures = false;
    if (reach == REACHED)
        reach = agents_ask(agent, "figures", timeout_ms, &answer);
    if (reach != REACHED) {
        snprintf(known->why, sizeof known->why, "%s", reach_word(reach));
    } else if (!top_sample_read(answer, &now)) {
        known->has_before = false;
        snprintf(known->why, sizeof known->why, "its cuspan is too old to report figures");
    } else {
        known->has_figures =
            known->has_before && top_sample_difference(&known->before, &now, &known->figures);
        known->before = now;
        known->has_before = true;
    }
    cJSON_Delete(answer);
}

static int by_pid(const void *a, const void *b)
{
    const struct top_agent *one = a, *other = b;
    return ORDER(one->pid, other->pid);
}

void top_poll_take(struct top_poll *poll, const struct agents_choice *choice)
{
    struct agents found;
    size_t kept = 0;
    for (size_t i = 0; i < poll->count; i++)
        poll->agents[i].is_there = false;
    agents_find(&found, choice->folder);
    for (size_t i = 0; i < found.count; i++) {
        if (!agents_matches(choice, &found.items[i]))
            continue;
        struct top_agent *known = find(poll, &found.items[i]);
        known->is_there = true;
        describe(known, &found.items[i]);
        ask(known, &found.items[i], choice->timeout_ms);
    }
    agents_deinit(&found);
    for (size_t i = 0; i < poll->count; i++) {
        if (poll->agents[i].is_there && kept != i)
            poll->agents[kept] = poll->agents[i];
        kept += poll->agents[i].is_there;
    }
    poll->count = kept;
    sort_array(poll->agents, kept, sizeof *poll->agents, by_pid);
}

void top_poll_deinit(struct top_poll *poll)
{
    free(poll->agents);
    *poll = (struct top_poll){.count = 0};
}
