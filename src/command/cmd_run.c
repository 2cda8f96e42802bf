#include "command/table/command_table.h"

#include "base/log/log.h"
#include "agent/operate/run/command_root.h"
#include "agent/operate/run/injection.h"
#include "agent/operate/run/launch.h"
#include "cli/args/options.h"
#include "agent/operate/run/outcome.h"

#include <string.h>

/* Reports the outcome, after the root span has been sent. */
static void report_end(const struct injection *injection, struct command_root *root,
                       const struct launched *launched)
{
    struct outcome outcome;
    outcome_read(&outcome, injection->report_dir);
    root->root.pid = launched->pid;
    root->root.wait_status = launched->wait_status;
    root->root.start_ns = launched->start_ns;
    root->root.end_ns = launched->end_ns;
    command_root_end(root, injection, &outcome);
    bool is_quiet = injection->is_quiet || !injection->report_dir;
    if (!is_quiet && command_root_is_left_out(root) && outcome.processes == 0)
        fputs("cuspan: no spans: the sampler dropped this run\n", stderr);
    else if (!is_quiet)
        outcome_print(&outcome, launched, stderr);
    outcome_deinit(&outcome);
}

/* EXIT_OK: the program has ended, as `launched` tells. */
static int run_program(struct injection *injection, char **program, struct launched *launched)
{
    struct error err = {""};
    struct command_root root = {0};
    int result = EXIT_USAGE;
    enum status status = injection_prepare(injection, &err);
    bool is_untraced = status == STATUS_NOT_FOUND && injection_has_no_library(injection);
    if (is_untraced) {
        log_warn("%s; the program runs untraced", err.text);
    } else if (status == STATUS_OK) {
        /* Applied to this process and inherited by the child, because the library here reads the same
         * settings as the agents. */
        injection_apply(injection);
        command_root_begin(&root, injection, program);
    }
    if (status == STATUS_OK || is_untraced) {
        status = launch(program, NULL, NULL, launched, &err);
        result = launch_exit_code(status);
    }
    if (status != STATUS_OK)
        fprintf(stderr, "cuspan run: %s\n", err.text);
    else if (!is_untraced)
        report_end(injection, &root, launched);
    command_root_deinit(&root);
    return result;
}

int cmd_run(const struct command *command, int argc, char **argv)
{
    struct injection injection = {0};
    struct options options;
    struct launched launched;
    options_init(&options, command, argc, argv);
    if (!options_read(&options, NULL, injection_take_option, &injection)) {
        injection_deinit(&injection);
        return options.status;
    }
    int result = injection_check_output(&injection, &options);
    if (result == EXIT_OK && options.next >= argc)
        result = options_complain(&options, "no program given");
    if (result == EXIT_OK)
        result = run_program(&injection, argv + options.next, &launched);
    injection_deinit(&injection);
    return result == EXIT_OK ? launch_end(launched.wait_status) : result;
}
