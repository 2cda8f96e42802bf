#include "command/table/command_table.h"

#include "cli/args/options.h"
#include "analysis/flame/flame.h"
#include "analysis/show/output_file.h"
#include "analysis/stat/base/stat.h"
#include "analysis/trace/span_store.h"
#include "cli/util/xalloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OUTPUT_DEFAULT "flame.svg"
#define FORMAT_BY_NAME (-1)
#define PATH_IS_STDOUT "-"

struct command_line {
    struct option_list paths;
    const char *output; /* or NULL */
    bool is_diff;
    int weight; /* enum flame_weight */
    int format; /* enum flame_format, or FORMAT_BY_NAME */
};

static int format_of(const char *output)
{
    static const char *const ends[FLAME_FORMATS] = {".svg", ".folded", ".pb.gz"};
    for (int i = 0; i < FLAME_FORMATS; i++) {
        if (text_ends_with(output, ends[i]))
            return i;
    }
    return FORMAT_BY_NAME;
}

static int complain(const char *text)
{
    fprintf(stderr, "cuspan flame: %s\n", text);
    return EXIT_FAILED;
}

static enum status read_run(struct flame *flame, int run, const char *const *paths, size_t count,
                            struct error *err)
{
    struct trace_input input = {.paths = paths, .path_count = count, .wanted = stat_wanted};
    struct trace_facts facts;
    enum status status = flame_read(flame, run, &input, &facts, err);
    if (status == STATUS_OK)
        trace_facts_print(&facts, "flame");
    return status;
}

static enum status read_all(const struct command_line *line, struct flame *flame, struct error *err)
{
    const char *const *paths = line->paths.items;
    if (!line->is_diff)
        return read_run(flame, FLAME_NEW, paths, line->paths.count, err);
    enum status status = read_run(flame, FLAME_OLD, paths, 1, err);
    return status == STATUS_OK ? read_run(flame, FLAME_NEW, paths + 1, 1, err) : status;
}

static int write_file(const struct command_line *line, const struct flame *flame)
{
    static void (*const writers[FLAME_FORMATS])(FILE *, const struct flame *) = {
        flame_write_svg, flame_write_folded, flame_write_pprof};
    bool is_stdout = strcmp(line->output, PATH_IS_STDOUT) == 0;
    FILE *out = output_file_open(line->output, line->format == FLAME_PPROF);
    if (out)
        writers[line->format](out, flame);
    if (!out || !output_file_close(out)) {
        fprintf(stderr, "cuspan flame: %s: %s\n", line->output, strerror(errno));
        return EXIT_FAILED;
    }
    if (!is_stdout)
        fprintf(stderr, "cuspan flame: wrote %s%s\n", line->output,
                line->format == FLAME_SVG     ? "; open it in a browser"
                : line->format == FLAME_PPROF ? "; open it with go tool pprof -http=:"
                                              : "");
    return EXIT_OK;
}

static int read_and_write(const struct command_line *line)
{
    struct flame flame = {.weight = (enum flame_weight)line->weight, .is_diff = line->is_diff};
    struct error err = {""};
    flame_tree_init(&flame.tree);
    int result = EXIT_FAILED;
    if (read_all(line, &flame, &err) != STATUS_OK) {
        complain(err.text);
    } else {
        if (!flame.has_stacks)
            complain(
                "the spans have no call stacks, so there are only kernels and copies; trace with cuspan run "
                "--set capture.launch_stacks=python (or all, for C and C++)");
        flame_tree_finish(&flame.tree);
        result = write_file(line, &flame);
    }
    flame_tree_deinit(&flame.tree);
    return result;
}

static int check(struct command_line *line, const struct options *options)
{
    if (!line->paths.count)
        return options_complain(options, "name a file (\"-\": standard input)");
    if (line->is_diff && line->paths.count != 2)
        return options_complain(options, "--diff needs two operands: cuspan flame --diff OLD NEW");
    if (!line->output)
        line->output = isatty(STDOUT_FILENO) ? OUTPUT_DEFAULT : PATH_IS_STDOUT;
    bool is_stdout = strcmp(line->output, PATH_IS_STDOUT) == 0;
    if (line->format == FORMAT_BY_NAME)
        line->format = is_stdout ? FLAME_SVG : format_of(line->output);
    if (line->format == FORMAT_BY_NAME)
        return options_complain(options,
                                "%s: unknown format; end the name with .svg, .folded or .pb.gz (speedscope "
                                "opens the last two), or add --format",
                                line->output);
    if (line->is_diff && line->format == FLAME_PPROF)
        return options_complain(options, "--diff can only write svg and folded; for pprof, write both runs "
                                         "and use go tool pprof -diff_base");
    return EXIT_OK;
}

int cmd_flame(const struct command *command, int argc, char **argv)
{
    struct command_line line = {.format = FORMAT_BY_NAME};
    struct options options;
    const struct option_target targets[] = {
        {OPTION_OPERAND, .list = &line.paths},   {'o', .text = &line.output},
        {OPTION_DIFF, .flag = &line.is_diff},    {OPTION_WEIGHT, .choice = &line.weight},
        {OPTION_FORMAT, .choice = &line.format}, {0}};
    options_init(&options, command, argc, argv);
    bool is_read = options_read(&options, targets, NULL, NULL);
    int result = is_read ? check(&line, &options) : options.status;
    if (is_read && result == EXIT_OK)
        result = read_and_write(&line);
    free(line.paths.items);
    return result;
}
