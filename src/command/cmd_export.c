#include "command/table/command_table.h"

#include "cli/args/options.h"
#include "analysis/export/fleet_recordings.h"
#include "analysis/export/fleet_writer.h"
#include "agent/operate/run/command_root.h"
#include "analysis/show/perfetto.h"
#include "analysis/sqlite/sqlite.h"
#include "analysis/trace/trace_read.h"
#include "cli/util/xalloc.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FORMAT_BY_NAME (-1)
#define FORMAT_UNKNOWN (-2)
#define PATH_IS_STDOUT "-"

enum format { PARQUET, PERFETTO, SQLITE }; /* as the words of --format */

struct command_line {
    struct option_list paths;
    const char *output;
    const char *trace; /* of the command line, or NULL */
    char trace_id[33]; /* in lower case; empty: the largest trace */
    int format;        /* enum format, or FORMAT_BY_NAME */
    bool is_quiet;
    struct injection injection; /* only its library */
};

static int complain(const char *text)
{
    fprintf(stderr, "cuspan export: %s\n", text);
    return EXIT_FAILED;
}

/* --- Parquet --- */

static void say_omission(size_t count, const char *what)
{
    if (count)
        fprintf(stderr, "cuspan export: %zu %s\n", count, what);
}

static void say_omissions(const struct store_omissions *omissions, const struct fleet_totals *totals)
{
    say_omission(omissions->unended, "spans have no end; their duration is 0");
    say_omission(totals->late, "spans start after the year 2262, which cannot be stored");
    say_omission(totals->repeated,
                 "attributes are left out, because their span or resource already had one of that name");
    say_omission(omissions->cut, "names of attributes or events, or values of resources are cut at a NUL");
    say_omission(omissions->fields,
                 "events without a time, counts of dropped attributes or lists of entities are left out");
}

static void say_totals(const struct command_line *line, const struct fleet_totals *totals)
{
    char spans[TEXT_NUMBER_BYTES], bytes[TEXT_NUMBER_BYTES];
    fprintf(stderr, "cuspan export: %s: %s spans in %zu file%s, %s (%.1f bytes per span)\n", line->output,
            text_count(spans, totals->spans), totals->files, totals->files == 1 ? "" : "s",
            text_bytes(bytes, totals->bytes), (double)totals->bytes / (double)totals->spans);
}

static enum status take_record(void *context, const struct span_record *record, struct error *err)
{
    return fleet_writer_add(context, record, err);
}

static enum status write_spans(const struct command_line *line, const struct zstd_api *zstd,
                               struct error *err)
{
    struct trace_input input = {.paths = line->paths.items, .path_count = line->paths.count};
    struct trace_facts facts = {0};
    struct store_omissions omissions = {0};
    struct fleet_totals totals = {0};
    struct fleet_writer *writer;
    struct trace trace = {0};
    enum status status = fleet_writer_create(line->output, &trace, zstd, 0, &writer, err);
    if (status != STATUS_OK)
        return status;
    status = trace_read_records(&input, &trace, take_record, writer, &facts, &omissions, err);
    if (status == STATUS_OK)
        status = fleet_writer_finish(writer, &totals, err);
    if (status == STATUS_OK)
        status = fleet_recordings_note(line->output, line->paths.items, line->paths.count, err);
    fleet_writer_destroy(writer);
    trace_deinit(&trace);
    if (status != STATUS_OK)
        return status;
    trace_facts_print(&facts, "export");
    say_omissions(&omissions, &totals);
    if (!line->is_quiet)
        say_totals(line, &totals);
    return STATUS_OK;
}

static enum status write_parquet(struct command_line *line, struct error *err)
{
    enum status status = fleet_recordings_check(line->output, line->paths.items, line->paths.count, err);
    if (status == STATUS_OK)
        status = injection_find_library(&line->injection, err);
    if (status != STATUS_OK)
        return status;
    const struct root_api *api = root_api_open(line->injection.library, err);
    return api ? write_spans(line, api->zstd, err) : STATUS_UNAVAILABLE;
}

/* --- SQLite --- */

static enum status write_sqlite(const struct command_line *line, struct error *err)
{
    struct trace_input input = {.paths = line->paths.items, .path_count = line->paths.count};
    struct trace_facts facts = {0};
    enum status status = sqlite_write(line->output, &input, NULL, NULL, &facts, err);
    if (status != STATUS_OK)
        return status;
    trace_facts_print(&facts, "export");
    if (!line->is_quiet)
        fprintf(stderr, "cuspan export: %s: %zu spans\n", line->output, facts.spans);
    return STATUS_OK;
}

