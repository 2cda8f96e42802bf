#include "agent/operate/doctor/checks.h"

#include "base/text/sanitize.h"
#include "base/trace_context.h"
#include "agent/operate/doctor/doctor_facts.h"
#include "cli/util/xalloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MESSAGES_MAX 8 /* per configuration; `cuspan check` prints all */

/* Variables that users expect to apply in addition to a configuration file. */
static void report_ignored_variables(struct doctor *doctor, const char *path)
{
    static const char *const variables[] = {
        "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        "OTEL_EXPORTER_OTLP_HEADERS",  "OTEL_EXPORTER_OTLP_PROTOCOL",
        "OTEL_SERVICE_NAME",           "OTEL_TRACES_SAMPLER",
        "OTEL_SDK_DISABLED",           "CUSPAN_DETAIL"};
    FILE *file = fopen(path, "re");
    char *text = xcalloc(FACTS_BYTES_MAX + 1, 1);
    if (file) {
        text[fread(text, 1, FACTS_BYTES_MAX, file)] = '\0';
        fclose(file);
    }
    for (size_t i = 0; file && i < sizeof variables / sizeof *variables; i++) {
        if (!doctor_facts_variable(variables[i]) || strstr(text, variables[i]))
            continue;
        doctor_result(doctor, RESULT_WARNING, "%s is set but ignored: %s does not reference it", variables[i],
                      path);
        doctor_fix(doctor, "write ${%s} in the file's setting, or use no file", variables[i]);
    }
    free(text);
}

void check_configuration_file(struct doctor *doctor)
{
    const char *own = doctor_facts_variable("CUSPAN_CONFIG_FILE"),
               *sdk = doctor_facts_variable("OTEL_CONFIG_FILE");
    const char *by = doctor->injection.config ? "--config" : own ? "CUSPAN_CONFIG_FILE" : "OTEL_CONFIG_FILE";
    const char *path = doctor->injection.config ? doctor->injection.config : own ? own : sdk;
    if (!path) {
        doctor_result(doctor, RESULT_OK, "no file: the OTEL_* and CUSPAN_* variables apply");
    } else if (access(path, R_OK) != 0) {
        doctor_result(doctor, RESULT_PROBLEM, "%s is %s: %s; the agent does not trace", by, path,
                      strerror(errno));
        doctor_fix(doctor, "correct the path, or unset %s", by);
    } else {
        doctor_result(doctor, RESULT_OK, "%s, selected by %s%s", path, by,
                      own && sdk && path != sdk ? "; OTEL_CONFIG_FILE applies only to SDKs" : "");
        report_ignored_variables(doctor, path);
    }
}

void check_configuration_check(struct doctor *doctor)
{
    const struct config_report *report = doctor->report;
    const char *file = doctor->injection.config ? doctor->injection.config
                       : report->is_file        ? report->source
                                                : "";
    for (uint32_t i = 0; i < report->count && i < MESSAGES_MAX; i++) {
        bool is_error = report->messages[i].severity == CONFIG_ERROR;
        doctor_result(doctor, is_error ? RESULT_PROBLEM : RESULT_WARNING, "%s", report->messages[i].text);
        doctor_fix(doctor, "%sfix this setting; to see all messages: cuspan check%s%s",
                   is_error ? "the agent does not trace until then: " : "", *file ? " " : "", file);
    }
    if (!doctor->has_settings && report->errors == 0) {
        doctor_result(doctor, RESULT_PROBLEM, "%s: %s", report->source, status_text(doctor->config_status));
        doctor_fix(doctor, "cuspan check%s%s", *file ? " " : "", file);
    } else if (report->count == 0) {
        doctor_result(doctor, RESULT_OK, "%s is valid", report->source);
    }
}

static void report_outputs(struct doctor *doctor)
{
    static const char *const kinds[] = {"OTLP/HTTP", "OTLP/gRPC", "a file", "the console"};
    struct text list = {0};
    for (size_t i = 0; i < doctor->settings.output_count; i++) {
        const struct exporter_settings *exporter = &doctor->settings.outputs[i].exporter;
        char url[1024];
        text_add_format(&list, "%s%s", i ? " and " : "", kinds[exporter->kind]);
        if (exporter->endpoint)
            text_add_format(&list, " %s",
                            exporter->kind == EXPORTER_FILE
                                ? exporter->endpoint
                                : sanitize_url(url, sizeof url, exporter->endpoint));
    }
    doctor_result(doctor, RESULT_OK, "spans go to %s", list.data);
    text_deinit(&list);
}

