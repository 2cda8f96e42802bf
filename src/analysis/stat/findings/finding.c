/* Runs the detectors, makes findings of their tallies, and the table of findings. */
#include "analysis/stat/findings/finding.h"

#include "analysis/code/code_book.h"
#include "analysis/hang/hang_analyze.h"
#include "analysis/hang/hang_read.h"
#include "cli/util/sort.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

/* --- offers --- */

/* Whether findings of the kind have a saving in ns. Leaks, wrong frees and preemptions do not. */
static bool finding_is_of_time(enum finding_kind kind)
{
    return kind != FINDING_LEAK && kind != FINDING_WRONG_FREE && kind != FINDING_PREEMPTION;
}

static bool finding_is_of_engine(enum finding_kind kind)
{
    return kind >= FINDING_PREFILL_STALLS && kind <= FINDING_LATE_RANK;
}

/* Returns the time of which the finding's saving is a share. */
static uint64_t base_ns_of(const struct findings *findings, const struct finding *finding)
{
    const struct process_survey *process = survey_process_at(findings->survey, finding->process);
    return finding->base_ns ? finding->base_ns : process->end_ns - process->start_ns - process->paused_ns;
}

/* Adds the place that most of the tally's matches come from, if any is known. Several stacks can have one
 * place. */
static void name_place(const struct stat *stat, const struct tallies *tallies, uint32_t tally,
                       struct finding *finding)
{
    struct int_map counts = {0}; /* place → its matches */
    const struct int_map_entry *most = NULL;
    uint64_t known = 0;
    for (size_t i = 0; i < tallies->origin_count; i++) {
        const struct tally_origin *origin = &tallies->origins[i];
        if (origin->tally != tally)
            continue;
        struct code_stack stack = code_book_stack(stat->code, stat, origin->origin);
        if (stack.label)
            continue;
        uint32_t before = int_map_get(&counts, stack.place);
        int_map_set(&counts, stack.place, (uint32_t)origin->count + (before == MAP_NONE ? 0 : before));
        known += origin->count;
    }
    for (size_t i = 0; i < counts.slots; i++) {
        const struct int_map_entry *entry = &counts.entries[i];
        if (entry->value != MAP_NONE &&
            (!most || entry->value > most->value || (entry->value == most->value && entry->key < most->key)))
            most = entry;
    }
    if (most) {
        const struct code_frame *frame = code_book_frame(stat->code, (uint32_t)most->key);
        struct text text = {0};
        finding->code = code_frame_place(frame);
        text_add_format(&text, "%s; ", finding->evidence);
        if (known < finding->count)
            text_add_format(&text, "of %llu with a call stack, ", (unsigned long long)known);
        text_add_format(&text, "%u at %s%s%s%s", most->value, finding->code, *frame->name ? " (" : "",
                        frame->name, *frame->name ? ")" : "");
        free(finding->evidence);
        finding->evidence = text.data;
    }
    int_map_deinit(&counts);
}

void findings_offer(struct findings *findings, enum finding_kind kind, struct tallies *tallies,
                    uint64_t count_min, evidence_fn *evidence, const void *context)
{
    if (!findings) {
        tallies_deinit(tallies);
        return;
    }
    const struct survey *survey = findings->survey;
    for (size_t i = 0; i < tallies->count; i++) {
        const struct tally *tally = &tallies->items[i];
        if (tally->count < count_min)
            continue;
        struct finding finding = {.kind = kind,
                                  .process = tally->process,
                                  .where = trace_string(survey->stat->trace, tally->first.name),
                                  .count = tally->count,
                                  .saving_ns = tally->saving_ns,
                                  .first_ns = tally->first.start_ns};
        finding.evidence = evidence(survey, tally, &finding, context);
        double least_ns = SAVING_SHARE_MIN * (double)base_ns_of(findings, &finding);
        bool is_worthwhile = !finding_is_of_time(kind) ||
                             (finding.saving_ns >= SAVING_NS_MIN && (double)finding.saving_ns >= least_ns);
        if (!finding.evidence || !is_worthwhile) {
            free(finding.evidence);
            continue;
        }
        name_place(survey->stat, tallies, (uint32_t)i, &finding);
        *XADD(findings->items, findings->count, findings->capacity) = finding;
    }
    tallies_deinit(tallies);
}

