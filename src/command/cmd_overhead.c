#include "command/table/command_table.h"

#include "agent/operate/run/injection.h"
#include "agent/operate/run/launch.h"
#include "cli/args/options.h"
#include "command/overhead/overhead.h"
#include "analysis/stat/stat_print.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_DEFAULT  10
#define WARM_UP_DEFAULT 1

struct command_line {
    struct overhead_options options;
    struct injection injection;
    struct stat_style style;
    bool has_levels; /* named by the user */
};

/* LEVEL_COUNT: no level has this name. */
static enum overhead_level level_of(const char *word, size_t length)
{
    enum overhead_level level = LEVEL_NONE;
    for (; level < LEVEL_COUNT; level++) {
        const char *name = overhead_level_name(level);
        if (strlen(name) == length && strncmp(name, word, length) == 0)
            break;
    }
    return level;
}

static int take_levels(struct command_line *line, const struct options *options)
{
    memset(line->options.is_wanted, 0, sizeof line->options.is_wanted);
    line->options.is_wanted[LEVEL_NONE] = line->has_levels = true;
    for (const char *word = options->value; *word;) {
        size_t length = strcspn(word, ",");
        enum overhead_level level = level_of(word, length);
        if (level == LEVEL_COUNT)
            return options_complain(options,
                                    "--levels needs some of none, asleep, summary, default, graph-nodes, "
                                    "full and counters, separated by commas; not \"%.*s\"",
                                    (int)length, word);
        line->options.is_wanted[level] = true;
        word += length + (word[length] == ',');
    }
    return EXIT_OK;
}

static int take_figure(struct command_line *line, const struct options *options)
{
    char why[128];
    if (line->options.has_figure)
        return options_complain(options, "use only one --figure");
    int wrong = regcomp(&line->options.figure, options->value, REG_EXTENDED | REG_NEWLINE);
    if (wrong) {
        regerror(wrong, &line->options.figure, why, sizeof why);
        return options_complain(options, "--figure %s: %s", options->value, why);
    }
    line->options.has_figure = true;
    if (line->options.figure.re_nsub < 1)
        return options_complain(options,
                                "--figure needs the number in parentheses, as in \"step ([0-9.]+) ms\"");
    return EXIT_OK;
}

static int take_option(void *context, struct options *options, int option)
{
    struct command_line *line = context;
    if (option == OPTION_LEVELS)
        return take_levels(line, options);
    if (option == OPTION_FIGURE)
        return take_figure(line, options);
    return injection_take_option(&line->injection, options, option);
}

/* The sampler of a configuration file cannot be overridden from outside. */
static int check_asleep(struct command_line *line, const struct options *options)
{
    const struct injection *injection = &line->injection;
    const char *file = injection->config ? injection->config : getenv("CUSPAN_CONFIG_FILE");
    file = file && *file ? file : getenv("OTEL_CONFIG_FILE");
    if (!file || !*file || !line->options.is_wanted[LEVEL_ASLEEP])
        return EXIT_OK;
    if (line->has_levels)
        return options_complain(
            options, "asleep needs the sampler always_off, but %s sets the sampler: omit one of them", file);
    line->options.is_wanted[LEVEL_ASLEEP] = false;
    if (!injection->is_quiet)
        fprintf(stderr, "cuspan overhead: skipping asleep, because %s sets the sampler\n", file);
    return EXIT_OK;
}

static void print(const struct command_line *line, const struct overhead *overhead)
{
    struct stat_report report = {.count = 0};
    overhead_tables(overhead, line->style.format != STAT_FORMAT_JSON, &report);
    stat_print(stdout, &report, &line->style);
    stat_report_deinit(&report);
}