/* --- Perfetto --- */

static enum status write_perfetto(const struct command_line *line, struct error *err)
{
    struct trace_input input = {.paths = line->paths.items, .path_count = line->paths.count};
    struct trace_facts facts;
    struct trace trace;
    enum status status = trace_read_one(&input, *line->trace_id ? line->trace_id : NULL, &trace, &facts, err);
    if (line->trace)
        trace.others = 0; /* they were not asked for */
    if (status == STATUS_OK)
        status = perfetto_write_file(line->output, &trace, "export", line->is_quiet, err);
    if (status == STATUS_OK)
        trace_facts_print(&facts, "export");
    trace_deinit(&trace);
    return status;
}

/* --- the command line --- */

/* A folder may have any name but that of a file. */
static int format_of(const char *output)
{
    static const struct {
        const char *end;
        int format;
    } ends[] = {{".json", PERFETTO},
                {".json.gz", PERFETTO},
                {".sqlite", SQLITE},
                {".sqlite3", SQLITE},
                {".db", SQLITE},
                {".gz", FORMAT_UNKNOWN},
                {".zst", FORMAT_UNKNOWN},
                {".jsonl", FORMAT_UNKNOWN},
                {".csv", FORMAT_UNKNOWN},
                {".pb", FORMAT_UNKNOWN},
                {".parquet", FORMAT_UNKNOWN},
                {".svg", FORMAT_UNKNOWN},
                {".html", FORMAT_UNKNOWN},
                {".txt", FORMAT_UNKNOWN}};
    struct stat facts;
    if (stat(output, &facts) == 0 && S_ISDIR(facts.st_mode))
        return PARQUET;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (text_ends_with(output, ends[i].end))
            return ends[i].format;
    }
    return PARQUET;
}

static int write_output(struct command_line *line)
{
    struct error err = {""};
    enum status status = line->format == PARQUET  ? write_parquet(line, &err)
                         : line->format == SQLITE ? write_sqlite(line, &err)
                                                  : write_perfetto(line, &err);
    return status == STATUS_OK ? EXIT_OK : complain(err.text);
}

static int check(struct command_line *line, const struct options *options)
{
    if (!line->paths.count)
        return options_complain(options, "name a file (\"-\": standard input)");
    if (!line->output)
        return options_complain(options, "name the destination with -o: a folder, FILE.json or FILE.sqlite");
    if (line->format == FORMAT_BY_NAME)
        line->format = format_of(line->output);
    if (line->format == FORMAT_UNKNOWN)
        return options_complain(options,
                                "%s: unknown format; name a folder (for Parquet), FILE.json, FILE.json.gz or "
                                "FILE.sqlite, or add --format",
                                line->output);
    if (line->format != PERFETTO && strcmp(line->output, PATH_IS_STDOUT) == 0)
        return options_complain(options, "only --format perfetto can write to standard output");
    if (line->format != PERFETTO && line->trace)
        return options_complain(options,
                                "--trace needs --format perfetto; the other formats have all traces");
    size_t len = line->trace ? strlen(line->trace) : 0;
    if (line->trace && (len == 0 || len > 32 || strspn(line->trace, "0123456789abcdefABCDEF") != len))
        return options_complain(options,
                                "--trace needs a trace ID of 32 hex digits, or its first digits, not \"%s\"",
                                line->trace);
    for (size_t i = 0; i < len; i++)
        line->trace_id[i] = (char)tolower((unsigned char)line->trace[i]);
    return EXIT_OK;
}

int cmd_export(const struct command *command, int argc, char **argv)
{
    struct command_line line = {.format = FORMAT_BY_NAME};
    struct options options;
    const struct option_target targets[] = {
        {OPTION_OPERAND, .list = &line.paths},   {'o', .text = &line.output},
        {OPTION_FORMAT, .choice = &line.format}, {OPTION_TRACE, .text = &line.trace},
        {'q', .flag = &line.is_quiet},           {0}};
    options_init(&options, command, argc, argv);
    bool is_read = options_read(&options, targets, injection_take_option, &line.injection);
    int result = is_read ? check(&line, &options) : options.status;
    if (is_read && result == EXIT_OK)
        result = write_output(&line);
    free(line.paths.items);
    injection_deinit(&line.injection);
    return result;
}
