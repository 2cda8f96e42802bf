#include "command/table/command_table.h"

#include "agent/operate/run/injection.h"
#include "base/clock.h"
#include "agent/operate/run/launch.h"
#include "cli/util/xalloc.h"
#include "cli/args/options.h"
#include "agent/operate/run/outcome.h"
#include "analysis/trace/trace_source.h"
#include "cli/util/progress.h"
#include "agent/recording/recording.h"
#include "agent/recording/replay_seam.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct replay {
    struct injection injection;
    struct options options;
    struct replay_options how;
    const char *release; /* --cupti-version; NULL: the newest */
    const char *file;
    bool ends_now;
    FILE *copy; /* of standard input, or NULL */
    char *copy_path;
    char *double_path; /* the CUPTI substitute that plays the recording; owned */
};

static int take_option(void *context, struct options *options, int option)
{
    struct replay *replay = context;
    if (option == OPTION_API)
        return injection_set(&replay->injection, options, "cupti.api", options->value);
    if (option != OPTION_OPERAND)
        return injection_take_option(&replay->injection, options, option);
    if (replay->file)
        return options_complain(options, "one recording at a time, not also \"%s\"", options->value);
    replay->file = options->value;
    return EXIT_OK;
}

/* From standard input or a pipe: a copy, which the name stands for. */
static int open_stream(struct replay *replay)
{
    struct error err;
    if (!trace_source_is_stream(replay->file))
        return EXIT_OK;
    if (trace_source_spool(replay->file, &replay->copy, &err) != STATUS_OK)
        return options_complain(&replay->options, "%s", err.text);
    replay->file = replay->copy_path = xasprintf("/proc/self/fd/%d", fileno(replay->copy));
    return EXIT_OK;
}

static int check_options(struct replay *replay)
{
    if (!replay->file)
        return options_complain(&replay->options, "name a recording (\"-\": standard input)");
    int wrong = open_stream(replay);
    if (wrong)
        return wrong;
    if (replay->how.is_paced && replay->how.overload)
        return options_complain(&replay->options, "--paced and --overload exclude each other");
    return injection_check_output(&replay->injection, &replay->options);
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
    char *path = injection_path_beside(&replay->injection, double_name(replay));
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
        return error_set(err, STATUS_UNAVAILABLE, "cannot load %.200s: %.200s", path, dlerror());
    return STATUS_OK;
}

/* --- playing, in a process of its own: the agent's report is complete only when its host has ended --- */

