#include "cli/args/command_table.h"

#include "base/files.h"
#include "cli/diff/runs.h"
#include "cli/run/traced_program.h"
#include "cli/util/xalloc.h"
#include "cli/args/options.h"
#include "cli/trace/otlp_reader.h"
#include "cli/trace/trace_source.h"
#include "cli/sqlite/sqlite.h"
#include "cli/stat/by.h"
#include "cli/stat/tables/places.h"
#include "cli/stat/stat_print.h"
#include "cli/stat/stat.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_SPANS_DEFAULT 5000000
#define TOP_DEFAULT       20

struct command_line {
    const char **paths;
    size_t path_count;
    char **program; /* the program to run, with its arguments; NULL: read files */
    struct traced_program live;
    FILE *out;
    const char *output; /* destination of the tables, or NULL */
    const char *save;   /* baseline to write, or NULL */
    const char *sqlite; /* database to write, or NULL */
    const char *table;  /* the only table to print, or NULL */
    struct stat_style style;
    uint32_t top; /* rows per table; 0: all */
    int by;       /* enum stat_by */
    uint32_t spans_max;
};

static int take_option(void *context, struct options *options, int option)
{
    struct command_line *line = context;
    if (option == OPTION_FINDINGS)
        line->table = "findings";
    else if (option != OPTION_OPERAND)
        return injection_take_option(&line->live.injection, options, option);
    else if (line->path_count || !(options->only_operands || traced_program_is_program(options->value)))
        line->paths[line->path_count++] = options->value;
    else { /* the other arguments are the program's */
        line->program = options->argv + options->next - 1;
        options->next = options->argc;
    }
    return EXIT_OK;
}

static void compute(const struct stat *stat, struct stat_report *report)
{
    stat_headline(stat, report);
    stat_calls(stat, report);
    stat_kernels(stat, report);
    stat_counters(stat, report);
    stat_copies(stat, report);
    stat_devices(stat, report);
    stat_latency(stat, report);
    stat_memory(stat, report);
    stat_own(stat, report);
    stat_findings(stat, report);
}

/* Keeps only the requested table; returns its number, or 0 after printing an error. */
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

/* Missing spans are not counted, which makes the GPU look less busy than it was. */
static void say_losses(const struct stat *stat)
{
    struct places places;
    places_init(&places, stat);
    uint64_t lost = places_lost(&places);
    places_deinit(&places);
    if (lost)
        fprintf(stderr,
                "cuspan stat: the processes lost %" PRIu64
                " spans, which are missing here; see cuspan.lost.* of their session spans\n",
                lost);
}

static void warn_of_the_rest(size_t left_out)
{
    if (left_out)
        fprintf(stderr, "cuspan stat: %zu spans of the file are not counted; raise --max-spans\n", left_out);
}

static int print(const struct command_line *line, struct trace *trace)
{
    struct stat stat;
    struct stat_report report = {.count = 0};
    stat_init(&stat, trace);
    if (line->by == STAT_BY_NOTHING)
        compute(&stat, &report);
    else
        stat_by_compute(&stat, trace, (enum stat_by)line->by, compute, line->top, &report);
    int status = line->table && !keep_only(&report, line->table) ? EXIT_USAGE : EXIT_OK;
    for (size_t i = 0; line->by == STAT_BY_NOTHING && i < report.count; i++)
        stat_table_keep(&report.tables[i], line->top);
    if (status == EXIT_OK)
        stat_print(line->out, &report, &line->style);
    warn_of_the_rest(trace->left_out);
    say_losses(&stat);
    stat_report_deinit(&report);
    stat_deinit(&stat);
    return status;
}

static int write_sqlite(const struct command_line *line, const struct trace *trace)
{
    struct error err = {""};
    enum status status = sqlite_write(line->sqlite, trace, &err);
    warn_of_the_rest(trace->left_out);
    if (status == STATUS_OK)
        fprintf(stderr, "cuspan stat: %s: %zu spans\n", line->sqlite, trace->span_count);
    else
        fprintf(stderr, "cuspan stat: %s\n", err.text);
    return status == STATUS_OK ? EXIT_OK : EXIT_FAILED;
}

