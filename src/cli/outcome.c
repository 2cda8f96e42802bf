#include "cli/outcome.h"

#include "cli/memory.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#define REPORT_BYTES_MAX (1024 * 1024)

static uint64_t number_of(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(item) && item->valuedouble > 0 ? (uint64_t)item->valuedouble : 0;
}

static const char *string_of(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(item) ? item->valuestring : NULL;
}

static void add_traces(struct outcome *outcome, const cJSON *report)
{
    const cJSON *item;
    size_t listed = 0;
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
        listed -= is_known; /* processes below one TRACEPARENT share a trace */
    }
    uint64_t total = number_of(report, "trace_count");
    outcome->trace_total += total > listed ? total : listed;
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
            outcome->losses[i].name = memory_copy_string(item->string);
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

static void add_outputs(struct outcome *outcome, const cJSON *report)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(report, "outputs"))
    {
        const char *kind = string_of(item, "kind"), *endpoint = string_of(item, "endpoint");
        size_t i = 0;
        if (!kind)
            continue;
        while (i < outcome->output_count &&
               !(is_same(outcome->outputs[i].kind, kind) && is_same(outcome->outputs[i].endpoint, endpoint)))
            i++;
        if (i < outcome->output_count || i == OUTCOME_OUTPUTS_MAX)
            continue;
        outcome->outputs[i].kind = memory_copy_string(kind);
        outcome->outputs[i].endpoint = endpoint ? memory_copy_string(endpoint) : NULL;
        outcome->output_count++;
    }
}

bool outcome_add(struct outcome *outcome, const char *json)
{
    cJSON *report = cJSON_Parse(json);
    if (!cJSON_IsObject(report)) {
        cJSON_Delete(report);
        return false;
    }
    outcome->processes++;
    outcome->spans += number_of(report, "spans");
    outcome->delivered += number_of(report, "delivered");
    add_traces(outcome, report);
    add_losses(outcome, report);
    add_outputs(outcome, report);
    const char *recording = string_of(report, "recording");
    if (recording && outcome->recording_count < OUTCOME_FILES_MAX) {
        outcome->recordings[outcome->recording_count].path = memory_copy_string(recording);
        outcome->recordings[outcome->recording_count++].events = number_of(report, "events");
    }
    cJSON_Delete(report);
    return true;
}

static bool add_file(struct outcome *outcome, const char *path)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    char *text = memory_take(REPORT_BYTES_MAX + 1, 1);
    size_t got = fread(text, 1, REPORT_BYTES_MAX, file);
    bool is_good = got > 0 && outcome_add(outcome, text);
    fclose(file);
    free(text);
    return is_good;
}

static int is_report(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);
    bool is_unfinished = len > 5 && strcmp(entry->d_name + len - 5, ".part") == 0;
    return entry->d_name[0] != '.' && !is_unfinished;
}

void outcome_read(struct outcome *outcome, const char *directory)
{
    struct dirent **entries = NULL;
    *outcome = (struct outcome){0};
    int count = scandir(directory, &entries, is_report, alphasort);
    for (int i = 0; i < count; i++) {
        char *path = memory_format("%s/%s", directory, entries[i]->d_name);
        outcome->unreadable += !add_file(outcome, path);
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
    for (size_t i = 0; i < outcome->recording_count; i++)
        free(outcome->recordings[i].path);
    *outcome = (struct outcome){0};
}
