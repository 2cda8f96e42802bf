#include "command/table/command_table.h"

#include "analysis/code/inductor.h"
#include "analysis/code/kernel_lines.h"
#include "analysis/code/source_lines.h"
#include "analysis/diff/runs.h"
#include "analysis/hang/hang_read.h"
#include "command/traced_program.h"
#include "cli/util/xalloc.h"
#include "cli/args/options.h"
#include "analysis/trace/span_store.h"
#include "analysis/trace/trace_read.h"
#include "analysis/trace/trace_source.h"
#include "analysis/show/output_file.h"
#include "analysis/sqlite/sqlite.h"
#include "analysis/stat/clock_offsets.h"
#include "analysis/stat/findings/finding.h"
#include "analysis/stat/stat_print.h"
#include "analysis/stat/stat_stream.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOP_DEFAULT   20
#define TOP_NOT_GIVEN UINT32_MAX
#define SOURCES_MAX   16 /* also of files with kernels */
#define BY_NOT_GIVEN  (-1)

struct command_line {
    const char **paths;
    size_t path_count;
    char **program; /* the program to run, with its arguments; NULL: read files */
    struct traced_program live;
    FILE *out;
    const char *output; /* destination of the tables, or NULL */
    const char *save;   /* baseline to write, or NULL */
    const char *sqlite; /* database to write, or NULL */
    const char *tables; /* the only tables to print, with commas in between, or NULL */
    const char *sort;   /* the column that orders rows, or NULL */
    bool only_findings; /* print both tables of findings */
    bool align_clocks;
    struct stat_style style;
    const char *source[SOURCES_MAX]; /* directories with source files */
    struct source_lines *sources[SOURCES_MAX];
    size_t source_count;
    const char *kernel_lines[SOURCES_MAX]; /* files with GPU code */
    size_t kernel_lines_count;
    uint32_t top; /* rows per table; 0: all */
    int by;       /* enum stat_by, and behind it enum stat_code_by */
    enum stat_code_by code_by;
};

static int take_option(void *context, struct options *options, int option)
{
    struct command_line *line = context;
    if (option == OPTION_SOURCE && line->source_count == SOURCES_MAX)
        return options_complain(options, "--source can be given %d times", SOURCES_MAX);
    if (option == OPTION_KERNEL_LINES && line->kernel_lines_count == SOURCES_MAX)
        return options_complain(options, "--kernel-lines can be given %d times", SOURCES_MAX);
    if (option == OPTION_KERNEL_LINES)
        line->kernel_lines[line->kernel_lines_count++] = options->value;
    else if (option == OPTION_SOURCE)
        line->source[line->source_count++] = options->value;
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

/* The table's name; cuspan fleet has others for some. */
static const char *table_name(const char *name)
{
    static const char *const aliases[][2] = {
        {"waits", "synchronization"}, {"utilization", "devices"}, {"code_lines", "code"}};
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
        if (!strcmp(name, aliases[i][0]))
            return aliases[i][1];
    }
    return name;
}

static struct stat_table *find_table(struct stat_report *report, const char *key)
{
    return stat_report_find(report, table_name(key));
}

/* Moves the table from `report` to `kept`, if it is there. */
static void move_table(struct stat_report *report, struct stat_report *kept, const char *key)
{
    struct stat_table *table = find_table(report, key);
    if (!table)
        return;
    stat_report_add(kept, *table);
    *table = (struct stat_table){0};
}