/* --- the table --- */

#define COLUMNS(X)                                                                                           \
    X(COL_FINDING, "finding", "finding", STAT_TEXT)                                                          \
    X(COL_WHERE, "where", "where", STAT_TEXT)                                                                \
    X(COL_CODE, "code", "at", STAT_TEXT)                                                                     \
    X(COL_PROCESS, "process", "process", STAT_TEXT)                                                          \
    X(COL_COUNT, "count", "times", STAT_COUNT)                                                               \
    X(COL_SAVING_NS, "saving_ns", "saves up to", STAT_NS)                                                    \
    X(COL_SAVING_SHARE, "saving_share", "share", STAT_SHARE)                                                 \
    X(COL_SAVING_BYTES, "saving_bytes", "bytes", STAT_BYTES)                                                 \
    X(COL_FIRST_NS, "first_ns", "first at", STAT_NS)                                                         \
    X(COL_EVIDENCE, "evidence", "evidence", STAT_TEXT)                                                       \
    X(COL_ADVICE, "advice", "action", STAT_TEXT)
STAT_COLUMNS_OF(columns, COLUMNS);

/* Compares findings: those that are not about time come first, then those about a serving engine, because
 * others see its calls and kernels, which lose the same time, without their cause; then by saving. */
static int compare_findings(const void *a, const void *b)
{
    const struct finding *x = a, *y = b;
    int order = ORDER(finding_is_of_time(x->kind), finding_is_of_time(y->kind));
    order = order ? order : ORDER(finding_is_of_engine(y->kind), finding_is_of_engine(x->kind));
    order = order ? order : ORDER(y->saving_ns, x->saving_ns);
    order = order ? order : ORDER(x->kind, y->kind);
    return order ? order : ORDER(x->first_ns, y->first_ns);
}

#define FINDING_TEXTS(id, word, advice) {word, advice},
static const struct {
    const char *word, *advice;
} texts[FINDING_KINDS] = {FINDINGS(FINDING_TEXTS)};

static void add_row(const struct findings *findings, struct stat_table *table, const struct finding *finding)
{
    const struct survey *survey = findings->survey;
    struct stat_value *row = stat_table_add(table);
    row[COL_FINDING] = stat_text(texts[finding->kind].word);
    row[COL_WHERE] = stat_text(finding->where);
    row[COL_PROCESS] = stat_text(places_name(survey->stat->places, finding->process));
    row[COL_COUNT] = stat_int(finding->count);
    if (finding->code)
        row[COL_CODE] = stat_table_own(table, finding->code);
    if (finding_is_of_time(finding->kind)) {
        row[COL_SAVING_NS] = stat_int(finding->saving_ns);
        row[COL_SAVING_SHARE] = stat_ratio((double)finding->saving_ns, (double)base_ns_of(findings, finding));
    }
    if (finding->kind == FINDING_LEAK)
        row[COL_SAVING_BYTES] = stat_int(finding->saving_bytes);
    row[COL_FIRST_NS] = stat_int(finding->first_ns - survey->stat->start_ns);
    row[COL_EVIDENCE] = stat_table_own(table, finding->evidence);
    row[COL_ADVICE] = stat_text(texts[finding->kind].advice);
}

