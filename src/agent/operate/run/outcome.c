#include "agent/operate/run/outcome.h"

#include "agent/operate/agents/agents.h"
#include "cli/util/xalloc.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#define REPORT_BYTES_MAX (1024 * 1024)

const struct outcome_unit outcome_spans = {"span", "spans"},
                          outcome_points = {"data point of metrics", "data points of metrics"},
                          outcome_samples = {"sample of profiles", "samples of profiles"};

static const char *string_of(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(item) ? item->valuestring : NULL;
}

static void add_traces(struct outcome *outcome, const cJSON *report)
{
    const cJSON *item;
    size_t listed = 0, known = 0; /* processes with the same TRACEPARENT share a trace */
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(report, "traces"))
    {
        listed++;
        if (!cJSON_IsString(item) || outcome->trace_count == OUTCOME_TRACES_MAX)
            continue;
        char *trace = outcome->traces[outcome->trace_count];
        snprintf(trace, sizeof outcome->traces[0], "%s", item->valuestring);
        bool is_known = false;
        for (size_t i = 0; i < outcome->trace_count; i++)
            is_known |= strcmp(outcome->traces[i], trace) == 0;
        outcome->trace_count += !is_known;
        known += is_known;
    }
    uint64_t total = agents_number(report, "trace_count");
    outcome->trace_total += (total > listed ? total : listed) - known;
}

static void add_losses(struct outcome *outcome, const cJSON *report)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(report, "losses"))
    {
        size_t i = 0;
        if (!cJSON_IsNumber(item) || item->valuedouble < 1)
            continue;
        while (i < outcome->loss_count && strcmp(outcome->losses[i].name, item->string) != 0)
            i++;
        if (i == OUTCOME_LOSSES_MAX)
            continue;
        if (i == outcome->loss_count) {
            outcome->losses[i].name = xstrdup(item->string);
            outcome->losses[i].count = 0;
            outcome->loss_count++;
        }
        outcome->losses[i].count += (uint64_t)item->valuedouble;
    }
}

static bool is_same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Returns the output with the same destination of another process, or a new one; NULL if there are too many.
 * One process may have two outputs with the same destination. */
static struct outcome_output *find_output(struct outcome *outcome, const struct outcome_unit *unit,
                                          const char *kind, const char *endpoint)
{
    for (size_t i = 0; i < outcome->output_count; i++) {
        struct outcome_output *output = &outcome->outputs[i];
        if (output->last_report != outcome->reports && output->unit == unit && is_same(output->kind, kind) &&
            is_same(output->endpoint, endpoint))
            return output;
    }
    if (outcome->output_count == OUTCOME_OUTPUTS_MAX) {
        outcome->outputs_more++;
        return NULL;
    }
    struct outcome_output *output = &outcome->outputs[outcome->output_count++];
    *output = (struct outcome_output){
        .unit = unit, .kind = xstrdup(kind), .endpoint = endpoint ? xstrdup(endpoint) : NULL};
    return output;
}

static void add_output(struct outcome *outcome, const struct outcome_unit *unit, const char *kind,
                       const cJSON *item, uint64_t made, uint64_t delivered, bool is_root)
{
    struct outcome_output *output = find_output(outcome, unit, kind, string_of(item, "endpoint"));
    if (!output)
        return;
    output->processes += !is_root;
    output->last_report = outcome->reports;
    output->made += made;
    output->delivered += delivered;
    output->spooled += agents_number(item, "spooled");
}

/* Of metrics or profiles. */
static void add_own_output(struct outcome *outcome, const struct outcome_unit *unit, const char *kind,
                           const cJSON *report)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(report, kind);
    if (cJSON_IsObject(item))
        add_output(outcome, unit, kind, item, agents_number(item, "made"), agents_number(item, "delivered"),
                   false);
}

static void add_outputs(struct outcome *outcome, const cJSON *report, bool is_root)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(report, "outputs"))
    {
        const char *kind = string_of(item, "kind");
        bool has_own = cJSON_HasObjectItem(item, "delivered");
        if (kind)
            add_output(outcome, &outcome_spans, kind, item, agents_number(report, "spans"),
                       agents_number(has_own ? item : report, "delivered"), is_root);
    }
    if (is_root)
        return;
    add_own_output(outcome, &outcome_points, "metrics", report);
    add_own_output(outcome, &outcome_samples, "profiles", report);
}

/* Notes how the process ended. False: it was not traced, and its report has nothing to add. */
static bool add_end(struct outcome *outcome, const cJSON *report)
{
    const char *state = string_of(report, "state"), *program = string_of(report, "program"),
               *why = string_of(report, "why");
    struct outcome_end end = {.state = OUTCOME_RUNNING};
    if (!state || strcmp(state, "ended") == 0)
        return true;
    if (strcmp(state, "not traced") == 0)
        end.state = OUTCOME_NOT_TRACED;
    else if (strcmp(state, "exiting") == 0)
        end.state = OUTCOME_EXITING;
    bool is_traced = end.state != OUTCOME_NOT_TRACED;
    outcome->unfinished += is_traced;
    outcome->not_traced += !is_traced;
    if (outcome->end_count == OUTCOME_ENDS_MAX)
        return is_traced;
    end.pid = (pid_t)agents_number(report, "pid");
    end.program = xstrdup(program ? program : "");
    end.why = xstrdup(why ? why : "");
    end.start_ns = agents_number(report, "start_ns");
    end.last_delivery_ns = agents_number(report, "last_delivery_ns");
    end.is_recorded = string_of(report, "recording") != NULL;
    outcome->ends[outcome->end_count++] = end;
    return is_traced;
}

