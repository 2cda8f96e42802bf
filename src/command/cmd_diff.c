#include "command/table/command_table.h"

#include "analysis/diff/diff.h"
#include "cli/util/xalloc.h"
#include "cli/args/options.h"
#include "analysis/stat/stat_print.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* As in diff(1): 1 is a difference, 2 is an error. */
enum { EXIT_REGRESSION = EXIT_FAILED, EXIT_TROUBLE = EXIT_USAGE };

struct command_line {
    struct run_set sides[SIDE_COUNT];
    struct diff_limits limits;
    const char *limits_path; /* or NULL */
    struct operand {
        const char *path;
        enum side side;
    } * operands;
    size_t operand_count;
    enum side side; /* the list that receives operands, once --base or --new was given */
    bool is_named;  /* --base or --new was given */
    struct stat_style style;
    bool with_all;
    int code_by; /* enum stat_code_by */
};

static int take_file(struct command_line *line, const struct options *options)
{
    if (!line->is_named && line->operand_count == SIDE_COUNT)
        return options_complain(options, "a third file:  %s (several runs: --base A1 A2 --new B1 B2)",
                                options->value);
    enum side side = line->is_named ? line->side : (enum side)line->operand_count;
    line->operands[line->operand_count++] = (struct operand){options->value, side};
    return EXIT_OK;
}

static int take_side(struct command_line *line, const struct options *options, enum side side)
{
    if (!line->is_named && line->operand_count)
        return options_complain(options, "name both sides: --base A1 A2 --new B1 B2");
    line->is_named = true;
    line->side = side;
    return take_file(line, options);
}

static int take_option(void *context, struct options *options, int option)
{
    if (option == OPTION_OPERAND)
        return take_file(context, options);
    return take_side(context, options, option == OPTION_BASE ? SIDE_BASE : SIDE_NEW);
}

static void warn(const struct command_line *line)
{
    const char *base = line->sides[SIDE_BASE].gpus, *new = line->sides[SIDE_NEW].gpus;
    if (base && new &&strcmp(base, new) != 0)
        fprintf(stderr, "cuspan diff: different GPUs: %s, and %s\n", base, new);
}

static int compare(struct command_line *line)
{
    struct diff diff;
    struct stat_report report = {.count = 0};
    run_set_sort(&line->sides[SIDE_BASE]);
    run_set_sort(&line->sides[SIDE_NEW]);
    warn(line);
    diff_init(&diff, &line->sides[SIDE_BASE], &line->sides[SIDE_NEW], &line->limits);
    size_t bad = diff_report(&diff, line->with_all, &report);
    diff_code_report(line->sides, (enum stat_code_by)line->code_by, line->with_all, &report);
    stat_print(stdout, &report, &line->style);
    stat_report_deinit(&report);
    diff_deinit(&diff);
    return bad ? EXIT_REGRESSION : EXIT_OK;
}

static int read_files(struct command_line *line)
{
    struct error err = {""};
    enum status status =
        line->limits_path ? diff_limits_read(&line->limits, line->limits_path, &err) : STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < line->operand_count; i++) {
        const struct operand *operand = &line->operands[i];
        status = run_set_add_path(&line->sides[operand->side], operand->path, "diff", &err);
    }
    if (status == STATUS_OK)
        return EXIT_OK;
    fprintf(stderr, "cuspan diff: %s\n", err.text);
    return EXIT_TROUBLE;
}

static bool has_side(const struct command_line *line, enum side side)
{
    for (size_t i = 0; i < line->operand_count; i++) {
        if (line->operands[i].side == side)
            return true;
    }
    return false;
}

static int read_and_compare(struct command_line *line, const struct command *command, int argc, char **argv)
{
    struct options options;
    const struct option_target targets[] = {STAT_STYLE_TARGETS(&line->style),
                                            {OPTION_ALL, .flag = &line->with_all},
                                            {OPTION_BY, .choice = &line->code_by},
                                            {OPTION_LIMITS, .text = &line->limits_path},
                                            {0}};
    options_init(&options, command, argc, argv);
    if (!options_read(&options, targets, take_option, line))
        return options.status;
    if (!has_side(line, SIDE_BASE) || !has_side(line, SIDE_NEW))
        return options_complain(&options, "name two operands: cuspan diff BASE NEW");
    int trouble = read_files(line);
    return trouble ? trouble : compare(line);
}

int cmd_diff(const struct command *command, int argc, char **argv)
{
    struct command_line line = {.side = SIDE_BASE};
    line.operands = xcalloc((size_t)argc + 1, sizeof *line.operands);
    diff_limits_init(&line.limits);
    int result = read_and_compare(&line, command, argc, argv);
    diff_limits_deinit(&line.limits);
    free(line.operands);
    for (size_t s = 0; s < SIDE_COUNT; s++)
        run_set_deinit(&line.sides[s]);
    return result;
}
