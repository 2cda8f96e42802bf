#include "command/table/command_table.h"

#include "agent/operate/agents/agents.h"
#include "agent/operate/attach/attach.h"
#include "agent/operate/attach/candidates.h"
#include "agent/operate/run/injection.h"
#include "cli/util/text.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_MS 10000

struct command_attach {
    struct injection injection;
    struct text variables;
    const char *which, *user_name, *container, *folder;
    char *copied; /* the folder of the agent, for a container */
    bool is_all, is_all_users, has_settings, has_traced;
    uid_t user; /* of --all */
    uint32_t timeout_ms;
    bool has_late_driver, has_old_cupti, lacks_hooks, has_hooks;
};

/* --- options --- */

static int take(void *context, struct options *options, int option)
{
    struct command_attach *command = context;
    if (option != OPTION_OPERAND) {
        command->has_settings |= option != OPTION_LIBRARY && option != 'q';
        return injection_take_option(&command->injection, options, option);
    }
    if (command->which)
        return options_complain(options, "name only one PID or program, not also %s", options->value);
    command->which = options->value;
    return EXIT_OK;
}

static int choose_user(struct command_attach *command, const struct options *options)
{
    const struct passwd *entry = command->user_name ? getpwnam(command->user_name) : NULL;
    bool is_for_others = command->user_name || command->is_all_users;
    if (!command->is_all && is_for_others)
        return options_complain(options, "--user and --all-users need --all");
    if (is_for_others && geteuid() != 0)
        return options_complain(options, "only root can attach to processes of other users");
    if (command->user_name && !entry)
        return options_complain(options, "there is no user %s", command->user_name);
    command->user = command->is_all_users ? CANDIDATES_EVERY_USER : entry ? entry->pw_uid : geteuid();
    return EXIT_OK;
}

static int check(struct command_attach *command, const struct options *options)
{
    int status = injection_check_output(&command->injection, options);
    if (status == EXIT_OK)
        status = choose_user(command, options);
    const char *second = command->which ? command->which : "--container";
    int count = command->is_all + (command->which != NULL) + (command->container != NULL);
    if (status == EXIT_OK && count > 1)
        status = options_complain(options, "%s and %s exclude each other",
                                  command->is_all ? "--all" : "--container", second);
    if (status == EXIT_OK && count == 0)
        status = options_complain(options, "name a PID or program, or use --all (cuspan ps lists processes)");
    return status;
}

/* --- one process --- */

static void remember(struct command_attach *command, const struct attach_result *result)
{
    command->has_traced = true;
    command->has_late_driver |= !result->has_driver;
    command->lacks_hooks |= result->is_python && !result->has_hooks;
    command->has_hooks |= result->has_hooks;
    command->has_old_cupti |= result->has_graph_nodes;
}

static bool attach(struct command_attach *command, pid_t pid)
{
    const struct attach_request request = {.pid = pid,
                                           .library = command->copied ? "/" CONTAINER_FOLDER "/libcuspan.so"
                                                                      : command->injection.library,
                                           .copied = command->copied,
                                           .settings = command->variables.data ? command->variables.data : "",
                                           .timeout_ms = command->timeout_ms};
    char stopped[TEXT_NUMBER_BYTES], started[TEXT_NUMBER_BYTES];
    bool utf8 = text_locale_is_utf8();
    struct attach_result result;
    struct text title = {0};
    struct error err = {""};
    if (attach_process(&request, &result, &err) != STATUS_OK) {
        text_add_clean(&title, err.text, utf8);
        fprintf(stderr, "cuspan attach: %s\n", title.data);
        text_deinit(&title);
        return false;
    }
    text_add_clean(&title, result.program, utf8);
    text_duration(started, result.start_ns, utf8);
    if (result.thread)
        printf("%s (PID %d) is traced; its thread %d was stopped for %s, and the agent started in %s\n",
               title.data, (int)pid, (int)result.thread, text_duration(stopped, result.stopped_ns, utf8),
               started);
    else
        printf("%s (PID %d) is traced; Python loaded the agent, which started in %s\n", title.data, (int)pid,
               started);
    fflush(stdout);
    text_deinit(&title);
    remember(command, &result);
    return true;
}

/* A process with an agent. */
static bool start(const struct command_attach *command, const struct agent *agent)
{
    cJSON *answer = NULL;
    if (command->has_settings) {
        fprintf(stderr,
                "cuspan attach: %s has an agent already, whose settings cannot change; to trace with them: "
                "cuspan "
                "start %ld\n",
                agents_title(agent), agent->pid);
        return false;
    }
    enum reach reach = agents_ask(agent, "start", command->timeout_ms, &answer);
    bool is_well = reach == REACHED && !agents_say_failure(agent, answer, "start");
    if (is_well)
        printf("%s has an agent, and is traced%s\n", agents_title(agent),
               strcmp(agents_text(answer, "answer"), "done") == 0 ? " again" : " already");
    else if (reach != REACHED)
        agents_complain(agent, reach, command->timeout_ms);
    cJSON_Delete(answer);
    return is_well;
}

static bool attach_or_start(struct command_attach *command, const struct agents *agents, pid_t pid)
{
    for (size_t i = 0; i < agents->count; i++)
        if (agents->items[i].pid == pid && agents->items[i].description)
            return start(command, &agents->items[i]);
    return attach(command, pid);
}

/* --- choosing --- */