/* Why a table is missing; NULL: there is none of this name. */
static const char *why_missing(struct stat_report *report, const char *key, enum stat_by by)
{
    key = table_name(key);
    if (!strcmp(key, "code"))
        return "the spans have no call stacks; trace with cuspan run --set capture.launch_stacks=python";
    if (!strcmp(key, "memory_code"))
        return "no allocation has a call stack; trace with cuspan run --set capture.allocation_stacks=true";
    if (strstr(key, "iterations") || strstr(key, "engine_requests"))
        return by == STAT_BY_NOTHING ? "the input has no such spans of a serving engine"
                                     : "no group has such spans of a serving engine; leave out --by";
    bool is_of_job = !strcmp(key, "clocks") || !strcmp(key, "rank_findings");
    bool is_of_step = !strcmp(key, "steps") || !strcmp(key, "collectives") || !strcmp(key, "ranks");
    if (!is_of_job && !is_of_step)
        return NULL;
    if (by != STAT_BY_NOTHING && by != STAT_BY_STEP)
        return "a group lacks the other ranks; leave out --by, or use --by step";
    if (by == STAT_BY_STEP && is_of_job)
        return "it is about the whole job; leave out --by";
    if (!strcmp(key, "clocks") && find_table(report, "ranks"))
        return "all ranks ran on one host, which has one clock";
    return "the input has no spans of training steps";
}

static void complain_table(struct stat_report *report, const char *key, enum stat_by by)
{
    const char *why = why_missing(report, key, by);
    if (why) {
        fprintf(stderr, "cuspan stat: no table \"%s\": %s\n", key, why);
        return;
    }
    fprintf(stderr, "cuspan stat: no table \"%s\" for this input; there are:", key);
    for (size_t i = 0; i < report->count; i++)
        fprintf(stderr, " %s", report->tables[i].key);
    fputc('\n', stderr);
}

/* Keeps only the tables of the list, in its order; false after printing an error. */
static bool keep_only(struct stat_report *report, const char *list, enum stat_by by)
{
    struct stat_report kept = {.count = 0};
    char *names = xstrdup(list), *rest = names;
    bool is_right = true;
    for (const char *key; is_right && (key = strsep(&rest, ","));) {
        is_right = find_table(report, key) != NULL;
        if (!is_right)
            complain_table(report, key, by);
    }
    strcpy(names, list);
    rest = names;
    for (const char *key; is_right && (key = strsep(&rest, ","));)
        move_table(report, &kept, key);
    free(names);
    if (!is_right)
        return false;
    stat_report_deinit(report);
    *report = kept;
    return true;
}

/* Findings across ranks come first: they are about the whole job. */
static void keep_findings(struct stat_report *report)
{
    struct stat_report found = {.count = 0};
    move_table(report, &found, "rank_findings");
    move_table(report, &found, "findings");
    stat_report_deinit(report);
    *report = found;
}

/* Whether ranks of a job could not be compared, as with files of ranks missing. */
static bool lacks_ranks(const struct command_line *line, struct stat_report *report)
{
    const struct stat_table *table =
        line->only_findings || line->tables ? find_table(report, "rank_findings") : NULL;
    for (size_t i = 0; table && !line->program && i < table->row_count; i++)
        if (!strcmp(stat_table_row(table, i)->text, "not-compared"))
            return true;
    return false;
}

/* Missing spans are not counted, which makes the GPU look less busy than it was. */
static void say_losses(uint64_t lost)
{
    if (lost)
        fprintf(stderr,
                "cuspan stat: the processes lost %" PRIu64
                " spans, which are missing here; see cuspan.lost.* of their session spans\n",
                lost);
}

struct reading {
    struct stat_stream *stream;
    struct clock_offsets *offsets; /* NULL: times stay as they are */
};

static enum status take_segment(void *context, struct trace *segment, struct error *err)
{
    struct reading *reading = context;
    if (reading->offsets)
        clock_offsets_apply(reading->offsets, segment);
    stat_stream_take(reading->stream, segment);
    return STATUS_OK;
}

/* The first directory that has a line wins. */
static void add_source(const struct command_line *line, struct stat_report *report)
{
    for (size_t i = 0; i < line->source_count; i++)
        for (size_t t = 0; t < report->count; t++)
            source_lines_fill(line->sources[i], &report->tables[t]);
}

static bool has_sort(const struct command_line *line, const struct stat_report *report)
{
    bool has = !line->sort;
    for (size_t i = 0; !has && i < report->count; i++)
        has = stat_table_numbers(&report->tables[i], line->sort) < report->tables[i].column_count;
    if (!has)
        fprintf(stderr,
                "cuspan stat: --sort: no table has a column of numbers \"%s\"; use its title, or its "
                "name in --json\n",
                line->sort);
    return has;
}

