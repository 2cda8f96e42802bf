#include "cli/args/command_table.h"

#include "cli/show/span_lines.h"
#include "cli/args/options.h"
#include "cli/trace/otlp_reader.h"
#include "cli/show/perfetto.h"
#include "cli/show/picture.h"
#include "cli/trace/trace_source.h"
#include "cli/util/terminal.h"
#include "cli/util/text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define MAX_SPANS_DEFAULT 200000
#define ROWS_DEFAULT      40

struct show {
    const char *path;
    const char *perfetto_path;
    char trace_id[33];
    bool is_lines;
    uint32_t columns; /* 0: the terminal's */
    uint32_t rows;
    bool is_linear;
    int color; /* enum color_when */
    uint32_t spans_max;
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

static int write_perfetto(const struct show *show, const struct trace *trace)
{
    bool is_stdout = strcmp(show->perfetto_path, "-") == 0;
    int fd = is_stdout ? dup(STDOUT_FILENO)
                       : open(show->perfetto_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    if (!out) {
        fprintf(stderr, "cuspan show: %s: %s\n", show->perfetto_path, strerror(errno));
        return EXIT_FAILED;
    }
    perfetto_write(out, trace);
    bool is_bad = ferror(out) != 0;
    if (fclose(out) != 0 || is_bad) {
        fprintf(stderr, "cuspan show: %s: %s\n", show->perfetto_path, strerror(errno));
        return EXIT_FAILED;
    }
    if (!is_stdout)
        fprintf(stderr, "cuspan show: %s is written; open it at https://ui.perfetto.dev\n",
                show->perfetto_path);
    return EXIT_OK;
}

static int show_trace(const struct show *show, const struct trace *trace)
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

static int read_and_show(const struct show *show)
{
    struct otlp_choice choice = {*show->trace_id ? show->trace_id : NULL, show->spans_max};
    struct error err = {""};
    struct trace trace;
    FILE *file = NULL;
    enum status status = trace_source_open(show->path, &file, &err);
    if (status == STATUS_OK) {
        status = otlp_read(file, trace_source_name(show->path), &choice, &trace, &err);
        fclose(file);
    }
    if (status != STATUS_OK) {
        fprintf(stderr, "cuspan show: %s\n", err.text);
        return EXIT_FAILED;
    }
    int result = show_trace(show, &trace);
    trace_deinit(&trace);
    return result;
}

int cmd_show(int argc, char **argv)
{
    struct show show = {.rows = ROWS_DEFAULT, .spans_max = MAX_SPANS_DEFAULT};
    struct options options;
    const struct option_target targets[] = {
        {OPTION_LINES, .flag = &show.is_lines},
        {OPTION_PERFETTO, .text = &show.perfetto_path},
        {OPTION_WIDTH, .number = &show.columns, .min = TERMINAL_COLUMNS_MIN, .max = TERMINAL_COLUMNS_MAX},
        {OPTION_ROWS, .number = &show.rows, .min = 0, .max = INT_MAX},
        {OPTION_LINEAR, .flag = &show.is_linear},
        {OPTION_COLOR, .choice = &show.color},
        {OPTION_MAX_SPANS, .number = &show.spans_max, .min = 1, .max = INT_MAX},
        {0}};
    options_init(&options, "show", argc, argv);
    if (!options_read(&options, targets, take_option, &show))
        return options.status;
    if (!show.path)
        return options_complain(&options, "name a file (\"-\": standard input)");
    return read_and_show(&show);
}