bool outcome_add(struct outcome *outcome, const char *json, bool is_root)
{
    cJSON *report = cJSON_Parse(json);
    if (!cJSON_IsObject(report)) {
        cJSON_Delete(report);
        return false;
    }
    outcome->reports++;
    if (!add_end(outcome, report)) {
        cJSON_Delete(report);
        return true;
    }
    outcome->processes += !is_root;
    outcome->spans += agents_number(report, "spans");
    outcome->delivered += agents_number(report, "delivered");
    const cJSON *counters = cJSON_GetObjectItemCaseSensitive(report, "counters");
    outcome->calls += agents_number(counters, "calls_captured");
    outcome->activities += agents_number(counters, "activities_captured");
    outcome->sessions += agents_number(counters, "sessions");
    outcome->unsampled += agents_number(counters, "spans_unsampled");
    outcome->filtered += agents_number(counters, "spans_filtered");
    outcome->sleeps += agents_number(counters, "sleeps");
    outcome->releases += agents_number(counters, "releases");
    outcome->asleep_ns += agents_number(counters, "asleep_ns");
    outcome->spooled += agents_number(counters, "spans_spooled_left");
    const cJSON *own = cJSON_GetObjectItemCaseSensitive(report, "own");
    outcome->callback_ns += agents_number(own, "callback_ns");
    outcome->callback_calls += agents_number(own, "callback_calls");
    outcome->own_threads_ns += agents_number(own, "pipeline_ns") + agents_number(own, "sender_ns") +
                               agents_number(own, "control_ns");
    add_traces(outcome, report);
    add_losses(outcome, report);
    add_outputs(outcome, report, is_root);
    const char *recording = string_of(report, "recording");
    if (recording && outcome->recording_count++ < OUTCOME_FILES_MAX) {
        outcome->recordings[outcome->recording_count - 1].path = xstrdup(recording);
        outcome->recordings[outcome->recording_count - 1].events = agents_number(report, "events");
    }
    cJSON_Delete(report);
    return true;
}

bool outcome_has_arrived(const struct outcome *outcome)
{
    bool has_arrived = outcome->delivered > 0;
    for (size_t i = 0; i < outcome->output_count; i++)
        has_arrived |= outcome->outputs[i].unit == &outcome_spans && outcome->outputs[i].delivered > 0;
    return has_arrived;
}

bool outcome_failed(const struct outcome *outcome)
{
    bool has_output = false, failed = false;
    for (size_t i = 0; i < outcome->output_count; i++) {
        const struct outcome_output *output = &outcome->outputs[i];
        if (output->unit != &outcome_spans)
            continue;
        has_output = true;
        failed |= output->made > 0 && output->delivered + output->spooled == 0;
    }
    return failed || (!has_output && outcome->spans > 0 && outcome->delivered + outcome->spooled == 0);
}

static bool add_file(struct outcome *outcome, const char *path, bool is_root)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    char *text = xcalloc(REPORT_BYTES_MAX + 1, 1);
    size_t got = fread(text, 1, REPORT_BYTES_MAX, file);
    bool is_good = got > 0 && outcome_add(outcome, text, is_root);
    fclose(file);
    free(text);
    return is_good;
}

/* Incomplete reports are hidden files. */
static int is_report(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

void outcome_read(struct outcome *outcome, const char *directory)
{
    struct dirent **entries = NULL;
    *outcome = (struct outcome){0};
    int count = directory ? scandir(directory, &entries, is_report, alphasort) : 0;
    for (int i = 0; i < count; i++) {
        char *path = xasprintf("%s/%s", directory, entries[i]->d_name);
        bool is_root = strncmp(entries[i]->d_name, OUTCOME_ROOT_REPORT, strlen(OUTCOME_ROOT_REPORT)) == 0;
        outcome->unreadable += !add_file(outcome, path, is_root);
        free(path);
        free(entries[i]);
    }
    free(entries);
}

void outcome_deinit(struct outcome *outcome)
{
    for (size_t i = 0; i < outcome->loss_count; i++)
        free(outcome->losses[i].name);
    for (size_t i = 0; i < outcome->output_count; i++) {
        free(outcome->outputs[i].kind);
        free(outcome->outputs[i].endpoint);
    }
    for (size_t i = 0; i < OUTCOME_FILES_MAX; i++)
        free(outcome->recordings[i].path);
    for (size_t i = 0; i < outcome->end_count; i++) {
        free(outcome->ends[i].program);
        free(outcome->ends[i].why);
    }
    *outcome = (struct outcome){0};
}