static int read_and_print(const struct command_line *line)
{
    struct error err = {""};
    struct trace trace;
    FILE *file = NULL;
    const char *path = line->paths[0];
    enum status status = trace_source_open(path, &file, &err);
    if (status == STATUS_OK) {
        status = otlp_read_all(file, trace_source_name(path), line->spans_max, &trace, &err);
        fclose(file);
    }
    if (status != STATUS_OK) {
        fprintf(stderr, "cuspan stat: %s\n", err.text);
        return EXIT_FAILED;
    }
    int result = line->sqlite ? write_sqlite(line, &trace) : print(line, &trace);
    trace_deinit(&trace);
    return result;
}

static int save(const struct command_line *line)
{
    struct error err = {""};
    struct run_set set = {0};
    size_t left_out = 0;
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < line->path_count; i++)
        status = run_set_add_path(&set, line->paths[i], line->spans_max, &left_out, &err);
    run_set_sort(&set);
    if (status == STATUS_OK)
        status = run_set_save(&set, line->save, &err);
    warn_of_the_rest(left_out);
    if (status == STATUS_OK)
        fprintf(stderr, "cuspan stat: %s: %zu kernels, calls, kinds of copies and totals of %zu %s\n",
                line->save, set.count, set.run_count, set.run_count == 1 ? "run" : "runs");
    else
        fprintf(stderr, "cuspan stat: %s\n", err.text);
    run_set_deinit(&set);
    return status == STATUS_OK ? EXIT_OK : EXIT_FAILED;
}

static int count(const struct command_line *line)
{
    return line->save ? save(line) : read_and_print(line);
}

/* Ends as the program did, by the same signal if one killed it. */
static int run_and_count(struct command_line *line, const struct options *options)
{
    int wrong = traced_program_run(&line->live, options, line->program);
    if (wrong)
        return wrong;
    int wait_status = line->live.launched.wait_status;
    line->paths[0] = line->live.spans;
    line->path_count = 1;
    if (access(line->live.spans, F_OK) == 0) /* otherwise the reason is printed */
        count(line);
    traced_program_deinit(&line->live);
    fflush(NULL);
    return launch_end(wait_status);
}

static FILE *create(const char *path)
{
    int fd = files_create(path);
    return fd < 0 ? NULL : fdopen(fd, "w");
}

static int open_output(struct command_line *line)
{
    line->out = line->program ? stderr : stdout;
    if (line->output)
        line->out = create(line->output);
    if (line->out)
        return EXIT_OK;
    fprintf(stderr, "cuspan stat: %s: %s\n", line->output, strerror(errno));
    return EXIT_FAILED;
}

static int close_output(const struct command_line *line, int result)
{
    if (!line->output || !line->out || fclose(line->out) == 0)
        return result;
    fprintf(stderr, "cuspan stat: %s: %s\n", line->output, strerror(errno));
    return result ? result : EXIT_FAILED;
}

static int read_command_line(struct command_line *line, int argc, char **argv)
{
    struct options options;
    const struct option_target targets[] = {
        STAT_STYLE_TARGETS(&line->style),
        {'o', .text = &line->output},
        {OPTION_SAVE, .text = &line->save},
        {OPTION_SQLITE, .text = &line->sqlite},
        {OPTION_TABLE, .text = &line->table},
        {OPTION_BY, .choice = &line->by},
        {OPTION_TOP, .number = &line->top, .min = 0, .max = INT_MAX},
        {OPTION_MAX_SPANS, .number = &line->spans_max, .min = 1, .max = INT_MAX},
        {0}};
    options_init(&options, "stat", argc, argv);
    if (!options_read(&options, targets, take_option, line))
        return options.status;
    if (!line->path_count && !line->program)
        return options_complain(&options, "name a file or a program (\"-\": standard input)");
    if (line->path_count > 1 && !line->save)
        return options_complain(&options, "one file at a time: %s or %s (several runs: --save)",
                                line->paths[0], line->paths[1]);
    if (line->save && line->sqlite)
        return options_complain(&options, "--save and --sqlite exclude each other");
    int wrong = open_output(line);
    if (wrong)
        return wrong;
    return close_output(line, line->program ? run_and_count(line, &options) : count(line));
}

int cmd_stat(int argc, char **argv)
{
    struct command_line line = {.spans_max = MAX_SPANS_DEFAULT, .top = TOP_DEFAULT, .by = STAT_BY_NOTHING};
    line.paths = xcalloc((size_t)argc + 1, sizeof *line.paths);
    int result = read_command_line(&line, argc, argv);
    traced_program_deinit(&line.live);
    free(line.paths);
    return result;
}
