/* Runs the program with all levels in each round, and rotates the order by one per round. */
#include "base/clock.h"
#include "agent/operate/run/launch.h"
#include "cli/util/temporary.h"
#include "cli/util/xalloc.h"
#include "agent/operate/run/outcome.h"
#include "command/overhead/overhead.h"
#include "cli/util/text.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_BYTES_MAX (1024 * 1024) /* of the program's output, from its end */
#define TAIL_LINES       5

#define SETTING_METRICS "counters.metrics="
#define USUAL_METRICS   "dram.read,dram.write"

static const char *const names[LEVEL_COUNT] = {"none",        "asleep", "summary", "default",
                                               "graph-nodes", "full",   "counters"};

const char *overhead_level_name(enum overhead_level level)
{
    return names[level];
}

/* --- one run --- */

struct child {
    const struct injection *injection;
    enum overhead_level level;
    int output;
};

/* Unless the user selected levels. */
static void set_counters(struct injection *injection)
{
    text_add(&injection->set, "\ndetail=default");
    if (!strstr(injection->set.data, SETTING_METRICS))
        text_add(&injection->set, "\n" SETTING_METRICS USUAL_METRICS);
}

/* In the child: its environment is its own. */
static void set_up(void *context)
{
    const struct child *child = context;
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
    dup2(child->output, STDOUT_FILENO);
    dup2(child->output, STDERR_FILENO);
    if (child->level == LEVEL_NONE) {
        unsetenv("CUDA_INJECTION64_PATH");
        unsetenv("NVTX_INJECTION64_PATH");
        unsetenv("NCCL_PROFILER_PLUGIN");
        return;
    }
    struct injection injection = *child->injection;
    if (child->level == LEVEL_ASLEEP)
        setenv("OTEL_TRACES_SAMPLER", "always_off", 1);
    else if (child->level == LEVEL_COUNTERS)
        set_counters(&injection);
    else
        text_add_format(&injection.set, "\ndetail=%s", names[child->level]);
    injection_apply(&injection);
}

static const char *last_lines(const char *text)
{
    const char *at = text + strlen(text);
    size_t lines = 0;
    while (at > text && (lines < TAIL_LINES || at[-1] != '\n')) {
        at--;
        lines += *at == '\n' && at[1];
    }
    return *at == '\n' ? at + 1 : at;
}

/* The last match: programs print intermediate figures, and the final one at the end. */
static bool find_figure(const regex_t *pattern, const char *text, double *figure)
{
    regmatch_t found[2];
    bool is_found = false;
    while (*text && regexec(pattern, text, 2, found, 0) == 0) {
        char *end;
        double value = strtod(text + found[1].rm_so, &end);
        if (found[1].rm_so >= 0 && end != text + found[1].rm_so) {
            *figure = value;
            is_found = true;
        }
        text += found[0].rm_eo > 0 ? found[0].rm_eo : 1;
    }
    return is_found;
}

static void take_outcome(struct overhead_run *run, const char *folder)
{
    struct outcome outcome;
    outcome_read(&outcome, folder);
    run->has_agent = outcome.processes > 0;
    run->has_callbacks = outcome.callback_calls > 0;
    run->callback_ns = outcome.callback_ns;
    run->threads_ns = outcome.own_threads_ns;
    run->spans = outcome.spans;
    for (size_t i = 0; i < outcome.loss_count; i++)
        run->lost += outcome.losses[i].count;
    outcome_deinit(&outcome);
}

static char *describe_end(int wait_status)
{
    if (WIFSIGNALED(wait_status))
        return xasprintf("was killed by signal %d (%s)", WTERMSIG(wait_status),
                         strsignal(WTERMSIG(wait_status)));
    return xasprintf("ended with exit status %d", WEXITSTATUS(wait_status));
}

static bool was_asked_to_end(int wait_status)
{
    int number = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
    return number == SIGINT || number == SIGTERM || number == SIGHUP;
}

/* --- all of them --- */

/* Shared by all levels. */
struct session {
    struct overhead *overhead;
    const struct injection *injection;
    char **program;
    bool has_end; /* exit status of the run without cuspan */
    int end;
};

static void give_up(struct session *session, enum overhead_level level, char *why, const char *output)
{
    fprintf(stderr, "cuspan overhead: level %s: %s; skipping this level\n", names[level], why);
    if (*output)
        fprintf(stderr, "its last output:\n%s%s", last_lines(output),
                output[strlen(output) - 1] == '\n' ? "" : "\n");
    session->overhead->failure[level] = why;
}

