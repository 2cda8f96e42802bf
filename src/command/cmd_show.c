#include "command/table/command_table.h"

#include "analysis/stat/clock_offsets.h"
#include "analysis/show/span_lines.h"
#include "cli/args/options.h"
#include "analysis/show/perfetto.h"
#include "analysis/show/picture.h"
#include "analysis/show/step_ranks.h"
#include "analysis/trace/trace_read.h"
#include "cli/util/terminal.h"
#include "cli/util/text.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define ROWS_DEFAULT   40
#define ROWS_NOT_GIVEN UINT32_MAX
#define RANK_ALL       UINT32_MAX

struct show {
    const char *path;
    const char *perfetto_path;
    char trace_id[33];
    bool is_lines;
    uint32_t columns; /* 0: the terminal's */
    uint32_t rows;
    uint32_t rank; /* RANK_ALL: no single one */
    bool is_linear;
    bool aligns_clocks;
    int color; /* enum color_when */
};

static int take_trace_id(struct show *show, const struct options *options)
{
    size_t len = strlen(options->value);
    if (len == 0 || len > 32 || strspn(options->value, "0123456789abcdefABCDEF") != len)
        return options_complain(options,
                                "--trace needs a trace ID of 32 hex digits, or its first digits, not \"%s\"",
                                options->value);
    for (size_t i = 0; i <= len; i++)
        show->trace_id[i] = (char)tolower((unsigned char)options->value[i]);
    return EXIT_OK;
}

static int take_option(void *context, struct options *options, int option)
{
    struct show *show = context;
    if (option == OPTION_TRACE)
        return take_trace_id(show, options);
    if (show->path)
        return options_complain(options, "one file at a time: %s or %s", show->path, options->value);
    show->path = options->value;
    return EXIT_OK;
}

static int write_perfetto(const struct show *show, struct trace *trace)
{
    struct error err = {""};
    if (*show->trace_id)
        trace->others = 0; /* they were not asked for */
    if (perfetto_write_file(show->perfetto_path, trace, "show", false, &err) == STATUS_OK)
        return EXIT_OK;
    fprintf(stderr, "cuspan show: %s\n", err.text);
    return EXIT_FAILED;
}

static int show_trace(const struct show *show, struct trace *trace)
{
    bool utf8 = text_locale_is_utf8();
    if (show->perfetto_path)
        return write_perfetto(show, trace);
    if (show->is_lines) {
        span_lines_write(stdout, trace, utf8);
        return EXIT_OK;
    }
    struct picture_options options = {
        .columns = show->columns ? show->columns : terminal_columns(STDOUT_FILENO),
        .rows_max = show->rows,
        .is_linear = show->is_linear,
        .color = terminal_wants_color((enum color_when)show->color, STDOUT_FILENO),
        .utf8 = utf8,
    };
    picture_draw(stdout, trace, &options);
    return EXIT_OK;
}

static void align_clocks(struct trace *trace)
{
    struct clock_offsets *offsets = clock_offsets_of_trace(trace);
    clock_offsets_apply(offsets, trace);
    clock_offsets_tell(offsets, "show");
    clock_offsets_destroy(offsets);
}

static int read_and_show(const struct show *show)
{
    struct trace_input input = {.paths = &show->path, .path_count = 1};
    struct error err = {""};
    struct trace_facts facts;
    struct trace trace;
    enum status status =
        trace_read_one(&input, *show->trace_id ? show->trace_id : NULL, &trace, &facts, &err);
    if (status == STATUS_OK && show->aligns_clocks)
        align_clocks(&trace);
    if (status == STATUS_OK && show->rank != RANK_ALL && !step_ranks_keep(&trace, show->rank))
        status = error_set(&err, STATUS_INVALID,
                           "the trace %s has no rank %u; choose another one, or another trace with --trace",
                           trace_string(&trace, trace.id), show->rank);
    int result = status == STATUS_OK ? show_trace(show, &trace) : EXIT_FAILED;
    if (status == STATUS_OK)
        trace_facts_print(&facts, "show");
    else
        fprintf(stderr, "cuspan show: %s\n", err.text);
    trace_deinit(&trace);
    return result;
}

int cmd_show(const struct command *command, int argc, char **argv)
{
    struct show show = {.rows = ROWS_NOT_GIVEN, .rank = RANK_ALL};
    struct options options;
    const struct option_target targets[] = {
        {OPTION_LINES, .flag = &show.is_lines},
        {OPTION_PERFETTO, .text = &show.perfetto_path},
        {OPTION_WIDTH, .number = &show.columns, .min = TERMINAL_COLUMNS_MIN, .max = TERMINAL_COLUMNS_MAX},
        {OPTION_ROWS, .number = &show.rows, .min = 0, .max = INT_MAX},
        {OPTION_RANK, .number = &show.rank, .min = 0, .max = INT_MAX},
        {OPTION_LINEAR, .flag = &show.is_linear},
        {OPTION_ALIGN_CLOCKS, .flag = &show.aligns_clocks},
        {OPTION_COLOR, .choice = &show.color},
        {0}};
    options_init(&options, command, argc, argv);
    if (!options_read(&options, targets, take_option, &show))
        return options.status;
    if (!show.path)
        return options_complain(&options, "name a file (\"-\": standard input)");
    bool is_picture = !show.is_lines && !show.perfetto_path;
    if (show.is_lines && show.perfetto_path)
        return options_complain(&options, "--lines and --perfetto exclude each other");
    if (!is_picture && (show.columns || show.is_linear || show.rows != ROWS_NOT_GIVEN))
        return options_complain(&options,
                                "--rows, --width and --linear are for the picture; leave them out with "
                                "--lines and --perfetto");
    if (show.rows == ROWS_NOT_GIVEN)
        show.rows = ROWS_DEFAULT;
    return read_and_show(&show);
}
