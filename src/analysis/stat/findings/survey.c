#include "analysis/stat/findings/survey.h"

#include "analysis/code/code_book.h"
#include "analysis/stat/findings/findings_limits.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

struct tally *tallies_at(struct tallies *tallies, uint64_t key, uint32_t process,
                         const struct trace_span *span)
{
    uint32_t number = int_map_number(&tallies->numbers, int_map_mix(int_map_mix(key) + process));
    if (number == tallies->count)
        *XADD(tallies->items, tallies->count, tallies->capacity) =
            (struct tally){.process = process, .first = *span};
    return &tallies->items[number];
}

void tallies_add_origin(struct tallies *tallies, const struct tally *tally, uint32_t origin, uint64_t count)
{
    uint32_t of = tallies_number(tallies, tally);
    uint64_t key = (uint64_t)of << 32 | origin;
    if (tallies->origin_count >= TALLY_ORIGINS_MAX && int_map_get(&tallies->origin_numbers, key) == MAP_NONE)
        return;
    uint32_t number = int_map_number(&tallies->origin_numbers, key);
    if (number == tallies->origin_count)
        *XADD(tallies->origins, tallies->origin_count, tallies->origin_capacity) =
            (struct tally_origin){of, origin, 0};
    tallies->origins[number].count += count;
}

struct tally *tallies_count(struct tallies *tallies, const struct survey *survey, uint64_t key,
                            const struct trace_span *span, uint32_t origin)
{
    struct tally *tally = tallies_at(tallies, key, places_process(survey->stat->places, span), span);
    tally->count++;
    tallies_add_origin(tallies, tally, origin, 1);
    return tally;
}

void tallies_deinit(struct tallies *tallies)
{
    free(tallies->items);
    free(tallies->origins);
    int_map_deinit(&tallies->numbers);
    int_map_deinit(&tallies->origin_numbers);
    *tallies = (struct tallies){0};
}

const struct device_survey *survey_device(const struct survey *survey, uint32_t resource)
{
    static const struct device_survey unknown;
    const struct device_survey *device = paged_find(&survey->devices, resource, sizeof *device);
    return device ? device : &unknown;
}

const struct process_survey *survey_process_at(const struct survey *survey, uint32_t process)
{
    static const struct process_survey unknown;
    const struct process_survey *found = paged_find(&survey->processes, process, sizeof *found);
    return found ? found : &unknown;
}

const struct process_survey *survey_process(const struct survey *survey, const struct trace_span *span)
{
    return survey_process_at(survey, places_process(survey->stat->places, span));
}

static void set_pending(struct process_survey *process, uint64_t end_ns)
{
    process->pending_until_ns = end_ns > process->pending_until_ns ? end_ns : process->pending_until_ns;
}

static void take_work(struct survey *survey, const struct trace_span *span)
{
    if (!stat_is_work(survey->stat, span))
        return;
    struct device_survey *device = paged_at(&survey->devices, span->resource, sizeof *device);
    struct process_survey *process =
        paged_at(&survey->processes, places_process(survey->stat->places, span), sizeof *process);
    intervals_add(&device->busy, span->start_ns, span->end_ns);
    if (span->class == CLASS_KERNEL || span->class == CLASS_GPU_OTHER)
        intervals_add(&device->kernels, span->start_ns, span->end_ns);
    if (process->start_ns == process->end_ns)
        process->start_ns = process->end_ns = span->start_ns;
    if (span->start_ns > process->end_ns && span->start_ns - process->end_ns > WORK_PAUSE_NS)
        process->paused_ns += span->start_ns - process->end_ns;
    if (span->class == CLASS_KERNEL && !process->is_pytorch)
        process->is_pytorch = !strncmp(trace_string(survey->stat->trace, span->name), "at::native::", 12);
    process->end_ns = span->end_ns > process->end_ns ? span->end_ns : process->end_ns;
    process->has_work = true;
    process->kernel_ns += span->class == CLASS_KERNEL ? stat_duration(span) : 0;
    set_pending(process, span->end_ns);
}

/* Takes a call. Its work is pending from the start of the call on. */
static void take_call(struct survey *survey, const struct trace_span *span)
{
    const struct trace_span *spans = survey->stat->trace->spans;
    struct process_survey *process =
        paged_at(&survey->processes, places_process(survey->stat->places, span), sizeof *process);
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
    if (trace_class_is_gpu(span->class))
        take_work(survey, span);
    else if (span->class == CLASS_CALL)
        take_call(survey, span);
}

void survey_advance(struct survey *survey, const struct stat *stat)
{
    survey->stat = stat;
    survey->now_ns = stat->now_ns > survey->now_ns ? stat->now_ns : survey->now_ns;
}

uint64_t survey_idle(const struct survey *survey, const struct idle_time *time)
{
    const struct device_survey *device = survey_device(survey, time->resource);
    return intervals_gaps(time->of_kernels ? &device->kernels : &device->busy, time->from_ns, time->until_ns);
}

void survey_ask(struct survey *survey, const struct idle_time *time, struct tallies *tallies, uint32_t tally)
{
    if (time->until_ns <= survey->now_ns) {
        tallies->items[tally].saving_ns += survey_idle(survey, time);
        return;
    }
    *XADD(survey->questions, survey->question_count, survey->question_capacity) =
        (struct question){*time, tallies, tally};
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
    const struct stat *stat = survey->stat;
    size_t lists = 2 * stat->trace->resource_count + 3 * (size_t)stat->places->process_count;
    size_t kept = SURVEY_INTERVALS_MAX / (lists ? lists : 1);
    struct device_survey *device;
    struct process_survey *process;
    kept = kept > SURVEY_INTERVALS_MIN ? kept : SURVEY_INTERVALS_MIN;
    answer(survey);
    for (size_t i = 0; (device = paged_next(&survey->devices, &i, sizeof *device)); i++) {
        intervals_keep(&device->busy, kept);
        intervals_keep(&device->kernels, kept);
    }
    for (size_t i = 0; (process = paged_next(&survey->processes, &i, sizeof *process)); i++) {
        intervals_keep(&process->calls, kept);
        intervals_keep(&process->submits, kept);
        intervals_keep(&process->waits, kept);
    }
}

void survey_finish(struct survey *survey, const struct stat *stat)
{
    survey->stat = stat;
    survey->now_ns = UINT64_MAX;
    answer(survey);
    for (size_t i = 0; i < stat->ledger->block_count; i++) {
        const struct ledger_block *block = &stat->ledger->blocks[i];
        struct process_survey *process = paged_at(&survey->processes, block->process, sizeof *process);
        process->has_managed |= block->kind == MEMORY_MANAGED;
    }
}

void survey_deinit(struct survey *survey)
{
    struct device_survey *device;
    struct process_survey *process;
    for (size_t i = 0; (device = paged_next(&survey->devices, &i, sizeof *device)); i++) {
        intervals_deinit(&device->busy);
        intervals_deinit(&device->kernels);
    }
    for (size_t i = 0; (process = paged_next(&survey->processes, &i, sizeof *process)); i++) {
        intervals_deinit(&process->calls);
        intervals_deinit(&process->submits);
        intervals_deinit(&process->waits);
    }
    paged_deinit(&survey->devices);
    paged_deinit(&survey->processes);
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