static void add_hang(struct stat_table *table, const struct hang_model *job,
                     const struct hang_verdict *verdict)
{
    struct text evidence = {0}, ranks = {0};
    hang_add_summary(&evidence, job, verdict, false);
    text_add(&evidence, verdict->is_sure ? " This is sure." : " This is not sure.");
    struct stat_value *row = stat_table_add(table);
    memmove(table->values + table->column_count, table->values,
            (table->row_count - 1) * table->column_count * sizeof *row);
    row = stat_table_row(table, 0);
    for (size_t i = 0; i < table->column_count; i++)
        row[i].is_missing = true;
    row[COL_FINDING] = stat_text(texts[FINDING_HANG].word);
    if (verdict->rank_count && verdict->kind != HANG_INSIDE) {
        hang_add_ranks(&ranks, job, verdict->ranks, verdict->rank_count);
        row[COL_PROCESS] = stat_table_own(table, ranks.data);
    }
    row[COL_EVIDENCE] = stat_table_own(table, evidence.data);
    row[COL_ADVICE] = stat_text(texts[FINDING_HANG].advice);
}

void findings_add_hangs(struct stat_report *report, struct hang_model *model)
{
    struct stat_table *table = stat_report_find(report, "findings");
    struct hang_verdict verdict;
    size_t count;
    hang_drop_repeated(model);
    struct hang_model *jobs = hang_split(model, &count);
    for (size_t i = 0; i < count; i++) {
        hang_analyze(&jobs[i], &verdict);
        if (table && verdict.is_stall)
            add_hang(table, &jobs[i], &verdict);
        hang_verdict_deinit(&verdict);
        hang_deinit(&jobs[i]);
    }
    free(jobs);
    hang_deinit(model);
}

static const struct detector *const detectors[] = {
    &find_launch_bound, &find_tiny_launches,  &find_graph_candidates, &find_serialized,
    &find_copies,       &find_needless_waits, &find_low_occupancy,    &find_memory_faults,
    &find_engines,      &find_graph_misses,   &find_late_ranks};
#define DETECTORS (sizeof detectors / sizeof *detectors)

struct search {
    struct survey survey;
    void *states[DETECTORS]; /* states of the detectors; NULL until the first span */
};

static void take(void *state, const struct stat *stat, const struct trace_span *span)
{
    struct search *search = state;
    if (stat->is_part)
        return;
    survey_take(&search->survey, stat, span);
    for (size_t i = 0; i < DETECTORS; i++) {
        if (!search->states[i])
            search->states[i] = xcalloc(1, detectors[i]->bytes);
        if (detectors[i]->take)
            detectors[i]->take(search->states[i], &search->survey, span);
    }
}

static void end_segment(void *state, const struct stat *stat)
{
    struct search *search = state;
    survey_advance(&search->survey, stat);
    for (size_t i = 0; i < DETECTORS; i++) {
        if (search->states[i] && detectors[i]->end_segment)
            detectors[i]->end_segment(search->states[i], &search->survey);
    }
    if (!stat->is_part)
        survey_end_segment(&search->survey);
}

static void add_table(struct findings *findings, struct stat_report *report)
{
    struct stat_table *table =
        STAT_ADD_TABLE(report, "findings", "Findings",
                       "Possible improvements and upper bounds of their savings, as a share of the time from "
                       "the process's first GPU work to its last. Several findings can claim the same time. "
                       "--findings shows the evidence and advice.",
                       columns);
    sort_array(findings->items, findings->count, sizeof *findings->items, compare_findings);
    for (size_t i = 0; i < findings->count; i++)
        add_row(findings, table, &findings->items[i]);
    free(findings->items);
}

static void finish(void *state, const struct stat *stat, struct stat_report *report)
{
    struct search *search = state;
    struct findings findings = {.survey = &search->survey};
    bool is_wanted = report && !stat->is_part;
    if (is_wanted)
        survey_finish(&search->survey, stat);
    for (size_t i = 0; i < DETECTORS; i++) {
        if (search->states[i])
            detectors[i]->finish(search->states[i], is_wanted ? &findings : NULL);
        free(search->states[i]);
    }
    if (is_wanted)
        add_table(&findings, report);
    survey_deinit(&search->survey);
}

const struct stat_section stat_findings = {sizeof(struct search), take, end_segment, finish};