/* Without an agent, the program is equally fast under each level, which means nothing. */
static bool warn_of_no_agent(const struct overhead *overhead)
{
    bool has_agent = false, has_runs = false;
    for (size_t i = 0; i < overhead->count; i++) {
        has_agent |= overhead->runs[i].has_agent;
        has_runs |= overhead->runs[i].level != LEVEL_NONE;
    }
    if (has_runs && !has_agent)
        fputs("cuspan overhead: the agent was never started: the program makes no CUDA call, or cannot be "
              "traced (cuspan doctor -- PROGRAM explains why)\n",
              stderr);
    return has_runs && !has_agent;
}

static int measure(struct command_line *line, char **program)
{
    struct injection *injection = &line->injection;
    struct error err = {""};
    struct overhead overhead = {.options = line->options};
    enum status status = injection_prepare(injection, &err);
    int result = status == STATUS_OK ? EXIT_OK : EXIT_USAGE;
    if (status == STATUS_OK && injection->tool) {
        status = error_set(&err, STATUS_UNAVAILABLE,
                           "the program runs under one of NVIDIA's tools, so there is nothing to measure");
        result = EXIT_FAILED;
    } else if (status == STATUS_OK && !injection->report_dir) {
        status = error_set(&err, STATUS_IO,
                           "the agents' reports, which have the costs, need a folder that can be written");
        result = EXIT_FAILED;
    } else if (status == STATUS_OK) {
        status = overhead_measure(&overhead, injection, program, &err);
        result = status == STATUS_NOT_FOUND || status == STATUS_UNAVAILABLE ? launch_exit_code(status)
                 : status == STATUS_OK                                      ? EXIT_OK
                                                                            : EXIT_FAILED;
    }
    if (status != STATUS_OK)
        fprintf(stderr, "cuspan overhead: %s\n", err.text);
    else
        print(line, &overhead);
    for (int level = 0; level < LEVEL_COUNT && result == EXIT_OK; level++)
        result = overhead.failure[level] ? EXIT_FAILED : EXIT_OK;
    if (result == EXIT_OK && (overhead.is_interrupted || warn_of_no_agent(&overhead)))
        result = EXIT_FAILED;
    overhead_deinit(&overhead);
    return result;
}

static int check_and_measure(struct command_line *line, const struct options *options, char **program)
{
    struct injection *injection = &line->injection;
    if (line->options.is_rate && !line->options.has_figure)
        return options_complain(options, "--rate needs --figure");
    int wrong = check_asleep(line, options);
    if (!wrong && !injection->has_endpoint && !injection->config)
        wrong = injection_set(injection, options, "output_file", "/dev/null");
    if (wrong)
        return wrong;
    line->options.is_quiet = injection->is_quiet;
    return measure(line, program);
}

int cmd_overhead(const struct command *command, int argc, char **argv)
{
    struct command_line line = {.options = {.rounds = ROUNDS_DEFAULT, .warm_up = WARM_UP_DEFAULT}};
    struct options options;
    const struct option_target targets[] = {
        STAT_STYLE_TARGETS(&line.style),
        {OPTION_ROUNDS, .number = &line.options.rounds, .min = 1, .max = ESTIMATE_VALUES_MAX},
        {OPTION_WARM_UP, .number = &line.options.warm_up, .min = 0, .max = ESTIMATE_VALUES_MAX},
        {OPTION_SECONDS, .number = &line.options.seconds_max, .min = 1, .max = INT_MAX},
        {OPTION_RATE, .flag = &line.options.is_rate},
        {0}};
    int status;
    for (int level = 0; level < LEVEL_COUNT; level++)
        line.options.is_wanted[level] = level != LEVEL_COUNTERS;
    options_init(&options, command, argc, argv);
    if (!options_read(&options, targets, take_option, &line))
        status = options.status;
    else if (options.next >= argc)
        status = options_complain(&options, "name the program to run");
    else
        status = check_and_measure(&line, &options, argv + options.next);
    if (line.options.has_figure)
        regfree(&line.options.figure);
    injection_deinit(&line.injection);
    return status;
}
