/* The survey that the detectors share, and the table of what they found. */
#include "cli/stat/findings/findings.h"

#include "cli/util/xalloc.h"
#include "cli/util/text.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS(X)                                                                                           \
    X(COL_FINDING, "finding", "finding", STAT_TEXT)                                                          \
    X(COL_WHERE, "where", "where", STAT_TEXT)                                                                \
    X(COL_PROCESS, "process", "process", STAT_TEXT)                                                          \
    X(COL_COUNT, "count", "times", STAT_COUNT)                                                               \
    X(COL_PRIZE_NS, "prize_ns", "saves at most", STAT_NS)                                                    \
    X(COL_PRIZE_SHARE, "prize_share", "of its time", STAT_SHARE)                                             \
    X(COL_PRIZE_BYTES, "prize_bytes", "bytes", STAT_BYTES)                                                   \
    X(COL_FIRST_NS, "first_ns", "first at", STAT_NS)                                                         \
    X(COL_EVIDENCE, "evidence", "evidence", STAT_TEXT)                                                       \
    X(COL_ADVICE, "advice", "what to do", STAT_TEXT)
STAT_COLUMNS_OF(columns, COLUMNS);

/* --- the survey --- */

static void survey_work_of(struct survey *survey, const struct trace_span *span, uint32_t number)
{
    struct device_survey *device = &survey->devices[span->resource];
    struct process_survey *process = &survey->processes[places_process(&survey->places, span)];
    const struct trace_span *call = survey_call(survey, span);
    const char *activity = stat_attr(survey->stat, span, KEY_ACTIVITY);
    bool is_graph = activity && strcmp(activity, "graph") == 0;
    if (span->class == CLASS_GPU_OTHER && !is_graph) /* with `detail: full` there are records of no work */
        return;
    stretches_add(&device->busy, span->start_ns, span->end_ns, number);
    if (span->class == CLASS_KERNEL || is_graph)
        stretches_add(&device->kernels, span->start_ns, span->end_ns, number);
    if (process->start_ns == process->end_ns)
        process->start_ns = span->start_ns;
    process->end_ns = span->end_ns > process->end_ns ? span->end_ns : process->end_ns;
    process->kernel_ns += span->class == CLASS_KERNEL ? stat_duration(span) : 0;
    uint64_t given_ns = call && call->start_ns < span->start_ns ? call->start_ns : span->start_ns;
    stretches_add(&process->outstanding, given_ns, span->end_ns, number);
    stretches_add(&process->given, given_ns, span->start_ns, number);
}

static void survey_call_of(struct survey *survey, const struct trace_span *span, uint32_t number)
{
    struct process_survey *process = &survey->processes[places_process(&survey->places, span)];
    stretches_add(&process->calls, span->start_ns, span->end_ns, number);
    if (survey_submits(survey, span))
        stretches_add(&process->submits, span->start_ns, span->end_ns, number);
    if (survey_waits(survey, span))
        stretches_add(&process->waits, span->start_ns, span->end_ns, number);
}

static void merge_all(struct survey *survey)
{
    for (size_t i = 0; i < survey->stat->trace->resource_count; i++) {
        stretches_merge(&survey->devices[i].busy);
        stretches_merge(&survey->devices[i].kernels);
    }
    for (uint32_t i = 0; i < survey->places.process_count; i++) {
        stretches_merge(&survey->processes[i].outstanding);
        stretches_sort(&survey->processes[i].given);
        stretches_merge(&survey->processes[i].calls);
        stretches_merge(&survey->processes[i].submits);
        stretches_merge(&survey->processes[i].waits);
    }
}

static void survey_init(struct survey *survey, const struct stat *stat)
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

static void survey_deinit(struct survey *survey)
{
    for (size_t i = 0; i < survey->stat->trace->resource_count; i++) {
        stretches_deinit(&survey->devices[i].busy);
        stretches_deinit(&survey->devices[i].kernels);
    }
    for (uint32_t i = 0; i < survey->places.process_count; i++) {
        stretches_deinit(&survey->processes[i].outstanding);
        stretches_deinit(&survey->processes[i].given);
        stretches_deinit(&survey->processes[i].calls);
        stretches_deinit(&survey->processes[i].submits);
        stretches_deinit(&survey->processes[i].waits);
    }
    free(survey->devices);
    free(survey->processes);
    ledger_deinit(&survey->ledger);
    places_deinit(&survey->places);
}

