#include "command/table/command_table.h"

#include "agent/operate/agents/agents.h"
#include "agent/operate/attach/candidates.h"

#include <pwd.h>
#include <string.h>
#include <time.h>

#define PROGRAM_COLUMNS 24

static void add_user(struct text *line, unsigned user)
{
    const struct passwd *entry = getpwuid(user);
    if (entry)
        text_add_format(line, "%-10.10s", entry->pw_name);
    else
        text_add_format(line, "%-10u", user);
}

/* Today by time, earlier by date. */
static void add_since(struct text *line, uint64_t since_ms)
{
    char moment[32] = "", today[32] = "", day[32] = "";
    time_t then = (time_t)(since_ms / 1000), now = time(NULL);
    struct tm parts;
    if (localtime_r(&now, &parts))
        strftime(today, sizeof today, "%Y-%m-%d", &parts);
    if (localtime_r(&then, &parts)) {
        strftime(day, sizeof day, "%Y-%m-%d", &parts);
        strftime(moment, sizeof moment, strcmp(day, today) == 0 ? "%H:%M:%S" : "%Y-%m-%d", &parts);
    }
    text_add_format(line, "%-10s ", moment);
}

static void add_description(struct text *line, const cJSON *description, bool utf8)
{
    char spans[TEXT_NUMBER_BYTES], lost[TEXT_NUMBER_BYTES];
    add_user(line, (unsigned)agents_number(description, "user"));
    text_add_char(line, ' ', 1);
    add_since(line, agents_number(description, "since_ms"));
    text_add_format(line, "%14s %12s  ", text_count(spans, agents_number(description, "spans")),
                    text_count(lost, agents_number(description, "lost")));
    text_add_column(line, agents_text(description, "program"), PROGRAM_COLUMNS, false, utf8);
    text_add_char(line, ' ', 1);
    text_add_clean(line, agents_text(description, "state"), utf8);
    const char *why = agents_text(description, "why");
    if (*why)
        text_add(line, ": ");
    text_add_clean(line, why, utf8);
}

static void print_agent(const struct agent *agent)
{
    static const char *const without[] = {[REACH_REFUSED] = "not permitted",
                                          [REACH_SILENT] = "no answer",
                                          [REACHED] = "",
                                          [REACH_GONE] = "gone"};
    struct text line = {0};
    text_add_format(&line, "%8ld ", agent->pid);
    if (agent->description)
        add_description(&line, agent->description, text_locale_is_utf8());
    else
        text_add_format(&line, "%-10s %-10s %14s %12s  %-*s %s", "-", "-", "-", "-", PROGRAM_COLUMNS, "-",
                        without[agent->reach]);
    puts(line.data);
    text_deinit(&line);
}

/* A process that uses a GPU without an agent. */
static void print_untraced(const struct candidate *candidate)
{
    struct text line = {0};
    text_add_format(&line, "%8d ", (int)candidate->pid);
    add_user(&line, candidate->user);
    text_add_format(&line, " %-10s %14s %12s  ", "-", "-", "-");
    text_add_column(&line, candidate->program, PROGRAM_COLUMNS, false, text_locale_is_utf8());
    text_add_format(&line, " no agent: cuspan attach %d", (int)candidate->pid);
    puts(line.data);
    text_deinit(&line);
}

static void print_table(const struct agents *agents, const struct candidates *candidates)
{
    printf("%8s %-10s %-10s %14s %12s  %-*s %s\n", "PID", "USER", "SINCE", "SPANS", "LOST", PROGRAM_COLUMNS,
           "PROGRAM", "STATE");
    for (size_t i = 0; i < agents->count; i++)
        print_agent(&agents->items[i]);
    for (size_t i = 0; i < candidates->count; i++)
        if (candidate_is_untraced(&candidates->items[i]))
            print_untraced(&candidates->items[i]);
}

static bool has_untraced(const struct candidates *candidates)
{
    for (size_t i = 0; i < candidates->count; i++)
        if (candidate_is_untraced(&candidates->items[i]))
            return true;
    return false;
}

static void print_json(const struct agents *agents)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < agents->count; i++)
        if (agents->items[i].description)
            cJSON_AddItemToArray(list, cJSON_Duplicate(agents->items[i].description, true));
    char *text = cJSON_PrintUnformatted(list);
    puts(text ? text : "[]");
    cJSON_free(text);
    cJSON_Delete(list);
}

int cmd_ps(const struct command *command, int argc, char **argv)
{
    struct agents_choice choice;
    struct agents agents;
    int status;
    if (!agents_options(&choice, command, argc, argv, &status))
        return status;
    agents_find(&agents, choice.folder);
    status = agents.count ? EXIT_OK : agents_complain_none(&agents, &choice);
    if (choice.is_json) {
        print_json(&agents);
    } else {
        struct candidates candidates;
        candidates_find(&candidates, candidates_user());
        if (agents.count || has_untraced(&candidates))
            print_table(&agents, &candidates);
        candidates_deinit(&candidates);
    }
    agents_deinit(&agents);
    return status;
}
