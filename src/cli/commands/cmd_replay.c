#include "cli/args/command_table.h"

#include "cli/run/injection.h"
#include "cli/run/launch.h"
#include "cli/util/xalloc.h"
#include "cli/args/options.h"
#include "cli/run/outcome.h"
#include "cli/util/progress.h"
#include "recording/replay_seam.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum way { WAY_NONE, WAY_OTLP, WAY_FILE, WAY_CONSOLE };

struct replay {
    struct injection injection;
    struct options options;
    struct replay_options how;
    enum way way;
    const char *release; /* --cupti-version; NULL: the newest */
    const char *file;
    char *double_path; /* the CUPTI substitute that plays the recording; owned */
};

/* --- options --- */

static int take_way(struct replay *replay, enum way way, const char *key)
{
    if (replay->way != WAY_NONE && replay->way != way)
        return options_complain(&replay->options, "--endpoint, --file and --console exclude each other; "
                                                  "several outputs need a configuration file (--config)");
    replay->way = way;
    if (way == WAY_FILE)
        return injection_set_path(&replay->injection, &replay->options, key, replay->options.value);
    return injection_set(&replay->injection, &replay->options, key,
                         way == WAY_CONSOLE ? "true" : replay->options.value);
}

static int take_protocol(struct replay *replay)
{
    if (options_word(&replay->options, "protocol", "http/protobuf http/json grpc") < 0)
        return EXIT_USAGE;
    return take_way(replay, WAY_OTLP, "protocol");
}

static int take_api(struct replay *replay)
{
    if (options_word(&replay->options, "api", "classic subscriber") < 0)
        return EXIT_USAGE;
    return injection_set(&replay->injection, &replay->options, "cupti.api", replay->options.value);
}

static int take_repeat(struct replay *replay)
{
    long repeat;
    if (!options_number(&replay->options, "repeat", 1, INT_MAX, &repeat))
        return EXIT_USAGE;
    replay->how.repeat = (uint32_t)repeat;
    return EXIT_OK;
}

static int take_file(struct replay *replay)
{
    if (replay->file)
        return options_complain(&replay->options, "one recording at a time, not also \"%s\"",
                                replay->options.value);
    replay->file = replay->options.value;
    return EXIT_OK;
}

static int take_option(struct replay *replay, int option)
{
    switch (option) {
    case OPTION_OPERAND:
        return take_file(replay);
    case OPTION_ENDPOINT:
        return take_way(replay, WAY_OTLP, "endpoint");
    case OPTION_PROTOCOL:
        return take_protocol(replay);
    case OPTION_FILE:
        return take_way(replay, WAY_FILE, "output_file");
    case OPTION_CONSOLE:
        return take_way(replay, WAY_CONSOLE, "console");
    case OPTION_PACED:
        replay->how.is_paced = true;
        return EXIT_OK;
    case OPTION_OVERLOAD:
        replay->how.overload = true;
        return EXIT_OK;
    case OPTION_REPEAT:
        return take_repeat(replay);
    case OPTION_API:
        return take_api(replay);
    case OPTION_CUPTI_VERSION:
        replay->release = replay->options.value;
        return EXIT_OK;
    default:
        return injection_take_option(&replay->injection, &replay->options, option);
    }
}

static int check_options(struct replay *replay)
{
    if (!replay->file)
        return options_complain(&replay->options, "name a recording");
    if (replay->how.is_paced && replay->how.overload)
        return options_complain(&replay->options, "--paced and --overload exclude each other");
    return EXIT_OK;
}

/* --- the stand-in --- */

/* CUPTI before 13.0 has no subscriber-aware calls: another library lacks them. */
static const char *double_name(const struct replay *replay)
{
    bool is_old = replay->release && strncmp(replay->release, "12.", 3) == 0;
    return is_old ? REPLAY_LIBRARY_CLASSIC : REPLAY_LIBRARY;
}