void check_configuration_enabled(struct doctor *doctor)
{
    const struct settings *settings = &doctor->settings;
    const char *variable = doctor_facts_variable("OTEL_SDK_DISABLED");
    if (settings->disabled) {
        doctor_result(doctor, RESULT_PROBLEM, "tracing is disabled by %s",
                      variable && !doctor->report->is_file ? "OTEL_SDK_DISABLED" : "disabled: true");
        doctor_fix(doctor, "%s",
                   variable && !doctor->report->is_file ? "unset OTEL_SDK_DISABLED" : "set disabled: false");
    } else if (settings->record_file) {
        doctor_result(doctor, RESULT_WARNING, "record_file is %s: the agent records and exports nothing",
                      settings->record_file);
        doctor_fix(doctor, "unset record_file, or replay the recording: cuspan replay %s",
                   settings->record_file);
    } else if (!settings_have_output(settings)) {
        doctor_result(doctor, RESULT_PROBLEM, "no exporter is configured: the agent does not trace");
        doctor_fix(doctor,
                   "set OTEL_TRACES_EXPORTER=otlp, configure an exporter in the file, or use --endpoint URL");
    } else {
        report_outputs(doctor);
    }
}

/* Whether the parent decides about sampling. */
static bool check_parent(struct doctor *doctor)
{
    struct trace_context parent;
    const char *set = doctor_facts_variable("TRACEPARENT");
    if (!set)
        return false;
    if (!trace_context_parse(set, doctor_facts_variable("TRACESTATE"), &parent)) {
        doctor_result(doctor, RESULT_WARNING, "TRACEPARENT is \"%s\", which is invalid and ignored", set);
        doctor_fix(doctor, "unset TRACEPARENT, or set it to 00-TRACE-SPAN-01");
        return false;
    }
    if (!doctor->settings.sampler_parent_based)
        return false;
    if (parent.flags & TRACE_FLAG_SAMPLED) {
        doctor_result(doctor, RESULT_OK, "TRACEPARENT is sampled, and the sampler follows it");
    } else {
        doctor_result(doctor, RESULT_PROBLEM,
                      "TRACEPARENT is %s: the parent is not sampled, so this trace is not sampled", set);
        doctor_fix(doctor, "unset TRACEPARENT, sample the parent (flags 01), or ignore the parent: "
                           "OTEL_TRACES_SAMPLER=always_on");
    }
    return true;
}

static void check_sampler(struct doctor *doctor)
{
    const struct settings *settings = &doctor->settings;
    bool is_ratio = settings->sampler == SAMPLER_TRACE_ID_RATIO;
    if (settings->sampler == SAMPLER_ALWAYS_OFF || (is_ratio && settings->sampler_ratio <= 0)) {
        doctor_result(doctor, RESULT_PROBLEM, "the sampler is %s: no root span is sampled%s",
                      is_ratio ? "a ratio of 0" : "always_off",
                      settings->sampler_parent_based ? ", only children of sampled parents" : "");
        doctor_fix(doctor,
                   "set OTEL_TRACES_SAMPLER=parentbased_always_on, or always_on as the file's sampler");
    } else if (is_ratio && settings->sampler_ratio < 1) {
        doctor_result(doctor, RESULT_WARNING,
                      "the sampler selects %g %% of root spans: most runs have no trace",
                      settings->sampler_ratio * 100);
        doctor_fix(doctor, "to trace every run, set OTEL_TRACES_SAMPLER=parentbased_always_on");
    } else {
        doctor_result(doctor, RESULT_OK, "the sampler is always_on");
    }
    if (settings->sampling.traces_per_second > 0) {
        doctor_result(doctor, RESULT_WARNING, "at most %g traces per second are started",
                      settings->sampling.traces_per_second);
        doctor_fix(doctor, "raise sampling.traces_per_second, or set it to 0");
    }
}

void check_configuration_sampling(struct doctor *doctor)
{
    if (!check_parent(doctor))
        check_sampler(doctor);
    if (doctor->settings.sampling.sleep == SLEEP_ALWAYS) {
        doctor_result(doctor, RESULT_WARNING, "sampling.sleep is always: only attached requests are traced");
        doctor_fix(doctor, "set sampling.sleep: auto, or attach requests (cuspan.h or the Python package)");
    }
}