/* Files without lines are reported, and have no effect otherwise. */
static void add_kernel_lines(const struct command_line *line, struct stat_report *report)
{
    struct kernel_lines *lines = line->kernel_lines_count ? kernel_lines_create() : NULL;
    struct stat_table *kernels = find_table(report, "kernels"), *code = find_table(report, "code");
    struct error err;
    for (size_t i = 0; i < line->kernel_lines_count; i++) {
        if (kernel_lines_add(lines, line->kernel_lines[i], &err) != STATUS_OK)
            fprintf(stderr, "cuspan stat: %s\n", err.text);
    }
    if (lines && kernels)
        kernel_lines_fill(lines, kernels, "name", "place");
    if (lines && code)
        kernel_lines_fill(lines, code, "top", "top_place");
    kernel_lines_destroy(lines);
}

/* Lines of generated code become those of the program. */
static void resolve_code(const struct command_line *line, struct stat_stream *stream)
{
    struct inductor *inductor = line->source_count ? inductor_create() : NULL;
    for (size_t i = 0; i < line->source_count; i++)
        inductor_add(inductor, line->sources[i], line->source[i]);
    if (inductor)
        stat_stream_resolve_code(stream, inductor);
    inductor_destroy(inductor);
}

static int open_output(struct command_line *line)
{
    bool is_stdout = line->output && !strcmp(line->output, "-");
    if (is_stdout)
        line->output = NULL;
    line->out = line->program && !is_stdout ? stderr : stdout;
    if (line->output)
        line->out = output_file_open(line->output, false);
    if (line->out)
        return EXIT_OK;
    fprintf(stderr, "cuspan stat: %s: %s\n", line->output, strerror(errno));
    return EXIT_FAILED;
}

static int print(struct command_line *line, struct stat_stream *stream, const struct trace_facts *facts,
                 struct hang_model *hangs)
{
    struct stat_report report;
    resolve_code(line, stream);
    stat_stream_report(stream, line->top, line->sort, &report);
    findings_add_hangs(&report, hangs);
    enum stat_by by = (enum stat_by)line->by;
    int status = line->tables && !keep_only(&report, line->tables, by) ? EXIT_USAGE : EXIT_OK;
    if (line->only_findings)
        keep_findings(&report);
    if (status == EXIT_OK && !has_sort(line, &report))
        status = EXIT_USAGE;
    for (size_t i = 0; line->by == STAT_BY_NOTHING && i < report.count; i++)
        stat_table_keep(&report.tables[i], line->top);
    add_source(line, &report);
    add_kernel_lines(line, &report);
    if (status == EXIT_OK && !line->out)
        status = open_output(line);
    if (status == EXIT_OK)
        stat_print(line->out, &report, &line->style);
    if (status == EXIT_OK && lacks_ranks(line, &report))
        status = EXIT_FAILED;
    trace_facts_print(facts, "stat");
    say_losses(stat_stream_lost(stream));
    stat_report_deinit(&report);
    return status;
}

static int complain(const struct error *err)
{
    fprintf(stderr, "cuspan stat: %s\n", err->text);
    return EXIT_FAILED;
}

static void take_logs(void *hangs, struct yyjson_val *document)
{
    hang_read_logs(hangs, document);
}

/* Takes the files of live states out of the operands: of jobs that hung, they have no spans. */
static enum status read_live_files(struct command_line *line, struct hang_model *hangs, struct error *err)
{
    enum status status = STATUS_OK;
    size_t kept = 0;
    for (size_t i = 0; i < line->path_count; i++) {
        if (!hang_is_live_file(line->paths[i]))
            line->paths[kept++] = line->paths[i];
        else if (status == STATUS_OK)
            status = hang_read_file(hangs, line->paths[i], err);
    }
    line->path_count = kept;
    return status;
}

