#include "cli/doctor/checks.h"

#include "base/text/sanitize.h"
#include "base/trace_context.h"
#include "cli/doctor/doctor_facts.h"
#include "cli/util/xalloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MESSAGES_MAX 8 /* of one configuration; `cuspan check` has them all */

/* --- file --- */

/* Variables of which people expect that they hold beside a file. */
static void look_for_unread(struct doctor *doctor, const char *path)
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
        doctor_say(doctor, FOUND_WARNING, "%s is set, and %s doesn't name it: it isn't read", variables[i],
                   path);
        doctor_mend(doctor, "write ${%s} where the file has that setting, or leave the file out",
                    variables[i]);
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
        doctor_say(doctor, FOUND_OK, "none: the OTEL_* and CUSPAN_* variables hold");
    } else if (access(path, R_OK) != 0) {
        doctor_say(doctor, FOUND_PROBLEM, "%s names %s: %s; the agent stays asleep", by, path,
                   strerror(errno));
        doctor_mend(doctor, "correct the path, or unset %s", by);
    } else {
        doctor_say(doctor, FOUND_OK, "%s, by %s%s%s", path, by,
                   own && sdk && path != sdk ? "; OTEL_CONFIG_FILE, " : "",
                   own && sdk && path != sdk ? "for SDKs, is another matter" : "");
        look_for_unread(doctor, path);
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
        doctor_say(doctor, is_error ? FOUND_PROBLEM : FOUND_WARNING, "%s", report->messages[i].text);
        doctor_mend(doctor, "%scorrect it; cuspan check%s%s shows all",
                    is_error ? "the agent stays asleep: " : "", *file ? " " : "", file);
    }
    if (!doctor->has_settings && report->errors == 0) {
        doctor_say(doctor, FOUND_PROBLEM, "%s: %s", report->source, status_text(doctor->config_status));
        doctor_mend(doctor, "cuspan check%s%s", *file ? " " : "", file);
    } else if (report->count == 0) {
        doctor_say(doctor, FOUND_OK, "%s is well", report->source);
    }
}

/* False, and said so: there are no settings to look at. */
static bool has_settings(struct doctor *doctor)
{
    if (!doctor->has_settings)
        doctor_say(doctor, FOUND_UNKNOWN, "the configuration is wrong (configuration.check)");
    return doctor->has_settings;
}

/* --- what it does --- */

static void say_outputs(struct doctor *doctor)
{
    static const char *const kinds[] = {"OTLP/HTTP", "OTLP/gRPC", "a file", "the console"};
    struct text list = {0};
    for (size_t i = 0; i < doctor->settings.output_count; i++) {
        const struct exporter_settings *exporter = &doctor->settings.outputs[i].exporter;
        char url[1024];
        text_add_format(&list, "%s%s", i ? ", and to " : "", kinds[exporter->kind]);
        if (exporter->endpoint)
            text_add_format(&list, " %s",
                            exporter->kind == EXPORTER_FILE
                                ? exporter->endpoint
                                : sanitize_url(url, sizeof url, exporter->endpoint));
    }
    doctor_say(doctor, FOUND_OK, "spans go to %s", list.data);
    text_deinit(&list);
}

void check_configuration_enabled(struct doctor *doctor)
{
    const struct settings *settings = &doctor->settings;
    const char *variable = doctor_facts_variable("OTEL_SDK_DISABLED");
    if (!has_settings(doctor))
        return;
    if (settings->disabled) {
        doctor_say(doctor, FOUND_PROBLEM, "it is disabled, by %s: the agent stays asleep",
                   variable && !doctor->report->is_file ? "OTEL_SDK_DISABLED" : "disabled: true");
        doctor_mend(doctor, "%s",
                    variable && !doctor->report->is_file ? "unset OTEL_SDK_DISABLED" : "disabled: false");
    } else if (settings->record_file) {
        doctor_say(doctor, FOUND_WARNING, "record_file is set (%s): it records, and sends nothing",
                   settings->record_file);
        doctor_mend(doctor, "unset record_file, or replay the recording: cuspan replay %s",
                    settings->record_file);
    } else if (!settings_have_output(settings)) {
        doctor_say(doctor, FOUND_PROBLEM,
                   "no exporter: nothing says where spans go, so the agent stays asleep");
        doctor_mend(doctor, "set OTEL_TRACES_EXPORTER=otlp, or an exporter in the file; or --endpoint URL");
    } else {
        say_outputs(doctor);
    }
}

/* What the parent says; false where nothing is said of it. */
static bool judge_parent(struct doctor *doctor)
{
    struct trace_context parent;
    const char *set = doctor_facts_variable("TRACEPARENT");
    if (!set)
        return false;
    if (!trace_context_parse(set, doctor_facts_variable("TRACESTATE"), &parent)) {
        doctor_say(doctor, FOUND_WARNING, "TRACEPARENT is \"%s\", which is none: it counts for nothing", set);
        doctor_mend(doctor, "unset TRACEPARENT, or give 00-TRACE-SPAN-01");
        return false;
    }
    if (!doctor->settings.sampler_parent_based)
        return false;
    if (parent.flags & TRACE_FLAG_SAMPLED) {
        doctor_say(doctor, FOUND_OK, "TRACEPARENT says sampled, and the sampler follows it");
    } else {
        doctor_say(doctor, FOUND_PROBLEM, "TRACEPARENT is %s: its trace is not sampled, so nothing of it is",
                   set);
        doctor_mend(doctor,
                    "unset TRACEPARENT, or have the parent sampled (its flags 01), or a sampler that isn't "
                    "parent-based: OTEL_TRACES_SAMPLER=always_on");
    }
    return true;
}

