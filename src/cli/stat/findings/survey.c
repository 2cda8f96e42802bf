#include "cli/stat/findings/survey.h"

#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

static void survey_work_of(struct survey *survey, const struct trace_span *span, uint32_t number)
{
    struct device_survey *device = &survey->devices[span->resource];
    struct process_survey *process = &survey->processes[places_process(&survey->places, span)];
    const struct trace_span *call = survey_call(survey, span);
    const char *activity = stat_attr(survey->stat, span, KEY_ACTIVITY);
    bool is_graph = activity && strcmp(activity, "graph") == 0;
    if (span->class == CLASS_GPU_OTHER && !is_graph) /* with `detail: full` there are records without work */
        return;
    intervals_add(&device->busy, span->start_ns, span->end_ns, number);
    if (span->class == CLASS_KERNEL || is_graph)
        intervals_add(&device->kernels, span->start_ns, span->end_ns, number);
    if (process->start_ns == process->end_ns)
        process->start_ns = span->start_ns;
    process->end_ns = span->end_ns > process->end_ns ? span->end_ns : process->end_ns;
    process->kernel_ns += span->class == CLASS_KERNEL ? stat_duration(span) : 0;
    uint64_t given_ns = call && call->start_ns < span->start_ns ? call->start_ns : span->start_ns;
    intervals_add(&process->outstanding, given_ns, span->end_ns, number);
    intervals_add(&process->given, given_ns, span->start_ns, number);
}

static void survey_call_of(struct survey *survey, const struct trace_span *span, uint32_t number)
{
    struct process_survey *process = &survey->processes[places_process(&survey->places, span)];
    intervals_add(&process->calls, span->start_ns, span->end_ns, number);
    if (survey_submits(survey, span))
        intervals_add(&process->submits, span->start_ns, span->end_ns, number);
    if (survey_waits(survey, span))
        intervals_add(&process->waits, span->start_ns, span->end_ns, number);
}

static void merge_all(struct survey *survey)
{
    for (size_t i = 0; i < survey->stat->trace->resource_count; i++) {
        intervals_merge(&survey->devices[i].busy);
        intervals_merge(&survey->devices[i].kernels);
    }
    for (uint32_t i = 0; i < survey->places.process_count; i++) {
        intervals_merge(&survey->processes[i].outstanding);
        intervals_sort(&survey->processes[i].given);
        intervals_merge(&survey->processes[i].calls);
        intervals_merge(&survey->processes[i].submits);
        intervals_merge(&survey->processes[i].waits);
    }
}

void survey_init(struct survey *survey, const struct stat *stat)
{
    const struct trace *trace = stat->trace;
    *survey = (struct survey){.stat = stat};
    places_init(&survey->places, stat);
    ledger_init(&survey->ledger, &survey->places);
    survey->devices = xcalloc(trace->resource_count + 1, sizeof *survey->devices);
    survey->processes = xcalloc(survey->places.process_count + 1, sizeof *survey->processes);
    for (size_t i = 0; i < trace->span_count; i++) {
        if (trace_class_is_gpu(trace->spans[i].class))
            survey_work_of(survey, &trace->spans[i], (uint32_t)i);
        else if (trace->spans[i].class == CLASS_CALL)
            survey_call_of(survey, &trace->spans[i], (uint32_t)i);
    }
    for (size_t i = 0; i < survey->ledger.block_count; i++) {
        const struct ledger_block *block = &survey->ledger.blocks[i];
        survey->processes[block->process].has_managed |= block->kind == MEMORY_MANAGED;
    }
    merge_all(survey);
}

void survey_deinit(struct survey *survey)
{
    for (size_t i = 0; i < survey->stat->trace->resource_count; i++) {
        intervals_deinit(&survey->devices[i].busy);
        intervals_deinit(&survey->devices[i].kernels);
    }
    for (uint32_t i = 0; i < survey->places.process_count; i++) {
        intervals_deinit(&survey->processes[i].outstanding);
        intervals_deinit(&survey->processes[i].given);
        intervals_deinit(&survey->processes[i].calls);
        intervals_deinit(&survey->processes[i].submits);
        intervals_deinit(&survey->processes[i].waits);
    }
    free(survey->devices);
    free(survey->processes);
    ledger_deinit(&survey->ledger);
    places_deinit(&survey->places);
}

uint64_t survey_gpu_time(const struct process_survey *process, uint64_t host_ns)
{
    const struct intervals *given = &process->given;
    size_t low = 0, high = given->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (given->items[middle].start_ns >= host_ns)
            high = middle;
        else
            low = middle + 1;
    }
    return low < given->count ? given->items[low].end_ns : UINT64_MAX;
}

const struct trace_span *survey_call(const struct survey *survey, const struct trace_span *work)
{
    const struct trace *trace = survey->stat->trace;
    if (work->parent == TRACE_NONE || trace->spans[work->parent].class != CLASS_CALL)
        return NULL;
    return &trace->spans[work->parent];
}

const struct trace_span *survey_work(const struct survey *survey, const struct trace_span *call,
                                     enum trace_class class)
{
    const struct trace *trace = survey->stat->trace;
    for (uint32_t at = call->first_child; at != TRACE_NONE; at = trace->spans[at].next_sibling) {
        if (trace_class_is_gpu(trace->spans[at].class) &&
            (class == CLASS_COUNT || trace->spans[at].class == class))
            return &trace->spans[at];
    }
    return NULL;
}

bool survey_waits(const struct survey *survey, const struct trace_span *call)
{
    return stat_call_group(survey->stat, call) == CALL_GROUP_SYNC &&
           strstr(trace_string(survey->stat->trace, call->name), "Synchronize");
}

bool survey_is_async(const struct survey *survey, const struct trace_span *call)
{
    return strstr(trace_string(survey->stat->trace, call->name), "Async") != NULL;
}

bool survey_submits(const struct survey *survey, const struct trace_span *call)
{
    enum call_group group = stat_call_group(survey->stat, call);
    return group == CALL_GROUP_LAUNCH || group == CALL_GROUP_COPY || group == CALL_GROUP_FILL;
}