static int read_and_print(struct command_line *line)
{
    struct hang_model hangs = {0};
    struct error err = {""};
    enum status status = read_live_files(line, &hangs, &err);
    struct trace_input input = {.paths = line->paths,
                                .path_count = line->path_count,
                                .wanted = stat_wanted,
                                .take_logs = take_logs,
                                .logs_context = &hangs};
    struct trace_facts facts = {0};
    struct trace trace = {0};
    struct reading reading = {0};
    if (status != STATUS_OK)
        return complain(&err);
    for (size_t i = 0; i < line->source_count; i++) { /* before the work */
        if (source_lines_open(line->source[i], &line->sources[i], &err) != STATUS_OK)
            return complain(&err);
    }
    for (size_t i = 0; i < line->kernel_lines_count; i++) {
        if (access(line->kernel_lines[i], R_OK) == 0)
            continue;
        (void)error_set(&err, STATUS_NOT_FOUND,
                        "--kernel-lines %s: %s; name a program, a cubin or a directory of cubins",
                        line->kernel_lines[i], strerror(errno));
        return complain(&err);
    }
    if (line->align_clocks && clock_offsets_read(&input, &reading.offsets, &err) != STATUS_OK)
        return complain(&err);
    reading.stream = stat_stream_create((enum stat_by)line->by, line->code_by);
    if (input.path_count)
        status = trace_read(&input, &trace, take_segment, &reading, &facts, &err);
    /* A job that hangs from the start has reports, and maybe no spans. */
    if (status == STATUS_NOT_FOUND && facts.is_empty && hangs.rank_count)
        status = STATUS_OK;
    int result = status == STATUS_OK ? print(line, reading.stream, &facts, &hangs) : complain(&err);
    hang_deinit(&hangs);
    if (reading.offsets)
        clock_offsets_tell(reading.offsets, "stat");
    stat_stream_destroy(reading.stream);
    clock_offsets_destroy(reading.offsets);
    trace_deinit(&trace);
    return result;
}

static void align(void *offsets, struct trace *segment)
{
    clock_offsets_apply(offsets, segment);
}

static int write_sqlite(const struct command_line *line)
{
    struct trace_input input = {.paths = line->paths, .path_count = line->path_count};
    struct trace_facts facts;
    struct error err = {""};
    struct clock_offsets *offsets = NULL;
    if (line->align_clocks && clock_offsets_read(&input, &offsets, &err) != STATUS_OK)
        return complain(&err);
    enum status status = sqlite_write(line->sqlite, &input, offsets ? align : NULL, offsets, &facts, &err);
    if (offsets && status == STATUS_OK)
        clock_offsets_tell(offsets, "stat");
    clock_offsets_destroy(offsets);
    if (status != STATUS_OK)
        return complain(&err);
    trace_facts_print(&facts, "stat");
    fprintf(stderr, "cuspan stat: %s: %zu spans\n", line->sqlite, facts.spans);
    return EXIT_OK;
}

static int save(const struct command_line *line)
{
    struct error err = {""};
    struct run_set set = {0};
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < line->path_count; i++)
        status = run_set_add_path(&set, line->paths[i], "stat", &err);
    run_set_sort(&set);
    if (status == STATUS_OK)
        status = run_set_save(&set, line->save, &err);
    if (status == STATUS_OK)
        fprintf(stderr,
                "cuspan stat: %s: %zu kernels, calls, kinds of copies, totals and lines of code of %zu %s\n",
                line->save, set.count, set.run_count, set.run_count == 1 ? "run" : "runs");
    else
        fprintf(stderr, "cuspan stat: %s\n", err.text);
    run_set_deinit(&set);
    return status == STATUS_OK ? EXIT_OK : EXIT_FAILED;
}

static int count(struct command_line *line)
{
    return line->save ? save(line) : line->sqlite ? write_sqlite(line) : read_and_print(line);
}

/* Ends as the program did, by the same signal if one killed it. */
static int run_and_count(struct command_line *line, const struct options *options)
{
    int wrong = traced_program_run(&line->live, options, line->program);
    if (wrong)
        return wrong;
    int wait_status = line->live.launched.wait_status;
    line->paths[0] = line->live.spans.path;
    line->path_count = 1;
    if (access(line->live.spans.path, F_OK) == 0) /* otherwise the reason is printed */
        count(line);
    traced_program_deinit(&line->live);
    fflush(NULL);
    return launch_end(wait_status);
}

