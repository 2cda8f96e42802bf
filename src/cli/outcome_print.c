#include "cli/outcome.h"

#include "base/counters.h"
#include "cli/text.h"

#include <string.h>
#include <sys/stat.h>

#define LINKS_MAX 3 /* more traces are counted */

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

static bool is_otlp(const char *kind)
{
    return strncmp(kind, "otlp_http", 9) == 0 || strncmp(kind, "otlp_grpc", 9) == 0;
}

static void print_traces(const struct outcome *outcome, const char *endpoint, FILE *out)
{
    char link[512], number[TEXT_NUMBER_BYTES];
    size_t shown = outcome->trace_count < LINKS_MAX ? outcome->trace_count : LINKS_MAX;
    for (size_t i = 0; i < shown; i++) {
        if (endpoint && outcome_trace_link(endpoint, outcome->traces[i], link, sizeof link))
            fprintf(out, "cuspan: look at it: %s\n", link);
        else
            fprintf(out, "cuspan: trace ID %s\n", outcome->traces[i]);
    }
    if (outcome->trace_total > shown && shown > 0)
        fprintf(out, "cuspan: and %s more traces\n", text_count(number, outcome->trace_total - shown));
}

static void print_output(const struct outcome *outcome, size_t index, FILE *out)
{
    const char *kind = outcome->outputs[index].kind, *endpoint = outcome->outputs[index].endpoint;
    if (is_otlp(kind))
        print_traces(outcome, endpoint, out);
    else if (endpoint)
        fprintf(out, "cuspan: look at it: cuspan show %s\n", endpoint);
}

static void print_delivered(const struct outcome *outcome, FILE *out)
{
    char spans[TEXT_NUMBER_BYTES], delivered[TEXT_NUMBER_BYTES];
    bool is_all = outcome->delivered >= outcome->spans;
    fprintf(out, "cuspan: %s%s%s %s delivered", text_count(delivered, outcome->delivered),
            is_all ? "" : " of ", is_all ? "" : text_count(spans, outcome->spans),
            outcome->spans == 1 ? "span" : "spans");
    for (size_t i = 0; i < outcome->output_count; i++)
        fprintf(out, "%s %s", i ? " and" : " to",
                outcome->outputs[i].endpoint ? outcome->outputs[i].endpoint : outcome->outputs[i].kind);
    if (outcome->processes > 1)
        fprintf(out, ", by %zu processes", outcome->processes);
    fputc('\n', out);
}

static void print_silence(FILE *out)
{
    fputs("cuspan: no spans: the agent was never started. The program made no CUDA call, or there is no "
          "NVIDIA driver or GPU "
          "here, or it was killed; a line of the agent itself would stand above\n",
          out);
}

void outcome_print(const struct outcome *outcome, FILE *out)
{
    if (outcome->processes == 0) {
        print_silence(out);
        return;
    }
    if (outcome->unreadable)
        fprintf(out, "cuspan: %zu reports could not be read\n", outcome->unreadable);
    if (outcome->spans == 0)
        fputs("cuspan: no spans: the agent ran, but saw no call that it traces\n", out);
    else
        print_delivered(outcome, out);
    print_losses(outcome, out);
    for (size_t i = 0; i < outcome->output_count && outcome->delivered; i++)
        print_output(outcome, i, out);
}

void outcome_print_recordings(const struct outcome *outcome, const char *path, FILE *out)
{
    char size[TEXT_NUMBER_BYTES], events[TEXT_NUMBER_BYTES];
    struct stat facts;
    if (outcome->processes == 0) {
        print_silence(out);
        return;
    }
    if (outcome->recording_count == 0)
        fprintf(out, "cuspan: nothing was recorded in %s\n", path);
    for (size_t i = 0; i < outcome->recording_count; i++) {
        const char *recording = outcome->recordings[i].path;
        bool is_there = stat(recording, &facts) == 0;
        fprintf(out, "cuspan: %s: %s, %s events; look at it: cuspan show %s\n", recording,
                is_there ? text_bytes(size, (uint64_t)facts.st_size) : "missing",
                text_count(events, outcome->recordings[i].events), recording);
    }
    print_losses(outcome, out);
}
