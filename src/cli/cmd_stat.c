#include "cli/commands.h"

#include "cli/options.h"
#include "cli/otlp_reader.h"
#include "cli/source.h"
#include "cli/stat/print.h"
#include "cli/stat/stat.h"
#include "cli/terminal.h"
#include "cli/text.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#define MAX_SPANS_DEFAULT 5000000
#define TOP_DEFAULT       20

struct command_line {
    const char *path;
    const char *table; /* the only one to print, or NULL */
    enum stat_format format;
    long columns; /* 0: the terminal's */
    long top;     /* rows of a table; 0: all */
    int color;    /* enum color_when */
    long spans_max;
};

static int take_operand(struct command_line *line, const struct options *options)
{
    if (line->path)
        return options_complain(options, "one file at a time: %s or %s", line->path, options->value);
    line->path = options->value;
    return EXIT_OK;
}

static int take_option(struct command_line *line, const struct options *options, int option)
{
    bool is_right = true;
    switch (option) {
    case OPTION_OPERAND:
        return take_operand(line, options);
    case OPTION_JSON:
        line->format = STAT_FORMAT_JSON;
        break;
    case OPTION_CSV:
        line->format = STAT_FORMAT_CSV;
        break;
    case OPTION_MARKDOWN:
        line->format = STAT_FORMAT_MARKDOWN;
        break;
    case OPTION_TABLE:
        line->table = options->value;
        break;
    case OPTION_TOP:
        is_right = options_number(options, "top", 0, INT_MAX, &line->top);
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

static void compute(const struct stat *stat, struct stat_report *report)
{
    stat_headline(stat, report);
    stat_calls(stat, report);
    stat_kernels(stat, report);
    stat_copies(stat, report);
    stat_devices(stat, report);
    stat_latency(stat, report);
    stat_own(stat, report);
}

/* Leaves the one that was asked for; its number, or 0 with a complaint. */
static size_t keep_only(struct stat_report *report, const char *key)
{
    for (size_t i = 0; i < report->count; i++) {
        if (strcmp(report->tables[i].key, key) != 0)
            continue;
        struct stat_table wanted = report->tables[i];
        report->tables[i] = report->tables[0];
        report->tables[0] = wanted;
        while (report->count > 1)
            stat_table_deinit(&report->tables[--report->count]);
        return 1;
    }
    fprintf(stderr, "cuspan stat: no table \"%s\"; there are:", key);
    for (size_t i = 0; i < report->count; i++)
        fprintf(stderr, " %s", report->tables[i].key);
    fputc('\n', stderr);
    return 0;
}

/* What goes into a pipe or a file has no width. */
static size_t columns_of(const struct command_line *line)
{
    if (line->columns)
        return (size_t)line->columns;
    return isatty(STDOUT_FILENO) ? terminal_columns(STDOUT_FILENO) : TERMINAL_COLUMNS_MAX;
}

static int print(const struct command_line *line, const struct trace *trace)
{
    struct stat stat;
    struct stat_report report = {.count = 0};
    struct stat_look look = {
        .columns = columns_of(line),
        .color = terminal_wants_color((enum color_when)line->color, STDOUT_FILENO),
        .utf8 = text_locale_is_utf8(),
    };
    stat_init(&stat, trace);
    compute(&stat, &report);
    int status = line->table && !keep_only(&report, line->table) ? EXIT_USAGE : EXIT_OK;
    for (size_t i = 0; i < report.count; i++)
        stat_table_keep(&report.tables[i], (size_t)line->top);
    if (status == EXIT_OK)
        stat_print(stdout, &report, line->format, &look);
    if (trace->left_out)
        fprintf(stderr, "cuspan stat: %zu spans of the file are not counted: read more with --max-spans\n",
                trace->left_out);
    stat_report_deinit(&report);
    stat_deinit(&stat);
    return status;
}

static int read_and_print(const struct command_line *line)
{
    struct error err = {""};
    struct trace trace;
    FILE *file = NULL;
    const char *name = strcmp(line->path, "-") == 0 ? "standard input" : line->path;
    enum status status = source_open(line->path, &file, &err);
    if (status == STATUS_OK) {
        status = otlp_read_all(file, name, (size_t)line->spans_max, &trace, &err);
        fclose(file);
    }
    if (status != STATUS_OK) {
        fprintf(stderr, "cuspan stat: %s\n", err.text);
        return EXIT_FAILED;
    }
    int result = print(line, &trace);
    trace_deinit(&trace);
    return result;
}

int cmd_stat(int argc, char **argv)
{
    struct command_line line = {.spans_max = MAX_SPANS_DEFAULT, .top = TOP_DEFAULT};
    struct options options;
    int option;
    options_init(&options, "stat", argc, argv);
    while ((option = options_next(&options)) != OPTION_END) {
        if (option == OPTION_WRONG || option == OPTION_HELP)
            return options_exit_status(option);
        int wrong = take_option(&line, &options, option);
        if (wrong)
            return wrong;
    }
    if (!line.path)
        return options_complain(&options, "which file? (\"-\": standard input)");
    return read_and_print(&line);
}