static enum status load_recording(const struct replay *replay, cuspan_replay_run_fn **run, struct error *err)
{
    void *load, *found;
    if (replay->release)
        setenv("CUSPAN_REPLAY_VERSION", replay->release, 1);
    char repetitions[16];
    snprintf(repetitions, sizeof repetitions, "%u", replay->how.repeat ? replay->how.repeat : 1);
    if (replay->ends_now)
        setenv("CUSPAN_REPLAY_ENDS_NOW", repetitions, 1);
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

/* A fact about the recorded program, as the value of a setting; owned by the caller. NULL: not recorded. */
static char *recorded(const struct replay *replay, const char *key)
{
    struct error err;
    void *ask;
    if (open_library(replay->double_path, "cuspan_replay_info", &ask, &err) != STATUS_OK)
        return NULL;
    const char *answer = ((cuspan_replay_info_fn *)ask)(key);
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

/* False: it is not recorded. */
static bool take_recorded(const struct replay *replay, const char *key, const char *setting)
{
    char *value = recorded(replay, key);
    bool is_there = value != NULL;
    if (is_there)
        set_default(setting, value);
    free(value);
    return is_there;
}

/* The trace is the recorded program's, unless the user names another. */
static void name_program(const struct replay *replay)
{
    char *name = recorded(replay, RECORDING_INFO_PROGRAM);
    if (!name)
        return;
    set_default("session.name", name);
    if (!names_service())
        setenv("OTEL_SERVICE_NAME", name, 1);
    free(name);
}

/* Of the launcher of this program, which may run in a job itself: those that agent/resource reads. */
static void forget_launcher(void)
{
    static const char *const prefixes[] = {"RANK=",        "LOCAL_RANK=",      "WORLD_SIZE=",
                                           "HOROVOD_",     "OMPI_COMM_WORLD_", "MV2_COMM_WORLD_",
                                           "PMI_",         "MPI_LOCAL",        "FLUX_",
                                           "SLURM_",       "TORCHELASTIC_",    "LOCAL_WORLD_SIZE=",
                                           "MASTER_ADDR=", "MASTER_PORT=",     "PMIX_NAMESPACE=",
                                           "RAY_JOB_ID=",  "CUSPAN_JOB_ID="};
    for (char **at = environ; at && *at;) {
        size_t i = 0, count = sizeof prefixes / sizeof *prefixes;
        while (i < count && strncmp(*at, prefixes[i], strlen(prefixes[i])) != 0)
            i++;
        if (i == count) {
            at++;
            continue;
        }
        char *name = xasprintf("%.*s", (int)strcspn(*at, "="), *at);
        unsetenv(name); /* which moves the next one here */
        free(name);
    }
}

/* Host names have no characters that the list would have to escape. A host without an ID would get that of
 * this machine. */
static void take_host(const struct replay *replay)
{
    char *host = recorded(replay, RECORDING_INFO_HOST);
    const char *others = getenv("OTEL_RESOURCE_ATTRIBUTES");
    if (host &&
        host[strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")] == 0) {
        bool has_others = others && *others;
        char *list = xasprintf("host.name=%s,host.id=%s%s%s", host, host, has_others ? "," : "",
                               has_others ? others : "");
        setenv("OTEL_RESOURCE_ATTRIBUTES", list, 1);
        free(list);
    }
    free(host);
}

/* Stacks of launches and of graph nodes are shown if there are any. */
static void take_launch_stacks(const struct replay *replay)
{
    char *detail = recorded(replay, RECORDING_INFO_DETAIL);
    bool has_stacks = take_recorded(replay, RECORDING_INFO_LAUNCH_STACKS, RECORDING_INFO_LAUNCH_STACKS);
    if (has_stacks && detail && (strcmp(detail, "graph-nodes") == 0 || strcmp(detail, "full") == 0))
        set_default("detail", "graph-nodes");
    free(detail);
}

/* The replay is the same rank of the same job, so the traces of its steps are those of the recorded process.
 */
static void take_job(const struct replay *replay)
{
    static const char *const variables[][2] = {{RECORDING_INFO_RANK, "RANK"},
                                               {RECORDING_INFO_LOCAL_RANK, "LOCAL_RANK"},
                                               {RECORDING_INFO_WORLD_SIZE, "WORLD_SIZE"}};
    if (!take_recorded(replay, RECORDING_INFO_STEPS_TRACED, RECORDING_INFO_STEPS_TRACED))
        return; /* an older recording, without any of these */
    take_recorded(replay, RECORDING_INFO_STEPS_RATIO, RECORDING_INFO_STEPS_RATIO);
    take_recorded(replay, RECORDING_INFO_ENGINE_RATIO, RECORDING_INFO_ENGINE_RATIO);
    take_recorded(replay, RECORDING_INFO_JOB, "steps.job_id");
    forget_launcher();
    take_host(replay);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        char *value = recorded(replay, variables[i][0]);
        if (value)
            setenv(variables[i][1], value, 1);
        free(value);
    }
}

/* A file takes all spans, however long that takes on a busy machine. */
static void wait_for_file(const struct replay *replay)
{
    const struct injection *injection = &replay->injection;
    bool is_configured = injection->config || getenv("CUSPAN_CONFIG_FILE") || getenv("OTEL_CONFIG_FILE") ||
                         getenv("CUSPAN_EXIT_DEADLINE_MS");
    if ((injection->has_file || injection->has_console) && !is_configured)
        set_default("exit_deadline_ms", "600000");
}

static enum status start_agent(const struct replay *replay, struct error *err)
{
    void *initialize;
    injection_apply(&replay->injection);
    name_program(replay);
    if (take_recorded(replay, RECORDING_INFO_GPU_COUNTER, "counters.metrics"))
        set_default("counters.period", "1"); /* they appear on the spans unchanged */
    take_launch_stacks(replay);
    take_job(replay);
    wait_for_file(replay);
    enum status status = open_library(replay->injection.library, "InitializeInjection", &initialize, err);
    if (status == STATUS_OK)
        ((int (*)(void))initialize)();
    return status;
}

/* Jaeger's page searches the last hour. */
static void say_times(const struct replay *replay, const struct replay_result *result)
{
    char first[32], last[32];
    time_t from = (time_t)(result->first_ns / NS_PER_SECOND),
           to = (time_t)(result->last_ns / NS_PER_SECOND) + 1;
    struct tm parts;
    bool is_elsewhere =
        replay->injection.has_file || replay->injection.has_console || replay->injection.is_quiet;
    if (is_elsewhere || !result->first_ns || to > time(NULL) - 3600)
        return;
    strftime(first, sizeof first, "%Y-%m-%d %H:%M:%S", gmtime_r(&from, &parts));
    strftime(last, sizeof last, "%Y-%m-%d %H:%M:%S", gmtime_r(&to, &parts));
    fprintf(
        stderr,
        "cuspan replay: the spans have the recorded times, %s to %s UTC; select this range in the viewer, or "
        "add --now\n",
        first, last);
}

static enum status play(const struct replay *replay, cuspan_replay_run_fn *run, struct error *err)
{
    struct replay_options how = replay->how;
    struct replay_result result = {0};
    struct progress progress;
    progress_begin(&progress, "replaying");
    how.progress = progress_update;
    how.progress_context = &progress;
    enum status status = run(&how, &result, err);
    progress_end(&progress);
    if (status == STATUS_OK &&
        result.calls + result.resources + result.activities + result.activities_dropped == 0 &&
        result.calls_off + result.activities_off > 0)
        status = error_set(err, STATUS_UNAVAILABLE,
                           "the agent captured nothing of the recording: it is disabled, or its "
                           "configuration excludes everything");
    if (status == STATUS_OK)
        say_times(replay, &result);
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
    if (!replay->injection.is_quiet && replay->injection.report_dir)
        outcome_print(&outcome, NULL, stderr);
    int status = outcome_failed(&outcome) ? EXIT_FAILED : EXIT_OK;
    outcome_deinit(&outcome);
    return status;
}

static int wait_for_child(pid_t pid)
{
    int wait_status;
    struct sigaction ignored = {.sa_handler = SIG_IGN}, before;
    /* The terminal sends it to both processes; this one stays to clean up. */
    sigaction(SIGINT, &ignored, &before);
    while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR) {
    }
    sigaction(SIGINT, &before, NULL);
    return wait_status;
}

static int start_child(struct replay *replay, pid_t *pid, struct error *err)
{
    enum status status = injection_prepare(&replay->injection, err);
    if (status == STATUS_OK)
        status = find_double(replay, err);
    if (status != STATUS_OK)
        return status == STATUS_INVALID ? EXIT_USAGE : EXIT_FAILED;
    int wrong = injection_set(&replay->injection, &replay->options, "cupti.library", replay->double_path);
    if (wrong)
        return wrong;
    fflush(NULL);
    *pid = fork();
    if (*pid == 0)
        exit(run_child(replay));
    if (*pid > 0)
        return EXIT_OK;
    (void)error_set(err, STATUS_UNAVAILABLE, "cannot start a process for the replay: %s", strerror(errno));
    return EXIT_FAILED;
}

/* Sets `wait_status` if the child was started; not 0: it failed, and has said why. */
static int run_replay(struct replay *replay, int *wait_status)
{
    struct error err = {""};
    pid_t pid = -1;
    int result = start_child(replay, &pid, &err);
    if (*err.text)
        fprintf(stderr, "cuspan replay: %s\n", err.text);
    if (result != EXIT_OK)
        return result;
    *wait_status = wait_for_child(pid);
    return *wait_status == 0 ? print_outcome(replay) : EXIT_OK;
}

int cmd_replay(const struct command *command, int argc, char **argv)
{
    struct replay replay = {0};
    int result, wait_status = 0;
    const struct option_target targets[] = {
        {OPTION_PACED, .flag = &replay.how.is_paced},
        {OPTION_OVERLOAD, .flag = &replay.how.overload},
        {OPTION_REPEAT, .number = &replay.how.repeat, .min = 1, .max = INT_MAX},
        {OPTION_NOW, .flag = &replay.ends_now},
        {OPTION_CUPTI_VERSION, .text = &replay.release},
        {0}};
    options_init(&replay.options, command, argc, argv);
    if (!options_read(&replay.options, targets, take_option, &replay))
        result = replay.options.status;
    else if ((result = check_options(&replay)) == EXIT_OK)
        result = run_replay(&replay, &wait_status);
    injection_deinit(&replay.injection);
    free(replay.double_path);
    free(replay.copy_path);
    if (replay.copy)
        fclose(replay.copy);
    return wait_status ? launch_end(wait_status) : result;
}
