#include "cli/args/command_table.h"

#include "cli/diff/diff.h"
#include "cli/util/xalloc.h"
#include "cli/args/options.h"
#include "cli/stat/stat_print.h"
#include "cli/util/terminal.h"
#include "cli/util/text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_SPANS_DEFAULT 5000000

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
    enum side side;  /* the list that receives operands, once --base or --new was given */
    bool is_named;   /* --base or --new was given */
    size_t left_out; /* spans */
    long spans_max;
    long columns; /* 0: the terminal's */
    int color;    /* enum color_when */
    enum stat_format format;
    bool with_all;
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

static int take_look(struct command_line *line, const struct options *options, int option)
{
    bool is_right = true;
    switch (option) {
    case OPTION_JSON:
        line->format = STAT_FORMAT_JSON;
        break;
    case OPTION_CSV:
        line->format = STAT_FORMAT_CSV;
        break;
    case OPTION_MARKDOWN:
        line->format = STAT_FORMAT_MARKDOWN;
        break;
    case OPTION_ALL:
        line->with_all = true;
        break;
    case OPTION_WIDTH:
        is_right =
            options_number(options, "width", TERMINAL_COLUMNS_MIN, TERMINAL_COLUMNS_MAX, &line->columns);
        break;
    case OPTION_COLOR:
        line->color = options_word(options, "color", "auto always never");
        is_right = line->color >= 0;
        break;
    case OPTION_MAX_SPANS:
        is_right = options_number(options, "max-spans", 1, INT_MAX, &line->spans_max);
        break;
    }
    return is_right ? EXIT_OK : EXIT_USAGE;
}

static int take_option(struct command_line *line, const struct options *options, int option)
{
    switch (option) {
    case OPTION_OPERAND:
        return take_file(line, options);
    case OPTION_BASE:
        return take_side(line, options, SIDE_BASE);
    case OPTION_NEW:
        return take_side(line, options, SIDE_NEW);
    case OPTION_LIMITS:
        line->limits_path = options->value;
        return EXIT_OK;
    default:
        return take_look(line, options, option);
    }
}

static void warn(const struct command_line *line)
{
    const char *base = line->sides[SIDE_BASE].gpus, *new = line->sides[SIDE_NEW].gpus;
    if (line->left_out)
        fprintf(stderr, "cuspan diff: %zu spans are not compared; raise --max-spans\n", line->left_out);
    if (base && new &&strcmp(base, new) != 0)
        fprintf(stderr, "cuspan diff: different GPUs: %s, and %s\n", base, new);
}

static int compare(struct command_line *line)
{
    struct diff diff;
    struct stat_report report = {.count = 0};
    size_t columns = isatty(STDOUT_FILENO) ? terminal_columns(STDOUT_FILENO) : TERMINAL_COLUMNS_MAX;
    struct stat_look look = {
        .columns = line->columns ? (size_t)line->columns : columns,
        .color = terminal_wants_color((enum color_when)line->color, STDOUT_FILENO),
        .utf8 = text_locale_is_utf8(),
    };
    run_set_sort(&line->sides[SIDE_BASE]);
    run_set_sort(&line->sides[SIDE_NEW]);
    warn(line);
    diff_init(&diff, &line->sides[SIDE_BASE], &line->sides[SIDE_NEW], &line->limits);
    size_t bad = diff_report(&diff, line->with_all, &report);
    stat_print(stdout, &report, line->format, &look);
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
        status = run_set_add_path(&line->sides[operand->side], operand->path, (size_t)line->spans_max,
                                  &line->left_out, &err);
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

static int read_and_compare(struct command_line *line, int argc, char **argv)
{
    struct options options;
    int option;
    options_init(&options, "diff", argc, argv);
    while ((option = options_next(&options)) != OPTION_END) {
        if (option == OPTION_WRONG || option == OPTION_HELP)
            return options_exit_status(option);
        int wrong = take_option(line, &options, option);
        if (wrong)
            return wrong;
    }
    if (!has_side(line, SIDE_BASE) || !has_side(line, SIDE_NEW))
        return options_complain(&options, "name two operands: cuspan diff BASE NEW");
    int trouble = read_files(line);
    return trouble ? trouble : compare(line);
}

int cmd_diff(int argc, char **argv)
{
    struct command_line line = {.spans_max = MAX_SPANS_DEFAULT};
    line.operands = xcalloc((size_t)argc + 1, sizeof *line.operands);
    diff_limits_init(&line.limits);
    int result = read_and_compare(&line, argc, argv);
    diff_limits_deinit(&line.limits);
    free(line.operands);
    for (size_t s = 0; s < SIDE_COUNT; s++)
        run_set_deinit(&line.sides[s]);
    return result;
}