/* Handles expected data that is neither a kind nor a call; false for other words. */
static bool check_keyword(struct doctor *doctor, const char *word)
{
    const struct settings *settings = &doctor->settings;
    const struct {
        const char *word;
        bool is_on;
        const char *fix;
    } words[] = {
        {"nvtx", settings->capture.nvtx, "set capture.nvtx: true"},
        {"graph-nodes", settings_have_graph_nodes(settings), "set detail: graph-nodes"},
        {"parameters", settings->capture.parameters && settings->detail != DETAIL_SUMMARY,
         "set capture.parameters: true, and a detail other than summary"},
        {"calls",
         (settings->capture.runtime || settings->capture.driver) && settings->detail != DETAIL_SUMMARY,
         "set capture.runtime and capture.driver to true, and a detail other than summary"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(word, words[i].word) != 0)
            continue;
        doctor_result(doctor, words[i].is_on ? RESULT_OK : RESULT_PROBLEM, "%s: %s (detail %s)", word,
                      words[i].is_on ? "on" : "off", detail_name(settings->detail));
        if (!words[i].is_on)
            doctor_fix(doctor, "%s", words[i].fix);
        return true;
    }
    return false;
}

static void check_kind(struct doctor *doctor, const char *word)
{
    char why[DOCTOR_TEXT_BYTES];
    if (check_keyword(doctor, word))
        return;
    if (!doctor->api) {
        doctor_result(doctor, RESULT_UNKNOWN, "%s: libcuspan.so cannot be loaded (injection.library)", word);
        return;
    }
    switch (doctor->api->is_traced(&doctor->settings, word, why)) {
    case DOCTOR_TRACED:
        doctor_result(doctor, RESULT_OK, "%s: on%s", word,
                      doctor->settings.detail == DETAIL_SUMMARY ? ", in summaries without spans" : "");
        break;
    case DOCTOR_NOT_TRACED:
        doctor_result(doctor, RESULT_PROBLEM, "%s: off, %.*s", word, (int)strcspn(why, ";"), why);
        doctor_fix(doctor, "%s", strchr(why, ';') ? strchr(why, ';') + 2 : "change that setting");
        break;
    case DOCTOR_NO_SUCH_NAME:
        doctor_result(doctor, RESULT_PROBLEM, "%s: no kind, call or group has this name", word);
        doctor_fix(doctor, "use names such as kernel, memcpy, graph-nodes, nvtx, launch, cudaMemcpyAsync");
    }
}

void check_configuration_kinds(struct doctor *doctor)
{
    const struct settings *settings = &doctor->settings;
    if (doctor->expected) {
        char *words = xstrdup(doctor->expected), *rest = NULL;
        for (char *word = strtok_r(words, ", ", &rest); word; word = strtok_r(NULL, ", ", &rest))
            check_kind(doctor, word);
        free(words);
        return;
    }
    if (!settings->capture.runtime || !settings->capture.driver) {
        doctor_result(doctor, RESULT_WARNING, "capture.%s is false: its calls have no spans",
                      settings->capture.runtime ? "driver" : "runtime");
        doctor_fix(doctor, "set capture.%s: true", settings->capture.runtime ? "driver" : "runtime");
    } else {
        doctor_result(doctor, RESULT_OK, "detail %s; to check for specific data: --expect kernel,nvtx,...",
                      detail_name(settings->detail));
    }
}

static size_t add_patterns(struct text *list, const char *key, const struct pattern_list *patterns)
{
    for (size_t i = 0; i < patterns->count; i++)
        text_add_format(list, "%s%s%s",
                        i           ? ", "
                        : list->len ? "; "
                                    : "",
                        i ? "" : key, patterns->patterns[i]);
    return patterns->count;
}

void check_configuration_filters(struct doctor *doctor)
{
    struct text list = {0};
    size_t count = 0;
    const struct settings *settings = &doctor->settings;
    const struct {
        const char *deny, *allow;
        const struct filter *filter;
    } filters[] = {{"calls.deny ", "calls.allow ", &settings->capture.calls},
                   {"activities.deny ", "activities.allow ", &settings->capture.activities},
                   {"kernels.deny ", "kernels.allow ", &settings->capture.kernels}};
    for (size_t i = 0; i < 3; i++) {
        count += add_patterns(&list, filters[i].deny, &filters[i].filter->deny);
        count += add_patterns(&list, filters[i].allow, &filters[i].filter->allow);
    }
    if (count) {
        doctor_result(doctor, RESULT_WARNING, "excluded by name: %s", list.data);
        doctor_fix(doctor, "if data is missing, remove its pattern from distribution.cuspan.capture");
    }
    if (settings->capture.cuda_profiler) {
        doctor_result(doctor, RESULT_WARNING,
                      "capture.cuda_profiler is true: only calls between cudaProfilerStart and "
                      "cudaProfilerStop are traced");
        doctor_fix(doctor, "set capture.cuda_profiler: false, or call cudaProfilerStart");
    } else if (!count) {
        doctor_result(doctor, RESULT_OK, "nothing is excluded by name");
    }
    text_deinit(&list);
}
