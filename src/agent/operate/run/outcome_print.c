#include "agent/operate/run/outcome.h"

#include "base/accounting/counters.h"
#include "base/process/signal_names.h"
#include "cli/util/text.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define LINKS_MAX 3 /* more traces are only counted */

bool outcome_trace_link(const char *endpoint, const char *trace_id, char *out, size_t size)
{
    const char *scheme_end = strstr(endpoint, "://");
    const char *host = scheme_end ? scheme_end + 3 : endpoint;
    const char *end = host + strcspn(host, "/?#");
    const char *at = memchr(host, '@', (size_t)(end - host));
    host = at ? at + 1 : host;
    const char *bracket = *host == '[' ? memchr(host, ']', (size_t)(end - host)) : NULL;
    const char *colon = memchr(bracket ? bracket : host, ':', (size_t)(end - (bracket ? bracket : host)));
    if (!colon || end - colon != 5 || (strncmp(colon, ":4318", 5) != 0 && strncmp(colon, ":4317", 5) != 0))
        return false;
    int host_len = (int)(colon - host);
    bool is_any = host_len == 7 && strncmp(host, "0.0.0.0", 7) == 0;
    snprintf(out, size, "http://%.*s:16686/trace/%s", is_any ? 9 : host_len, is_any ? "localhost" : host,
             trace_id);
    return true;
}

static const char *help_of(const char *loss)
{
    for (int i = 0; i < COUNTER_COUNT; i++) {
        if (strcmp(counter_name((enum counter)i), loss) == 0)
            return counter_help((enum counter)i);
    }
    return NULL;
}

static void print_losses(const struct outcome *outcome, FILE *out)
{
    char number[TEXT_NUMBER_BYTES];
    for (size_t i = 0; i < outcome->loss_count; i++) {
        const char *help = help_of(outcome->losses[i].name);
        fprintf(out, "cuspan: lost %s: %s%s%s%s\n", text_count(number, outcome->losses[i].count),
                outcome->losses[i].name, help ? " (" : "", help ? help : "", help ? ")" : "");
    }
}

static void print_traces(const struct outcome *outcome, const char *endpoint, FILE *out)
{
    char link[512], number[TEXT_NUMBER_BYTES];
    size_t shown = outcome->trace_count < LINKS_MAX ? outcome->trace_count : LINKS_MAX;
    for (size_t i = 0; i < shown; i++) {
        if (endpoint && outcome_trace_link(endpoint, outcome->traces[i], link, sizeof link))
            fprintf(out, "cuspan: view it: %s\n", link);
        else
            fprintf(out, "cuspan: trace ID %s\n", outcome->traces[i]);
    }
    if (outcome->trace_total > shown && shown > 0)
        fprintf(out, "cuspan: and %s more traces\n", text_count(number, outcome->trace_total - shown));
}

static void print_output(const struct outcome *outcome, const struct outcome_output *output, FILE *out)
{
    if (output->unit != &outcome_spans)
        return; /* cuspan does not show these */
    if (strcmp(output->kind, "otlp_http") == 0 || strcmp(output->kind, "otlp_grpc") == 0)
        print_traces(outcome, output->endpoint, out);
    else if (output->endpoint)
        fprintf(out, "cuspan: view it: cuspan show %s\n", output->endpoint);
}

static bool has_outputs_of(const struct outcome *outcome, const struct outcome_unit *unit)
{
    for (size_t i = 0; i < outcome->output_count; i++)
        if (outcome->outputs[i].unit == unit)
            return true;
    return false;
}

static void print_delivered(const struct outcome_output *output, FILE *out)
{
    char all[TEXT_NUMBER_BYTES], arrived[TEXT_NUMBER_BYTES];
    bool is_all = output->delivered >= output->made;
    const char *to = output->endpoint;
    if (!to && output->unit == &outcome_spans)
        to = output->kind;
    fprintf(out, "cuspan: %s%s%s %s delivered%s%s", text_count(arrived, output->delivered),
            is_all ? "" : " of ", is_all ? "" : text_count(all, output->made),
            output->made == 1 ? output->unit->one : output->unit->many, to ? " to " : "", to ? to : "");
    if (output->processes > 1)
        fprintf(out, ", by %zu processes", output->processes);
    fputc('\n', out);
}

static void print_deliveries(const struct outcome *outcome, FILE *out)
{
    if (outcome->spans > 0 && !has_outputs_of(outcome, &outcome_spans))
        print_delivered(&(struct outcome_output){.unit = &outcome_spans,
                                                 .made = outcome->spans,
                                                 .delivered = outcome->delivered,
                                                 .processes = outcome->processes},
                        out);
    for (size_t i = 0; i < outcome->output_count; i++) {
        const struct outcome_output *output = &outcome->outputs[i];
        if (output->made > 0 || (output->unit == &outcome_spans && outcome->spans > 0))
            print_delivered(output, out);
    }
    if (outcome->outputs_more)
        fprintf(out, "cuspan: and to %zu more outputs\n", outcome->outputs_more);
}