static enum status find_double(struct replay *replay, struct error *err)
{
    const char *agent = replay->injection.library;
    int folder_length = (int)(strrchr(agent, '/') - agent);
    char *path = xasprintf("%.*s/%s", folder_length, agent, double_name(replay));
    replay->double_path = realpath(path, NULL);
    enum status status = STATUS_OK;
    if (!replay->double_path)
        status = error_set(err, STATUS_NOT_FOUND, "%.400s: %s; it must be next to libcuspan.so", path,
                           strerror(errno));
    free(path);
    return status;
}

static enum status open_library(const char *path, const char *symbol, void **function, struct error *err)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    *function = library ? dlsym(library, symbol) : NULL;
    if (!*function)
        return error_set(err, STATUS_UNAVAILABLE, "%.200s can't be used: %.200s", path, dlerror());
    return STATUS_OK;
}

/* --- playing, in a process of its own: the agent's report is complete only when its host has ended --- */

static enum status load_recording(const struct replay *replay, cuspan_replay_run_fn **run, struct error *err)
{
    void *load, *found;
    if (replay->release)
        setenv("CUSPAN_REPLAY_VERSION", replay->release, 1);
    enum status status = open_library(replay->double_path, "cuspan_replay_load", &load, err);
    if (status == STATUS_OK)
        status = open_library(replay->double_path, "cuspan_replay_run", &found, err);
    if (status == STATUS_OK)
        status = ((cuspan_replay_load_fn *)load)(replay->file, err);
    if (status == STATUS_OK)
        *run = (cuspan_replay_run_fn *)found;
    return status;
}

/* A name from a file must stay a name: in CUSPAN_SET, ';' and a newline start another setting. */
static char *harmless_name(const char *name)
{
    char *copy = xstrdup(name);
    for (char *c = copy; *c; c++) {
        if (*c == ';' || (unsigned char)*c < ' ' || *c == 0x7f)
            *c = '_';
    }
    return copy;
}

static bool names_service(void)
{
    const char *name = getenv("OTEL_SERVICE_NAME"), *attributes = getenv("OTEL_RESOURCE_ATTRIBUTES");
    return (name && *name) || (attributes && strstr(attributes, "service.name="));
}

/* A fact about the recorded program as a setting; owned by the caller. NULL: not recorded. */
static char *ask_recording(const struct replay *replay, const char *symbol)
{
    struct error err;
    void *ask;
    if (open_library(replay->double_path, symbol, &ask, &err) != STATUS_OK)
        return NULL;
    const char *answer = ((const char *(*)(void))ask)();
    return answer && *answer ? harmless_name(answer) : NULL;
}

/* The user's settings come later, and so win. */
static void set_default(const char *key, const char *value)
{
    const char *wanted = getenv("CUSPAN_SET");
    char *set = xasprintf("%s=%s\n%s", key, value, wanted ? wanted : "");
    setenv("CUSPAN_SET", set, 1);
    free(set);
}

/* The trace is the recorded program's, unless the user names another. */
static void name_program(const struct replay *replay)
{
    char *name = ask_recording(replay, "cuspan_replay_program");
    if (!name)
        return;
    set_default("session.name", name);
    if (!names_service())
        setenv("OTEL_SERVICE_NAME", name, 1);
    free(name);
}

/* Recorded hardware counters appear on the spans unchanged. */
static void take_counters(const struct replay *replay)
{
    char *metrics = ask_recording(replay, "cuspan_replay_counters");
    if (!metrics)
        return;
    set_default("counters.period", "1");
    set_default("counters.metrics", metrics);
    free(metrics);
}

static enum status start_agent(const struct replay *replay, struct error *err)
{
    void *initialize;
    injection_apply(&replay->injection);
    name_program(replay);
    take_counters(replay);
    enum status status = open_library(replay->injection.library, "InitializeInjection", &initialize, err);
    if (status == STATUS_OK)
        ((int (*)(void))initialize)();
    return status;
}

static void show_progress(void *context, uint64_t done, uint64_t total)
{
    progress_update(context, done, total);
}