static void judge_sampler(struct doctor *doctor)
{
    const struct settings *settings = &doctor->settings;
    bool is_ratio = settings->sampler == SAMPLER_TRACE_ID_RATIO;
    if (settings->sampler == SAMPLER_ALWAYS_OFF || (is_ratio && settings->sampler_ratio <= 0)) {
        doctor_say(doctor, FOUND_PROBLEM, "the sampler is %s: no root is sampled%s",
                   is_ratio ? "a ratio of 0" : "always_off",
                   settings->sampler_parent_based ? ", only what has a sampled parent" : "");
        doctor_mend(doctor,
                    "set OTEL_TRACES_SAMPLER=parentbased_always_on, or the file's sampler to always_on");
    } else if (is_ratio && settings->sampler_ratio < 1) {
        doctor_say(doctor, FOUND_WARNING,
                   "the sampler takes %g %% of roots: most runs of a program have no trace",
                   settings->sampler_ratio * 100);
        doctor_mend(doctor, "to see each of them: OTEL_TRACES_SAMPLER=parentbased_always_on");
    } else {
        doctor_say(doctor, FOUND_OK, "always on");
    }
    if (settings->sampling.traces_per_second > 0) {
        doctor_say(doctor, FOUND_WARNING, "at most %g traces are begun in a second",
                   settings->sampling.traces_per_second);
        doctor_mend(doctor, "raise sampling.traces_per_second, or set it to 0");
    }
}

void check_configuration_sampling(struct doctor *doctor)
{
    if (!has_settings(doctor))
        return;
    if (!judge_parent(doctor))
        judge_sampler(doctor);
    if (doctor->settings.sampling.sleep == SLEEP_ALWAYS) {
        doctor_say(doctor, FOUND_WARNING,
                   "sampling.sleep is always: only requests that are attached are traced");
        doctor_mend(doctor, "set sampling.sleep: auto, or attach contexts (cuspan.h, or the Python package)");
    }
}

/* --- what is traced --- */

/* Words that are no kind and no call; false for others. */
static bool judge_word(struct doctor *doctor, const char *word)
{
    const struct settings *settings = &doctor->settings;
    const struct {
        const char *word;
        bool is_on;
        const char *mend;
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
        doctor_say(doctor, words[i].is_on ? FOUND_OK : FOUND_PROBLEM, "%s: %s (detail %s)", word,
                   words[i].is_on ? "on" : "off", detail_name(settings->detail));
        if (!words[i].is_on)
            doctor_mend(doctor, "%s", words[i].mend);
        return true;
    }
    return false;
}

static void judge_kind(struct doctor *doctor, const char *word)
{
    char why[DOCTOR_TEXT_BYTES];
    if (judge_word(doctor, word))
        return;
    if (!doctor->api) {
        doctor_say(doctor, FOUND_UNKNOWN, "%s: the agent's library can't be asked", word);
        return;
    }
    switch (doctor->api->is_traced(&doctor->settings, word, why)) {
    case DOCTOR_TRACED:
        doctor_say(doctor, FOUND_OK, "%s: on%s", word,
                   doctor->settings.detail == DETAIL_SUMMARY ? ", counted in summaries, without spans" : "");
        break;
    case DOCTOR_NOT_TRACED:
        doctor_say(doctor, FOUND_PROBLEM, "%s: off, %.*s", word, (int)strcspn(why, ";"), why);
        doctor_mend(doctor, "%s", strchr(why, ';') ? strchr(why, ';') + 2 : "change that setting");
        break;
    case DOCTOR_NO_SUCH_NAME:
        doctor_say(doctor, FOUND_PROBLEM, "%s: cuspan knows no kind, call or group of that name", word);
        doctor_mend(doctor, "names are such as kernel, memcpy, graph-nodes, nvtx, launch, cudaMemcpyAsync");
    }
}

void check_configuration_kinds(struct doctor *doctor)
{
    const struct settings *settings = &doctor->settings;
    if (!has_settings(doctor))
        return;
    if (doctor->expected) {
        char *words = xstrdup(doctor->expected), *rest = NULL;
        for (char *word = strtok_r(words, ", ", &rest); word; word = strtok_r(NULL, ", ", &rest))
            judge_kind(doctor, word);
        free(words);
        return;
    }
    if (!settings->capture.runtime || !settings->capture.driver) {
        doctor_say(doctor, FOUND_WARNING, "capture.%s is false: those calls have no spans",
                   settings->capture.runtime ? "driver" : "runtime");
        doctor_mend(doctor, "set it to true");
    } else {
        doctor_say(doctor, FOUND_OK, "detail %s; what you miss is looked for by --expect kernel,nvtx,...",
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
    if (!has_settings(doctor))
        return;
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
        doctor_say(doctor, FOUND_WARNING, "left out by name: %s", list.data);
        doctor_mend(doctor, "if something is missed, take its pattern out of distribution.cuspan.capture");
    }
    if (settings->capture.cuda_profiler) {
        doctor_say(doctor, FOUND_WARNING,
                   "capture.cuda_profiler is true: only what lies between cudaProfilerStart and "
                   "cudaProfilerStop is traced");
        doctor_mend(doctor, "set capture.cuda_profiler: false, or call cudaProfilerStart");
    } else if (!count) {
        doctor_say(doctor, FOUND_OK, "nothing is left out by name");
    }
    text_deinit(&list);
}