static void print_sleep(const struct outcome *outcome, FILE *out)
{
    char times[TEXT_NUMBER_BYTES], length[TEXT_NUMBER_BYTES];
    if (outcome->sleeps)
        fprintf(out,
                "cuspan: asleep %s %s, %s in all: nothing sampled was in flight, or the program had stopped "
                "tracing\n",
                text_count(times, outcome->sleeps), outcome->sleeps == 1 ? "time" : "times",
                text_duration(length, outcome->asleep_ns, false));
}

static void print_spooled(const struct outcome *outcome, FILE *out)
{
    char number[TEXT_NUMBER_BYTES];
    uint64_t points = 0;
    for (size_t i = 0; i < outcome->output_count; i++)
        points += outcome->outputs[i].unit == &outcome_points ? outcome->outputs[i].spooled : 0;
    const struct {
        uint64_t count;
        const struct outcome_unit *unit;
    } left[] = {{outcome->spooled, &outcome_spans}, {points, &outcome_points}};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        bool is_one = left[i].count == 1;
        if (left[i].count)
            fprintf(
                out,
                "cuspan: %s %s left in the spool; `cuspan send` or the next process with this spool delivers "
                "%s\n",
                text_count(number, left[i].count), is_one ? left[i].unit->one : left[i].unit->many,
                is_one ? "it" : "them");
    }
}

/* Processes without a final report. */

#define SOONER                                                                                               \
    "deliver more often: lower OTEL_BSP_SCHEDULE_DELAY and distribution.cuspan.cupti.flush_interval_ms"

/* Only the program's own status and end time are known, not those of its children. */
static bool is_program(const struct outcome_end *end, const struct launched *launched)
{
    return launched && end->pid == launched->pid;
}

/* Spans that ended after the last delivery cannot have been delivered. */
static void print_missing(const struct outcome_end *end, const struct launched *launched, FILE *out)
{
    char length[TEXT_NUMBER_BYTES];
    uint64_t since_ns = end->last_delivery_ns ? end->last_delivery_ns : end->start_ns;
    if (is_program(end, launched) && since_ns && launched->end_ns > since_ns)
        fprintf(out, "; %s %s %s", end->last_delivery_ns ? "the last" : "all of its",
                text_duration(length, launched->end_ns - since_ns, false),
                end->is_recorded ? "are not in the recording" : "were not delivered");
    else
        fprintf(out, "; everything after %s was lost",
                end->is_recorded ? "the recording's last block" : "its last delivery");
}

static void print_cut_off(const struct outcome_end *end, const struct launched *launched, FILE *out)
{
    int number =
        is_program(end, launched) && WIFSIGNALED(launched->wait_status) ? WTERMSIG(launched->wait_status) : 0;
    if (number)
        fprintf(out, "was ended by %s", number == SIGKILL ? "SIGKILL" : signal_name(number));
    else if (is_program(end, launched))
        fputs("ended by _exit() or exec(), without its exit handlers", out);
    else
        fputs("ended by _exit(), exec() or a signal, without its exit handlers", out);
    print_missing(end, launched, out);
    if (number && number != SIGKILL && signal_by_name(signal_name(number)))
        fprintf(out,
                "; to deliver first, add %s to distribution.cuspan.on_signal (a handler of the program goes "
                "before)",
                signal_name(number));
    else if (number)
        fputs("; " SOONER, out);
    else
        fputs("; call cuspan_finish() (Python: cuspan.finish()) first, or " SOONER, out);
}

static void print_end(const struct outcome_end *end, const struct launched *launched, FILE *out)
{
    fprintf(out, "cuspan: process %d%s%s%s ", (int)end->pid, *end->program ? " (" : "", end->program,
            *end->program ? ")" : "");
    if (end->state == OUTCOME_NOT_TRACED)
        fprintf(out, "was not traced: %s", end->why);
    else if (!is_program(end, launched) && (kill(end->pid, 0) == 0 || errno == EPERM))
        fputs("is still running; what it delivers from now on is not counted here", out);
    else if (end->state == OUTCOME_RUNNING)
        print_cut_off(end, launched, out);
    else
        fputs("ended before the agent had delivered everything: the exit deadline passed, or a second signal "
              "arrived; raise distribution.cuspan.exit_deadline_ms",
              out);
    fputc('\n', out);
}

