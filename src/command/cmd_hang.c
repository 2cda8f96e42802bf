#include "command/table/command_table.h"

#include "analysis/hang/hang_analyze.h"
#include "analysis/hang/hang_read.h"
#include "base/control_path.h"
#include "cli/args/options.h"
#include "command/hang_gather.h"
#include "cli/util/terminal.h"
#include "cli/util/xalloc.h"

#include <glob.h>
#include <stdlib.h>
#include <unistd.h>

enum { EXIT_HANG = 3, TIMEOUT_MS = 20000, TIMEOUT_MS_MAX = 600000 };

struct command_line {
    struct option_list files;
    bool is_json, is_this_host;
    uint32_t columns;
    struct gathering gathering;
    const char *ras;
};

static int take_file(void *context, struct options *options, int option)
{
    struct command_line *line = context;
    line->files.items =
        xgrow(line->files.items, &line->files.capacity, line->files.count + 1, sizeof *line->files.items);
    line->files.items[line->files.count++] = options->value;
    return EXIT_OK;
}

/* The directories with the live states of ended processes: of this user, for root of all. */
static void read_folders(struct hang_model *model)
{
    static const char *const all[] = {"/run/user/*/cuspan", "/tmp/cuspan-*"};
    char places[CONTROL_PLACES_MAX][CONTROL_PATH_BYTES];
    size_t count =
        control_path_list(getenv("CUSPAN_CONTROL_DIRECTORY"), getenv("XDG_RUNTIME_DIR"), geteuid(), places);
    for (size_t i = 0; i < count; i++)
        hang_read_folder(model, places[i]);
    for (size_t i = 0; geteuid() == 0 && i < sizeof all / sizeof *all; i++) {
        glob_t found;
        if (glob(all[i], GLOB_NOSORT, NULL, &found) != 0)
            continue;
        for (size_t k = 0; k < found.gl_pathc; k++)
            hang_read_folder(model, found.gl_pathv[k]);
        globfree(&found);
    }
}

static size_t ways(const struct command_line *line)
{
    size_t count = 0;
    for (size_t i = 0; i < GATHER_WAYS; i++)
        count += line->gathering.target[i] != NULL;
    return count;
}

/* False: a file was wrong, or there are no hosts. */
static bool read_all(struct command_line *line, struct hang_model *model, struct hang_host *host)
{
    struct error err;
    bool is_good = true;
    if (ways(line))
        is_good = hang_gather(&line->gathering, model);
    if (line->is_this_host || (line->files.count == 0 && !ways(line))) {
        hang_read_host(model, "/proc", host);
        read_folders(model);
    }
    for (size_t i = 0; i < line->files.count; i++)
        if (hang_read_file(model, line->files.items[i], &err) != STATUS_OK) {
            fprintf(stderr, "cuspan hang: %s\n", err.text);
            is_good = false;
        }
    if (line->ras && hang_ask_ras(line->ras, line->gathering.timeout_ms, model, &err) != STATUS_OK) {
        fprintf(stderr, "cuspan hang: %s\n", err.text);
        is_good = false;
    }
    hang_drop_repeated(model);
    return is_good;
}

/* `ended`: ranks of jobs that have ended without a hang. */
static int complain_none(const struct command_line *line, const struct hang_host *host, size_t ended)
{
    if (line->files.count || ways(line))
        fprintf(stderr, "cuspan hang: the %s have no ranks\n", ways(line) ? "hosts" : "files");
    else if (host->refused)
        fprintf(stderr, "cuspan hang: no process with a live state, and %zu that cannot be read; use sudo\n",
                host->refused);
    else if (ended)
        fprintf(stderr, "cuspan hang: no rank is left here; %zu ended as they should in the last hour\n",
                ended);
    else
        fprintf(stderr,
                "cuspan hang: no process here has a live state: only ranks of a job that cuspan traces "
                "have one, and programs started with cuspan run --set hang.watch=on\n");
    return EXIT_FAILED;
}

