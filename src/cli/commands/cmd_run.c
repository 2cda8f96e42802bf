#include "cli/args/command_table.h"

#include "cli/run/command_root.h"
#include "cli/run/injection.h"
#include "cli/run/launch.h"
#include "cli/args/options.h"
#include "cli/run/outcome.h"

#include <string.h>

enum way { WAY_NONE, WAY_OTLP, WAY_FILE, WAY_CONSOLE };

/* Each of these options sets the only destination of spans, so two of them contradict each other. */
static int choose_way(enum way *chosen, enum way way, const struct options *options)
{
    if (*chosen != WAY_NONE && *chosen != way)
        return options_complain(options, "--endpoint, --file and --console exclude each other; several "
                                         "outputs need a configuration file (--config)");
    *chosen = way;
    return EXIT_OK;
}

static int take_output(struct injection *injection, enum way *way, const struct options *options, int option)
{
    int wrong;
    switch (option) {
    case OPTION_ENDPOINT:
        wrong = choose_way(way, WAY_OTLP, options);
        return wrong ? wrong : injection_set(injection, options, "endpoint", options->value);
    case OPTION_PROTOCOL:
        wrong = choose_way(way, WAY_OTLP, options);
        if (wrong || options_word(options, "protocol", "http/protobuf http/json grpc") < 0)
            return EXIT_USAGE;
        return injection_set(injection, options, "protocol", options->value);
    case OPTION_FILE:
        wrong = choose_way(way, WAY_FILE, options);
        return wrong ? wrong : injection_set_path(injection, options, "output_file", options->value);
    case OPTION_CONSOLE:
        wrong = choose_way(way, WAY_CONSOLE, options);
        return wrong ? wrong : injection_set(injection, options, "console", "true");
    case OPTION_SHARE:
    case OPTION_GIVE_WAY:
        return injection_set_others(injection, options, option == OPTION_SHARE ? "share" : "give-way");
    default:
        return injection_take_option(injection, options, option);
    }
}

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
    if (!injection->is_quiet && command_root_is_left_out(root) && outcome.processes == 0)
        fputs("cuspan: no spans: the sampler dropped this run\n", stderr);
    else if (!injection->is_quiet)
        outcome_print(&outcome, launched, stderr);
    outcome_deinit(&outcome);
}

static int run_program(struct injection *injection, char **program)
{
    struct error err = {""};
    enum status status = injection_prepare(injection, &err);
    if (status != STATUS_OK) {
        fprintf(stderr, "cuspan run: %s\n", err.text);
        injection_deinit(injection);
        return EXIT_USAGE;
    }
    /* Applied to this process and inherited by the child, because the library here reads the same settings
     * as the agents. */
    injection_apply(injection);
    struct command_root root;
    struct launched launched;
    command_root_begin(&root, injection, program);
    status = launch(program, NULL, NULL, &launched, &err);
    if (status != STATUS_OK) {
        fprintf(stderr, "cuspan run: %s\n", err.text);
        command_root_deinit(&root);
        injection_deinit(injection);
        return status == STATUS_NOT_FOUND ? EXIT_NO_PROGRAM : EXIT_CANNOT_RUN;
    }
    report_end(injection, &root, &launched);
    command_root_deinit(&root);
    injection_deinit(injection);
    return launch_end(launched.wait_status);
}

int cmd_run(int argc, char **argv)
{
    struct injection injection = {0};
    struct options options;
    enum way way = WAY_NONE;
    int option;
    options_init(&options, "run", argc, argv);
    while ((option = options_next(&options)) != OPTION_END) {
        int wrong = option == OPTION_WRONG || option == OPTION_HELP
                        ? options_exit_status(option)
                        : take_output(&injection, &way, &options, option);
        if (wrong || option == OPTION_HELP) {
            injection_deinit(&injection);
            return wrong;
        }
    }
    if (options.next >= argc) {
        injection_deinit(&injection);
        return options_complain(&options, "no program given");
    }
    return run_program(&injection, argv + options.next);
}