static bool is_meant(const struct command_attach *command, const struct candidate *candidate)
{
    if (command->container)
        return candidate_is_untraced(candidate) &&
               container_is_named("", candidate->container, command->container);
    if (command->is_all)
        return candidate_is_untraced(candidate);
    return strcmp(candidate->program, command->which) == 0;
}

/* Two containers, of which the user means one. */
static bool is_ambiguous(const struct command_attach *command, const struct candidates *candidates)
{
    const char *first = NULL;
    for (size_t i = 0; command->container && i < candidates->count; i++) {
        const char *id = candidates->items[i].container;
        if (!is_meant(command, &candidates->items[i]))
            continue;
        first = first ? first : id;
        if (strcmp(first, id) != 0) {
            fprintf(stderr,
                    "cuspan attach: several containers are named %s; name one by its ID: %.12s %.12s\n",
                    command->container, first, id);
            return true;
        }
    }
    return false;
}

static size_t print_several(const struct command_attach *command, const struct candidates *candidates)
{
    size_t count = 0;
    for (size_t i = 0; i < candidates->count; i++)
        count += is_meant(command, &candidates->items[i]);
    if (count < 2)
        return count;
    fprintf(stderr, "cuspan attach: %zu processes are named %s; name one by its PID:", count, command->which);
    for (size_t i = 0; i < candidates->count; i++)
        if (is_meant(command, &candidates->items[i]))
            fprintf(stderr, " %d", (int)candidates->items[i].pid);
    fputc('\n', stderr);
    return count;
}

static bool attach_to_candidates(struct command_attach *command, const struct agents *agents)
{
    struct candidates candidates;
    size_t count = 0;
    bool is_well = true;
    candidates_find(&candidates, command->is_all ? command->user : candidates_user());
    if (is_ambiguous(command, &candidates) || (command->which && print_several(command, &candidates) > 1)) {
        candidates_deinit(&candidates);
        return false;
    }
    for (size_t i = 0; i < candidates.count; i++)
        if (is_meant(command, &candidates.items[i])) {
            is_well &= attach_or_start(command, agents, candidates.items[i].pid);
            count++;
        }
    if (count == 0 && command->is_all)
        fputs("cuspan attach: no process of this user uses a GPU and has no agent (for root: --all-users)\n",
              stderr);
    else if (count == 0 && command->container)
        fprintf(stderr,
                "cuspan attach: no container %s has a process that uses a GPU and has no agent; on the host, "
                "root finds names of Docker and Kubernetes, and any ID\n",
                command->container);
    else if (count == 0)
        fprintf(stderr, "cuspan attach: no process is named %s; ps and nvidia-smi show PIDs\n",
                command->which);
    candidates_deinit(&candidates);
    return is_well && count > 0;
}

/* --- what is unknown --- */

static void print_unknown(const struct command_attach *command)
{
    if (!command->has_traced || command->injection.is_quiet)
        return;
    printf("unknown after an attach: CUDA graphs and memory from before, NVTX ranges, operations of NCCL%s\n",
           command->lacks_hooks
               ? ", and what needs Python's hooks: steps of PyTorch, requests of serving engines"
               : "");
    if (command->has_hooks)
        puts("Python loads its hooks when its main thread next runs Python; steps of PyTorch are known from "
             "then on");
    if (command->has_old_cupti)
        puts("CUPTI before 13.5: graphs have one span per node, because their own records are not safe to "
             "enable late");
    if (command->has_late_driver)
        puts("no CUDA driver is loaded yet: tracing starts with the first CUDA call");
}

static bool run(struct command_attach *command)
{
    struct agents agents;
    char *end = NULL;
    long pid = command->which ? strtol(command->which, &end, 10) : 0;
    agents_find(&agents, command->folder);
    bool is_well = pid > 0 && !*end ? attach_or_start(command, &agents, (pid_t)pid)
                                    : attach_to_candidates(command, &agents);
    agents_deinit(&agents);
    print_unknown(command);
    return is_well;
}

int cmd_attach(const struct command *self, int argc, char **argv)
{
    struct command_attach command = {.timeout_ms = TIMEOUT_MS};
    struct options options;
    struct error err = {""};
    const struct option_target targets[] = {
        {OPTION_ALL, .flag = &command.is_all},
        {OPTION_ALL_USERS, .flag = &command.is_all_users},
        {OPTION_USER, .text = &command.user_name},
        {OPTION_CONTAINER, .text = &command.container},
        {OPTION_DIRECTORY, .text = &command.folder},
        {OPTION_TIMEOUT, .number = &command.timeout_ms, .min = 1, .max = AGENTS_TIMEOUT_MS_MAX},
        {0}};
    options_init(&options, self, argc, argv);
    bool is_read = options_read(&options, targets, take, &command);
    int status = is_read ? check(&command, &options) : options.status;
    if (is_read && status == EXIT_OK) {
        status = EXIT_FAILED;
        if (injection_prepare_attach(&command.injection, &command.variables, &err) != STATUS_OK)
            fprintf(stderr, "cuspan attach: %s\n", err.text);
        else {
            command.copied = command.container ? injection_path_beside(&command.injection, "") : NULL;
            status = run(&command) ? EXIT_OK : EXIT_FAILED;
        }
    }
    injection_deinit(&command.injection);
    text_deinit(&command.variables);
    free(command.copied);
    return status;
}