static void print_json(const struct command_line *line, struct hang_model *model)
{
    struct json_writer json = JSON_WRITER(stdout);
    json_write_object(&json, NULL);
    json_write_unsigned(&json, "cuspan_hang", 1);
    if (line->is_this_host)
        hang_write_ranks(&json, model);
    if (ways(line)) {
        json_write_array(&json, "unknown_hosts");
        for (size_t i = 0; i < line->gathering.unknown_count; i++)
            json_write_text(&json, NULL, line->gathering.unknown[i]);
        json_write_array_end(&json);
    }
    json_write_array(&json, "jobs");
}

/* Analyzes the jobs, which the model is divided into. Returns whether one hangs; `any`: whether one was
 * shown; `ended`: ranks of those that were not. */
static bool analyze(const struct command_line *line, struct hang_model *model, bool *any, size_t *ended)
{
    struct hang_style style = {line->columns ? line->columns : terminal_columns(STDOUT_FILENO),
                               text_locale_is_utf8()};
    struct json_writer json = JSON_WRITER(stdout);
    struct hang_verdict verdict;
    bool hangs = false;
    size_t count;
    struct hang_model *jobs = hang_split(model, &count);
    for (size_t i = 0; i < count; i++) {
        hang_analyze(&jobs[i], &verdict);
        /* Files of processes that have ended stay for a while. */
        bool is_old = hang_has_ended(&jobs[i]) && line->files.count == 0;
        hangs |= verdict.is_stall && !is_old;
        bool is_shown = verdict.kind != HANG_NOTHING || !is_old;
        *any |= is_shown;
        *ended += is_shown ? 0 : jobs[i].rank_count;
        if (is_shown && line->is_json)
            hang_write(&json, &jobs[i], &verdict);
        else if (is_shown)
            hang_print(stdout, &jobs[i], &verdict, &style);
        hang_verdict_deinit(&verdict);
        hang_deinit(&jobs[i]);
    }
    free(jobs);
    hang_deinit(model);
    return hangs;
}

static int run(struct command_line *line)
{
    struct hang_model model = {0};
    struct hang_host host = {0};
    bool is_good = read_all(line, &model, &host), any = false;
    size_t ended = 0;
    if (line->is_json)
        print_json(line, &model);
    bool hangs = analyze(line, &model, &any, &ended);
    if (line->is_json)
        puts("]}");
    size_t unknown = line->gathering.unknown_count;
    hang_gather_deinit(&line->gathering);
    if (!is_good)
        return EXIT_FAILED;
    if (!any && !(line->is_json && line->is_this_host))
        return complain_none(line, &host, ended);
    return hangs ? EXIT_HANG : unknown ? EXIT_FAILED : EXIT_OK;
}

int cmd_hang(const struct command *command, int argc, char **argv)
{
    struct command_line line = {.gathering.timeout_ms = TIMEOUT_MS};
    struct options options;
    const struct option_target targets[] = {
        {OPTION_JSON, .flag = &line.is_json},
        {OPTION_THIS_HOST, .flag = &line.is_this_host},
        {OPTION_JOB, .text = &line.gathering.target[GATHER_JOB]},
        {OPTION_PODS, .text = &line.gathering.target[GATHER_PODS]},
        {'n', .text = &line.gathering.namespace},
        {OPTION_HOSTS, .text = &line.gathering.target[GATHER_HOSTS]},
        {OPTION_RAS, .text = &line.ras},
        {OPTION_TIMEOUT, .number = &line.gathering.timeout_ms, .min = 1, .max = TIMEOUT_MS_MAX},
        {OPTION_WIDTH, .number = &line.columns, .min = TERMINAL_COLUMNS_MIN, .max = TERMINAL_COLUMNS_MAX},
        {0}};
    options_init(&options, command, argc, argv);
    bool is_read = options_read(&options, targets, take_file, &line); /* false: an error, or --help */
    int status = options.status;
    if (is_read && ways(&line) > 1)
        status = options_complain(&options, "give one of --job, --pods and --hosts");
    else if (is_read)
        status = run(&line);
    free(line.files.items);
    return status;
}