static enum status play(const struct replay *replay, cuspan_replay_run_fn *run, struct error *err)
{
    struct replay_options how = replay->how;
    struct replay_result result = {0};
    struct progress progress;
    progress_begin(&progress, "replaying");
    how.progress = show_progress;
    how.progress_context = &progress;
    enum status status = run(&how, &result, err);
    progress_end(&progress);
    if (status == STATUS_OK &&
        result.calls + result.resources + result.activities + result.activities_dropped == 0 &&
        result.calls_off + result.activities_off > 0)
        status = error_set(err, STATUS_UNAVAILABLE,
                           "the agent captured nothing of the recording: it is disabled, or its "
                           "configuration excludes everything");
    return status;
}

static int run_child(const struct replay *replay)
{
    struct error err = {""};
    cuspan_replay_run_fn *run = NULL;
    enum status status = load_recording(replay, &run, &err);
    if (status == STATUS_OK)
        status = start_agent(replay, &err);
    if (status == STATUS_OK)
        status = play(replay, run, &err);
    if (status != STATUS_OK)
        fprintf(stderr, "cuspan replay: %s\n", err.text);
    return status == STATUS_OK ? EXIT_OK : EXIT_FAILED;
}

/* Returns EXIT_FAILED if spans were created and an output received none of them. */
static int print_outcome(const struct replay *replay)
{
    struct outcome outcome;
    outcome_read(&outcome, replay->injection.report_dir);
    if (!replay->injection.is_quiet && outcome.recording_count > 0)
        outcome_print_recordings(&outcome, NULL, outcome.recordings[0].path, stderr);
    else if (!replay->injection.is_quiet)
        outcome_print(&outcome, NULL, stderr);
    int status = outcome_failed(&outcome) ? EXIT_FAILED : EXIT_OK;
    outcome_deinit(&outcome);
    return status;
}

static int wait_for_child(pid_t pid)
{
    int wait_status;
    struct sigaction ignored = {.sa_handler = SIG_IGN}, before;
    sigaction(SIGINT, &ignored,
              &before); /* the terminal sends it to both processes; this one stays to clean up */
    while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR) {
    }
    sigaction(SIGINT, &before, NULL);
    return wait_status;
}

static void replay_deinit(struct replay *replay)
{
    injection_deinit(&replay->injection);
    free(replay->double_path);
}

static int end_replay(struct replay *replay, int wait_status)
{
    bool has_ended_well = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == EXIT_OK;
    int result = has_ended_well ? print_outcome(replay) : EXIT_FAILED;
    replay_deinit(replay);
    return has_ended_well ? result : launch_end(wait_status);
}

static int run_replay(struct replay *replay)
{
    struct error err = {""};
    pid_t pid = -1;
    enum status status = injection_prepare(&replay->injection, &err);
    if (status == STATUS_OK)
        status = find_double(replay, &err);
    if (status == STATUS_OK &&
        injection_set(&replay->injection, &replay->options, "cupti.library", replay->double_path)) {
        replay_deinit(replay);
        return EXIT_USAGE;
    }
    if (status == STATUS_OK) {
        fflush(NULL);
        pid = fork();
        if (pid < 0)
            status = error_set(&err, STATUS_UNAVAILABLE, "cannot start a process for the replay: %s",
                               strerror(errno));
    }
    if (pid == 0)
        exit(run_child(replay));
    if (status != STATUS_OK) {
        fprintf(stderr, "cuspan replay: %s\n", err.text);
        replay_deinit(replay);
        return status == STATUS_INVALID ? EXIT_USAGE : EXIT_FAILED;
    }
    return end_replay(replay, wait_for_child(pid));
}

int cmd_replay(int argc, char **argv)
{
    struct replay replay = {0};
    int option, wrong = EXIT_OK;
    options_init(&replay.options, "replay", argc, argv);
    while (!wrong && (option = options_next(&replay.options)) != OPTION_END) {
        if (option == OPTION_HELP) {
            replay_deinit(&replay);
            return EXIT_OK;
        }
        wrong = option == OPTION_WRONG ? EXIT_USAGE : take_option(&replay, option);
    }
    if (!wrong)
        wrong = check_options(&replay);
    if (wrong) {
        replay_deinit(&replay);
        return wrong;
    }
    return run_replay(&replay);
}
