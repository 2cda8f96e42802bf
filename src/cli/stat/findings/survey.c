#include "cli/stat/findings/survey.h"

#include "cli/code/code_book.h"
#include "cli/stat/findings/finding.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

/* Room for all resources and processes up to now. */
static void make_room(struct survey *survey, const struct stat *stat)
{
    size_t devices = stat->trace->resource_count, processes = stat->places->process_count;
    if (survey->device_count < devices) {
        survey->devices = xgrow(survey->devices, &survey->device_capacity, devices, sizeof *survey->devices);
        memset(survey->devices + survey->device_count, 0,
               (devices - survey->device_count) * sizeof *survey->devices);
        survey->device_count = devices;
    }
    if (survey->process_count < processes) {
        survey->processes =
            xgrow(survey->processes, &survey->process_capacity, processes, sizeof *survey->processes);
        memset(survey->processes + survey->process_count, 0,
               (processes - survey->process_count) * sizeof *survey->processes);
        survey->process_count = processes;
    }
}

struct process_survey *survey_process(const struct survey *survey, const struct trace_span *span)
{
    return &survey->processes[places_process(survey->stat->places, span)];
}

static void set_pending(struct process_survey *process, uint64_t end_ns)
{
    process->pending_until_ns = end_ns > process->pending_until_ns ? end_ns : process->pending_until_ns;
}

static void take_work(struct survey *survey, const struct trace_span *span)
{
    struct device_survey *device = &survey->devices[span->resource];
    struct process_survey *process = survey_process(survey, span);
    if (!stat_is_work(survey->stat, span))
        return;
    intervals_add(&device->busy, span->start_ns, span->end_ns);
    if (span->class == CLASS_KERNEL || span->class == CLASS_GPU_OTHER)
        intervals_add(&device->kernels, span->start_ns, span->end_ns);
    if (process->start_ns == process->end_ns)
        process->start_ns = span->start_ns;
    process->end_ns = span->end_ns > process->end_ns ? span->end_ns : process->end_ns;
    process->has_work = true;
    process->kernel_ns += span->class == CLASS_KERNEL ? stat_duration(span) : 0;
    set_pending(process, span->end_ns);
}

/* Work is pending from the start of its call. */
static void take_call(struct survey *survey, const struct trace_span *span)
{
    const struct trace_span *spans = survey->stat->trace->spans;
    struct process_survey *process = survey_process(survey, span);
    struct stat_call call = stat_call_of(survey->stat, span);
    intervals_add(&process->calls, span->start_ns, span->end_ns);
    if (call.submits)
        intervals_add(&process->submits, span->start_ns, span->end_ns);
    if (call.waits)
        intervals_add(&process->waits, span->start_ns, span->end_ns);
    for (uint32_t at = span->first_child; at != TRACE_NONE; at = spans[at].next_sibling) {
        if (stat_is_work(survey->stat, &spans[at]))
            set_pending(process, spans[at].end_ns);
    }
}

void survey_take(struct survey *survey, const struct stat *stat, const struct trace_span *span)
{
    survey->stat = stat;
    survey->now_ns = span->start_ns;
    make_room(survey, stat);
    if (trace_class_is_gpu(span->class))
        take_work(survey, span);
    else if (span->class == CLASS_CALL)
        take_call(survey, span);
}

uint64_t survey_idle(const struct survey *survey, const struct idle_time *time)
{
    const struct device_survey *device = &survey->devices[time->resource];
    return intervals_gaps(time->of_kernels ? &device->kernels : &device->busy, time->from_ns, time->until_ns);
}

void survey_ask(struct survey *survey, const struct idle_time *time, struct tallies *tallies, uint32_t tally)
{
    if (time->until_ns <= survey->now_ns) {
        tallies->items[tally].saving_ns += survey_idle(survey, time);
        return;
    }
    survey->questions = xgrow(survey->questions, &survey->question_capacity, survey->question_count + 1,
                              sizeof *survey->questions);
    survey->questions[survey->question_count++] = (struct question){*time, tallies, tally};
}

static void answer(struct survey *survey)
{
    size_t kept = 0;
    for (size_t i = 0; i < survey->question_count; i++) {
        const struct question *question = &survey->questions[i];
        if (question->time.until_ns <= survey->now_ns)
            question->tallies->items[question->tally].saving_ns += survey_idle(survey, &question->time);
        else
            survey->questions[kept++] = *question;
    }
    survey->question_count = kept;
}

void survey_end_segment(struct survey *survey)
{
    size_t lists = 2 * survey->device_count + 3 * survey->process_count;
    size_t kept = SURVEY_INTERVALS_MAX / (lists ? lists : 1);
    kept = kept > SURVEY_INTERVALS_MIN ? kept : SURVEY_INTERVALS_MIN;
    answer(survey);
    for (size_t i = 0; i < survey->device_count; i++) {
        intervals_keep(&survey->devices[i].busy, kept);
        intervals_keep(&survey->devices[i].kernels, kept);
    }
    for (size_t i = 0; i < survey->process_count; i++) {
        intervals_keep(&survey->processes[i].calls, kept);
        intervals_keep(&survey->processes[i].submits, kept);
        intervals_keep(&survey->processes[i].waits, kept);
    }
}

void survey_finish(struct survey *survey, const struct stat *stat)
{
    survey->stat = stat;
    survey->now_ns = UINT64_MAX;
    make_room(survey, stat);
    answer(survey);
    for (size_t i = 0; i < stat->ledger->block_count; i++) {
        const struct ledger_block *block = &stat->ledger->blocks[i];
        survey->processes[block->process].has_managed |= block->kind == MEMORY_MANAGED;
    }
}

void survey_deinit(struct survey *survey)
{
    for (size_t i = 0; i < survey->device_count; i++) {
        intervals_deinit(&survey->devices[i].busy);
        intervals_deinit(&survey->devices[i].kernels);
    }
    for (size_t i = 0; i < survey->process_count; i++) {
        intervals_deinit(&survey->processes[i].calls);
        intervals_deinit(&survey->processes[i].submits);
        intervals_deinit(&survey->processes[i].waits);
    }
    free(survey->devices);
    free(survey->processes);
    free(survey->questions);
    *survey = (struct survey){0};
}

uint32_t survey_origin(const struct survey *survey, const struct trace_span *span)
{
    return code_book_origin(survey->stat->code, survey->stat, span);
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