static int close_output(const struct command_line *line, int result)
{
    if (!line->output || !line->out || fclose(line->out) == 0)
        return result;
    fprintf(stderr, "cuspan stat: %s: %s\n", line->output, strerror(errno));
    return result ? result : EXIT_FAILED;
}

/* `--by line` and so on are about one table. */
static void take_by(struct command_line *line)
{
    bool is_of_code = line->by >= STAT_BY_COUNT;
    if (is_of_code)
        line->code_by = (enum stat_code_by)(line->by - STAT_BY_COUNT);
    if (is_of_code && !line->tables && !line->only_findings)
        line->tables = "code";
    if (is_of_code || line->by == BY_NOT_GIVEN)
        line->by = STAT_BY_NOTHING;
}

static int read_command_line(struct command_line *line, const struct command *command, int argc, char **argv)
{
    struct options options;
    const struct option_target targets[] = {STAT_STYLE_TARGETS(&line->style),
                                            {'o', .text = &line->output},
                                            {OPTION_SAVE, .text = &line->save},
                                            {OPTION_SQLITE, .text = &line->sqlite},
                                            {OPTION_TABLE, .text = &line->tables},
                                            {OPTION_BY, .choice = &line->by},
                                            {OPTION_FINDINGS, .flag = &line->only_findings},
                                            {OPTION_ALIGN_CLOCKS, .flag = &line->align_clocks},
                                            {OPTION_SORT, .text = &line->sort},
                                            {OPTION_TOP, .number = &line->top, .min = 0, .max = INT_MAX},
                                            {0}};
    options_init(&options, command, argc, argv);
    if (!options_read(&options, targets, take_option, line))
        return options.status;
    if (!line->path_count && !line->program)
        return options_complain(&options, "name a file or a program (\"-\": standard input)");
    bool has_tables = line->tables || line->by != BY_NOT_GIVEN || line->sort || line->only_findings ||
                      line->top != TOP_NOT_GIVEN || line->output || line->style.format;
    if (has_tables && (line->save || line->sqlite))
        return options_complain(&options,
                                "--%s writes no tables; leave out options that choose or print them",
                                line->save ? "save" : "sqlite");
    if (line->top == TOP_NOT_GIVEN)
        line->top = TOP_DEFAULT;
    take_by(line);
    if (line->save && line->sqlite)
        return options_complain(&options, "--save and --sqlite exclude each other");
    if (line->only_findings && line->tables)
        return options_complain(&options, "--findings and --table exclude each other");
    if (line->only_findings && line->by != STAT_BY_NOTHING && line->by != STAT_BY_DEVICE &&
        line->by != STAT_BY_PROCESS && line->by != STAT_BY_RANK)
        return options_complain(&options, "--findings needs whole processes; leave out --by, or use --by "
                                          "device, process or rank");
    if (line->align_clocks && line->save)
        return options_complain(&options, "--align-clocks has no effect on a baseline; leave it out");
    for (size_t i = 0; line->align_clocks && i < line->path_count; i++)
        if (trace_source_is_stream(line->paths[i]))
            return options_complain(
                &options, "--align-clocks reads the input twice; write %s to a file, and name the file",
                trace_source_name(line->paths[i]));
    /* Before a program starts, but after files are read, so that their errors cost no older output. */
    int wrong = line->program ? open_output(line) : EXIT_OK;
    if (wrong)
        return wrong;
    return close_output(line, line->program ? run_and_count(line, &options) : count(line));
}

int cmd_stat(const struct command *command, int argc, char **argv)
{
    struct command_line line = {.style.has_names = true, .top = TOP_NOT_GIVEN, .by = BY_NOT_GIVEN};
    line.paths = xcalloc((size_t)argc + 1, sizeof *line.paths);
    int result = read_command_line(&line, command, argc, argv);
    traced_program_deinit(&line.live);
    for (size_t i = 0; i < line.source_count; i++)
        source_lines_close(line.sources[i]);
    free(line.paths);
    return result;
}