/* The problem of a finished run; NULL: none. The caller frees it. */
static char *find_fault(struct session *session, struct overhead_run *run, int wait_status,
                        const char *output)
{
    const struct overhead_options *options = &session->overhead->options;
    if (!session->has_end && run->level == LEVEL_NONE && !WIFSIGNALED(wait_status)) {
        session->has_end = true;
        session->end = wait_status;
    }
    if (!session->has_end || wait_status != session->end) {
        char *now = describe_end(wait_status);
        char *fault = session->has_end ? xasprintf("the program %s (without cuspan: exit status %d)", now,
                                                   WEXITSTATUS(session->end))
                                       : xasprintf("the program %s", now);
        free(now);
        return fault;
    }
    if (options->has_figure && !find_figure(&options->figure, output, &run->figure))
        return xasprintf("no output of the program matches --figure");
    return NULL;
}

/* Not OK: the program cannot be started. */
static enum status run_once(struct session *session, enum overhead_level level, uint32_t round,
                            struct error *err)
{
    struct overhead *overhead = session->overhead;
    struct overhead_run run = {.level = level, .round = round};
    struct launched launched;
    FILE *file = temporary_file();
    if (!file)
        return error_set(err, STATUS_IO, "cannot create a temporary file for the program's output");
    struct child child = {session->injection, level, fileno(file)};
    uint64_t begin_ns = clock_monotonic_ns();
    enum status status = launch(session->program, set_up, &child, &launched, err);
    run.wall_ns = clock_monotonic_ns() - begin_ns;
    if (status != STATUS_OK) {
        fclose(file);
        return status;
    }
    char *output = text_read_end(file, OUTPUT_BYTES_MAX);
    fclose(file);
    overhead->is_interrupted = was_asked_to_end(launched.wait_status);
    char *fault = overhead->is_interrupted ? NULL : find_fault(session, &run, launched.wait_status, output);
    take_outcome(&run, session->injection->report_dir);
    injection_clear_reports(session->injection);
    if (fault)
        give_up(session, level, fault, output);
    else if (!overhead->is_interrupted && round >= overhead->options.warm_up)
        overhead_add(overhead, &run);
    free(output);
    return STATUS_OK;
}

static void show_progress(const struct overhead *overhead, uint32_t round, enum overhead_level level)
{
    const struct overhead_options *options = &overhead->options;
    if (options->is_quiet || !isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "\r\033[K%s %u of %u: %s", round < options->warm_up ? "to warm up, round" : "round",
            round < options->warm_up ? round + 1 : round - options->warm_up + 1,
            round < options->warm_up ? options->warm_up : options->rounds, names[level]);
}

static enum status run_round(struct session *session, uint32_t round, struct error *err)
{
    struct overhead *overhead = session->overhead;
    enum overhead_level wanted[LEVEL_COUNT];
    uint32_t count = 0;
    for (int level = 0; level < LEVEL_COUNT; level++)
        if (overhead->options.is_wanted[level])
            wanted[count++] = (enum overhead_level)level;
    for (uint32_t i = 0; i < count; i++) {
        enum overhead_level level = wanted[(i + round) % count];
        if (overhead->failure[level])
            continue;
        show_progress(overhead, round, level);
        enum status status = run_once(session, level, round, err);
        if (status != STATUS_OK || overhead->is_interrupted)
            return status;
        if (overhead->failure[LEVEL_NONE])
            return error_set(err, STATUS_INVALID, "there is no run without cuspan to compare with");
    }
    return STATUS_OK;
}

enum status overhead_measure(struct overhead *overhead, const struct injection *injection, char **program,
                             struct error *err)
{
    const struct overhead_options *options = &overhead->options;
    struct session session = {.overhead = overhead, .injection = injection, .program = program};
    uint64_t until_ns = clock_monotonic_ns() + options->seconds_max * NS_PER_SECOND;
    enum status status = STATUS_OK;
    for (uint32_t round = 0; round < options->warm_up + options->rounds && status == STATUS_OK; round++) {
        bool is_late = options->seconds_max && clock_monotonic_ns() >= until_ns;
        if (overhead->is_interrupted || (is_late && round > options->warm_up))
            break;
        status = run_round(&session, round, err);
    }
    if (!options->is_quiet && isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
    if (status == STATUS_OK && overhead->count == 0)
        status = error_set(err, STATUS_INVALID, "no run has ended, so there is no result");
    return status;
}

void overhead_add(struct overhead *overhead, const struct overhead_run *run)
{
    *XADD(overhead->runs, overhead->count, overhead->capacity) = *run;
}

void overhead_deinit(struct overhead *overhead)
{
    for (int level = 0; level < LEVEL_COUNT; level++)
        free(overhead->failure[level]);
    free(overhead->runs);
    *overhead = (struct overhead){0};
}