static void print_ends(const struct outcome *outcome, const struct launched *launched, FILE *out)
{
    size_t all = outcome->unfinished + outcome->not_traced;
    for (size_t i = 0; i < outcome->end_count; i++)
        print_end(&outcome->ends[i], launched, out);
    if (all > outcome->end_count)
        fprintf(out, "cuspan: and %zu more processes that left no final report or were not traced\n",
                all - outcome->end_count);
}

/* No process was traced. */
static void print_buffer_stall(const struct outcome *outcome, const struct launched *launched, FILE *out)
{
    if (outcome->not_traced) {
        fputs("cuspan: no spans\n", out);
        print_ends(outcome, launched, out);
        return;
    }
    fputs(
        "cuspan: no spans: the agent was never started. The program made no CUDA call, its processes ran on "
        "other machines, there is no NVIDIA driver or GPU here, or the agent could not read its "
        "configuration "
        "(its error is above)\n",
        out);
}

static void print_no_spans(const struct outcome *outcome, FILE *out)
{
    char number[TEXT_NUMBER_BYTES];
    const char *why = "saw no call to trace";
    if (outcome->releases)
        why = "another tool used CUPTI";
    else if (outcome->calls + outcome->activities > 0 && outcome->loss_count)
        why = "all that it captured was lost";
    if (outcome->unfinished)
        fputs("cuspan: no spans were delivered\n", out);
    else if (outcome->unsampled)
        fprintf(out, "cuspan: no spans: the sampler dropped all %s spans\n",
                text_count(number, outcome->unsampled));
    else if (outcome->filtered)
        fprintf(out, "cuspan: no spans: the settings (capture) exclude all %s calls and GPU records\n",
                text_count(number, outcome->filtered));
    else
        fprintf(out, "cuspan: no spans: the agent ran, but %s\n", why);
}

static void print_recordings(const struct outcome *outcome, FILE *out)
{
    char size[TEXT_NUMBER_BYTES], events[TEXT_NUMBER_BYTES];
    struct stat facts;
    for (size_t i = 0; i < outcome->recording_count && i < OUTCOME_FILES_MAX; i++) {
        const char *path = outcome->recordings[i].path;
        bool is_there = stat(path, &facts) == 0;
        fprintf(out, "cuspan: %s: %s, %s events", path,
                is_there ? text_bytes(size, (uint64_t)facts.st_size) : "missing",
                text_count(events, outcome->recordings[i].events));
        if (outcome->recordings[i].events)
            fprintf(out, "; view it: cuspan show %s", path);
        fputc('\n', out);
    }
    if (outcome->recording_count > OUTCOME_FILES_MAX)
        fprintf(out, "cuspan: and %zu more recordings\n", outcome->recording_count - OUTCOME_FILES_MAX);
}

/* `is_shortfall`: without deliveries. */
static void print_all(const struct outcome *outcome, const struct launched *launched, bool is_shortfall,
                      FILE *out)
{
    if (outcome->processes == 0) {
        print_buffer_stall(outcome, launched, out);
        return;
    }
    if (outcome->unreadable)
        fprintf(out, "cuspan: %zu reports could not be read\n", outcome->unreadable);
    print_recordings(outcome, out);
    /* Whether the agents were to make spans: there may be no output for them, or no such process. */
    bool has_other_outputs = outcome->output_count > 0 && !has_outputs_of(outcome, &outcome_spans);
    if (outcome->spans == 0 && outcome->recording_count < outcome->processes && !has_other_outputs)
        print_no_spans(outcome, out);
    if (!is_shortfall)
        print_deliveries(outcome, out);
    print_ends(outcome, launched, out);
    print_sleep(outcome, out);
    if (!is_shortfall)
        print_spooled(outcome, out);
    print_losses(outcome, out);
    for (size_t i = 0; !is_shortfall && i < outcome->output_count; i++)
        if (outcome->outputs[i].delivered > 0)
            print_output(outcome, &outcome->outputs[i], out);
}

void outcome_print(const struct outcome *outcome, const struct launched *launched, FILE *out)
{
    print_all(outcome, launched, false, out);
}

void outcome_print_shortfall(const struct outcome *outcome, const struct launched *launched, FILE *out)
{
    print_all(outcome, launched, true, out);
}

void outcome_print_recordings(const struct outcome *outcome, const struct launched *launched,
                              const char *path, FILE *out)
{
    if (outcome->processes == 0) {
        print_buffer_stall(outcome, launched, out);
        return;
    }
    if (outcome->recording_count == 0)
        fprintf(out, "cuspan: nothing was recorded in %s\n", path);
    print_recordings(outcome, out);
    print_ends(outcome, launched, out);
    print_losses(outcome, out);
}