/* The first stretch that ends after the time. */
static size_t first_after(const struct stretches *stretches, uint64_t time_ns)
{
    size_t low = 0, high = stretches->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (stretches->items[middle].end_ns > time_ns)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

uint64_t survey_gaps(const struct stretches *stretches, uint64_t from_ns, uint64_t until_ns)
{
    uint64_t gaps = until_ns > from_ns ? until_ns - from_ns : 0;
    if (!gaps)
        return 0;
    for (size_t i = first_after(stretches, from_ns); i < stretches->count; i++) {
        const struct stretch *stretch = &stretches->items[i];
        uint64_t start = stretch->start_ns > from_ns ? stretch->start_ns : from_ns;
        uint64_t end = stretch->end_ns < until_ns ? stretch->end_ns : until_ns;
        if (start >= until_ns)
            break;
        gaps -= end - start;
    }
    return gaps;
}

bool survey_covers(const struct stretches *stretches, uint64_t time_ns)
{
    size_t at = first_after(stretches, time_ns);
    return at < stretches->count && stretches->items[at].start_ns <= time_ns;
}

uint64_t survey_gpu_time(const struct process_survey *process, uint64_t host_ns)
{
    const struct stretches *given = &process->given;
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

const char *survey_kernel_name(const struct survey *survey, const struct trace_span *kernel)
{
    const char *full = stat_attr(survey->stat, kernel, KEY_KERNEL_NAME);
    return full ? full : trace_string(survey->stat->trace, kernel->name);
}

/* --- tallies and findings --- */

struct tally *tallies_at(struct tallies *tallies, uint64_t key, uint32_t process,
                         const struct trace_span *span)
{
    size_t known = tallies->count;
    uint32_t number = stat_number(&tallies->numbers, int_map_mix(int_map_mix(key) + process));
    if (number == known) {
        tallies->items = xgrow(tallies->items, &tallies->capacity, known + 1, sizeof *tallies->items);
        tallies->items[tallies->count++] = (struct tally){.process = process, .first = span};
    }
    return &tallies->items[number];
}

void tallies_deinit(struct tallies *tallies)
{
    free(tallies->items);
    int_map_deinit(&tallies->numbers);
    *tallies = (struct tallies){0};
}

const char *evidence_time(char out[EVIDENCE_TIME_BYTES], uint64_t ns)
{
    return text_duration(out, ns, false);
}

static bool is_of_time(enum finding_kind kind)
{
    return kind != FINDING_LEAK && kind != FINDING_WRONG_FREE;
}

static uint64_t base_of(const struct findings *findings, const struct finding *finding)
{
    const struct process_survey *process = &findings->survey->processes[finding->process];
    return finding->base_ns ? finding->base_ns : process->end_ns - process->start_ns;
}

struct finding finding_of(enum finding_kind kind, const struct tally *tally, const struct trace *trace)
{
    return (struct finding){.kind = kind,
                            .process = tally->process,
                            .where = trace_string(trace, tally->first->name),
                            .count = tally->count,
                            .prize_ns = tally->prize_ns,
                            .first_ns = tally->first->start_ns};
}

void findings_offer(struct findings *findings, const struct finding *finding)
{
    if (is_of_time(finding->kind) &&
        (finding->prize_ns < PRIZE_NS_MIN ||
         (double)finding->prize_ns < PRIZE_SHARE_MIN * (double)base_of(findings, finding))) {
        free(finding->evidence);
        return;
    }
    findings->items =
        xgrow(findings->items, &findings->capacity, findings->count + 1, sizeof *findings->items);
    findings->items[findings->count++] = *finding;
}

/* Those that are no matter of time first, then by the prize. */
static int compare_findings(const void *a, const void *b)
{
    const struct finding *x = a, *y = b;
    if (is_of_time(x->kind) != is_of_time(y->kind))
        return is_of_time(x->kind) ? 1 : -1;
    if (x->prize_ns != y->prize_ns)
        return x->prize_ns > y->prize_ns ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->first_ns < y->first_ns ? -1 : x->first_ns > y->first_ns;
}

static void add_row(const struct findings *findings, struct stat_table *table, const struct finding *finding)
{
    static const char *const words[FINDING_KINDS] = {
#define FINDING_WORD(id, word, advice) word,
        FINDINGS(FINDING_WORD)
#undef FINDING_WORD
    };
    static const char *const advice[FINDING_KINDS] = {
#define FINDING_ADVICE(id, word, advice) advice,
        FINDINGS(FINDING_ADVICE)
#undef FINDING_ADVICE
    };
    const struct survey *survey = findings->survey;
    struct stat_value *row = stat_table_add(table);
    row[COL_FINDING] = stat_text(words[finding->kind]);
    row[COL_WHERE] = stat_text(finding->where);
    row[COL_PROCESS] = stat_text(places_pid(&survey->places, finding->process));
    row[COL_COUNT] = stat_int(finding->count);
    if (is_of_time(finding->kind)) {
        row[COL_PRIZE_NS] = stat_int(finding->prize_ns);
        row[COL_PRIZE_SHARE] = stat_ratio((double)finding->prize_ns, (double)base_of(findings, finding));
    }
    if (finding->kind == FINDING_LEAK)
        row[COL_PRIZE_BYTES] = stat_int(finding->prize_bytes);
    row[COL_FIRST_NS] = stat_int(finding->first_ns - survey->stat->trace->start_ns);
    row[COL_EVIDENCE] = stat_table_own(table, finding->evidence);
    row[COL_ADVICE] = stat_text(advice[finding->kind]);
}

void stat_findings(const struct stat *stat, struct stat_report *report)
{
    struct survey survey;
    struct findings findings = {.survey = &survey};
    if (stat->is_part)
        return;
    struct stat_table *table = stat_report_add(
        report, stat_table_of("findings", "Findings",
                              "What could be better, and what it could save at most, as a share of the time "
                              "from the process's first GPU work to its last; several may share one prize. "
                              "--findings has the evidence, docs/findings.md the meaning.",
                              columns, STAT_COLUMNS(columns)));
    survey_init(&survey, stat);
    find_launch_bound(&findings);
    find_tiny_launches(&findings);
    find_graph_candidates(&findings);
    find_serialized(&findings);
    find_copies(&findings);
    find_needless_waits(&findings);
    find_low_occupancy(&findings);
    find_memory_faults(&findings);
    if (findings.count > 1)
        qsort(findings.items, findings.count, sizeof *findings.items, compare_findings);
    for (size_t i = 0; i < findings.count; i++)
        add_row(&findings, table, &findings.items[i]);
    free(findings.items);
    survey_deinit(&survey);
}
