#include "agent/operate/agents/agents.h"

#include <stdlib.h>
#include <string.h>

int agents_take_operand(void *context, struct options *options, int option)
{
    struct agents_choice *choice = context;
    if (choice->which)
        return options_complain(options, "name only one PID or program, not also %s", options->value);
    choice->which = options->value;
    return EXIT_OK;
}

bool agents_options(struct agents_choice *choice, const struct command *command, int argc, char **argv,
                    int *status)
{
    struct options options;
    const struct option_target targets[] = {
        {OPTION_ALL, .flag = &choice->is_all},
        {OPTION_RELEASE, .flag = &choice->is_release},
        {OPTION_JSON, .flag = &choice->is_json},
        {OPTION_DIRECTORY, .text = &choice->folder},
        {OPTION_TIMEOUT, .number = &choice->timeout_ms, .min = 0, .max = AGENTS_TIMEOUT_MS_MAX},
        {0}};
    *choice = (struct agents_choice){.timeout_ms = AGENTS_TIMEOUT_MS};
    options_init(&options, command, argc, argv);
    bool is_complete = options_read(&options, targets, agents_take_operand, choice);
    *status = options.status;
    if (is_complete && choice->is_all && choice->which) {
        *status = options_complain(&options, "--all and %s exclude each other", choice->which);
        return false;
    }
    return is_complete;
}

bool agents_matches(const struct agents_choice *choice, const struct agent *agent)
{
    char *end;
    if (!choice->which)
        return true;
    long pid = strtol(choice->which, &end, 10);
    if (!*end)
        return agent->pid == pid;
    return strcmp(agents_text(agent->description, "program"), choice->which) == 0;
}

int agents_complain_none(const struct agents *agents, const struct agents_choice *choice)
{
    if (choice->which && agents->count > 0)
        fprintf(stderr, "cuspan: no agent runs in %s; cuspan ps lists all agents\n", choice->which);
    else
        fputs("cuspan: no agent found. A program has an agent if it was started by `cuspan run`, or with "
              "CUDA_INJECTION64_PATH=.../libcuspan.so in its environment, and has made a CUDA call. "
              "`cuspan attach PID` loads it into a running process; a program built with cuspan.h can load "
              "it itself\n",
              stderr);
    return EXIT_FAILED;
}

void agents_complain(const struct agent *agent, enum reach reach, uint32_t timeout_ms)
{
    if (reach == REACH_GONE)
        fprintf(stderr, "cuspan: %s has ended\n", agents_title(agent));
    else if (reach == REACH_REFUSED)
        fprintf(stderr, "cuspan: %s: not permitted: only its own user and root can access it\n",
                agents_title(agent));
    else
        fprintf(stderr,
                "cuspan: %s: no answer within %u ms; it may be busy inside CUPTI, or stopped, and answer "
                "later (--timeout MS waits longer)\n",
                agents_title(agent), (unsigned)timeout_ms);
}

/* --- start, stop, flush --- */

#define GRACE_MS 2000 /* for an agent to answer that its time has passed */

static bool ask_one(const struct agent *agent, const char *verb, uint32_t timeout_ms,
                    bool (*say)(const struct agent *, const cJSON *, uint32_t))
{
    char request[64];
    cJSON *answer = NULL;
    snprintf(request, sizeof request, "%s %u", verb, (unsigned)timeout_ms);
    enum reach reach = agent->reach;
    if (reach == REACHED || reach == REACH_SILENT)
        reach = agents_ask(agent, request, timeout_ms + GRACE_MS, &answer);
    bool is_well = reach == REACHED && say(agent, answer, timeout_ms);
    if (reach != REACHED)
        agents_complain(agent, reach, timeout_ms);
    cJSON_Delete(answer);
    return is_well;
}

static size_t count_meant(const struct agents *agents, const struct agents_choice *choice)
{
    size_t count = 0;
    for (size_t i = 0; i < agents->count; i++)
        count += agents_matches(choice, &agents->items[i]);
    return count;
}

static int ask_all(const struct agents *agents, const struct agents_choice *choice, const char *verb,
                   bool (*say)(const struct agent *, const cJSON *, uint32_t))
{
    bool is_well = true;
    size_t meant = count_meant(agents, choice);
    if (meant == 0)
        return agents_complain_none(agents, choice);
    if (meant > 1 && !choice->which && !choice->is_all) {
        fprintf(stderr,
                "cuspan: %zu agents run: name one by PID or program (cuspan ps lists them), or use --all\n",
                meant);
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < agents->count; i++)
        if (agents_matches(choice, &agents->items[i]))
            is_well &= ask_one(&agents->items[i], verb, choice->timeout_ms, say);
    return is_well ? EXIT_OK : EXIT_FAILED;
}

int agents_command(const struct command *command, int argc, char **argv, const char *verb,
                   bool (*say)(const struct agent *agent, const cJSON *answer, uint32_t timeout_ms))
{
    struct agents_choice choice;
    struct agents agents;
    int status;
    if (!agents_options(&choice, command, argc, argv, &status))
        return status;
    agents_find(&agents, choice.folder);
    status = ask_all(&agents, &choice, choice.is_release ? "release" : verb, say);
    agents_deinit(&agents);
    return status;
}

bool agents_say_failure(const struct agent *agent, const cJSON *answer, const char *verb)
{
    struct text why = {0};
    const char *given = agents_text(answer, "why");
    if (strcmp(agents_text(answer, "answer"), "failed") != 0)
        return false;
    text_add_clean(&why, *given ? given : "it gives no reason", text_locale_is_utf8());
    fprintf(stderr, "cuspan: %s: %s failed: %s\n", agents_title(agent), verb, why.data);
    text_deinit(&why);
    return true;
}
