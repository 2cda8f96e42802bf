#include "command/table/command_table.h"

#include "command/table/table_text.h"
#include "cli/args/options.h"

#include "agent/config/config.h"

#include "model/metrics/metrics.h"

#include <stdio.h>
#include <string.h>

/* Variables of settings are in the table of settings: see `cuspan help settings`. */
static void print_environment(void)
{
    static const struct {
        const char *name, *text;
    } variables[] = {
        {"CUDA_INJECTION64_PATH", "libcuspan.so: the CUDA driver loads it; `cuspan run` sets it"},
        {"NVTX_INJECTION64_PATH", "the same file: NVTX loads it, for ranges and marks; `cuspan run` sets it"},
        {"NCCL_PROFILER_PLUGIN",
         "the same file: NCCL loads it, for datatypes and algorithms of collectives; `cuspan "
         "run` sets it unless it is set"},
        {"PYTHONPATH", "python.zip beside libcuspan.so: Python finds the steps of PyTorch's training loops; "
                       "`cuspan run` adds it"},
        {"CUSPAN_CONFIG_FILE", "the configuration file for cuspan only; overrides OTEL_CONFIG_FILE"},
        {"OTEL_CONFIG_FILE", "the configuration file, as OpenTelemetry's SDKs read it"},
        {"CUSPAN_SET", "key=value, separated by ';' or newlines: settings that override all others; `cuspan "
                       "run --set` adds to it"},
        {"OTEL_*", "without a file: as in the specification (cuspan help settings)"},
        {"TRACEPARENT, TRACESTATE",
         "the parent of the program's work; `cuspan run` sets them unless they are set"},
        {"CUSPAN_LIBRARY", "for the command line: the libcuspan.so to use"},
        {"NO_COLOR, COLUMNS, LC_ALL",
         "for the command line: no colors, columns of the picture, its characters"},
    };
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        printf("%s\n    %s\n", variables[i].name, variables[i].text);
}

static int print_topic(const struct options *options)
{
    const char *topic = options->value;
    const struct command *command = command_find(topic);
    if (command)
        help_print_command(stdout, command);
    else if (strcmp(topic, "settings") == 0)
        config_print_settings(stdout);
    else if (strcmp(topic, "environment") == 0)
        print_environment();
    else if (strcmp(topic, "metrics") == 0)
        metrics_print(stdout);
    else
        return options_complain(
            options, "no help on \"%s\"; there is help on each command, settings, metrics and environment",
            topic);
    return EXIT_OK;
}

static int print_man(const struct options *options)
{
    const struct command *command = command_find(options->value);
    if (!command && strcmp(options->value, "cuspan") != 0)
        return options_complain(options, "no command \"%s\"", options->value);
    man_print(stdout, command);
    return EXIT_OK;
}

static int print_one(const struct options *options, int option)
{
    if (option == OPTION_OPERAND)
        return print_topic(options);
    if (option == OPTION_MAN)
        return print_man(options);
    fputs(completion_scripts[options->word], stdout);
    return EXIT_OK;
}

int cmd_help(const struct command *command, int argc, char **argv)
{
    struct options options;
    options_init(&options, command, argc, argv);
    int option = options_next(&options);
    if (option == OPTION_HELP || option == OPTION_WRONG)
        return option == OPTION_HELP ? EXIT_OK : EXIT_USAGE;
    if (option == OPTION_CANDIDATES) {
        completion_print_candidates(stdout, argc - options.next, argv + options.next);
        return EXIT_OK;
    }
    if (options.next < argc)
        return options_complain(&options, "one topic at a time, not also %s", argv[options.next]);
    if (option != OPTION_END)
        return print_one(&options, option);
    overview_print(stdout);
    return EXIT_OK;
}
