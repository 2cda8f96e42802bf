/* Runs the detectors and makes the table of findings. */
#include "analysis/stat/findings/detectors.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>

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

/* Compares findings: those that are not about time come first, then by saving. */
static int compare_findings(const void *a, const void *b)
{
    const struct finding *x = a, *y = b;
    if (finding_is_of_time(x->kind) != finding_is_of_time(y->kind))
        return finding_is_of_time(x->kind) ? 1 : -1;
    if (x->saving_ns != y->saving_ns)
        return x->saving_ns > y->saving_ns ? -1 : 1;
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
    row[COL_PROCESS] = stat_text(places_name(survey->stat->places, finding->process));
    row[COL_COUNT] = stat_int(finding->count);
    if (finding->code)
        row[COL_CODE] = stat_table_own(table, finding->code);
    if (finding_is_of_time(finding->kind)) {
        row[COL_SAVING_NS] = stat_int(finding->saving_ns);
        row[COL_SAVING_SHARE] =
            stat_ratio((double)finding->saving_ns, (double)findings_base_ns(findings, finding));
    }
    if (finding->kind == FINDING_LEAK)
        row[COL_SAVING_BYTES] = stat_int(finding->saving_bytes);
    row[COL_FIRST_NS] = stat_int(finding->first_ns - survey->stat->start_ns);
    row[COL_EVIDENCE] = stat_table_own(table, finding->evidence);
    row[COL_ADVICE] = stat_text(advice[finding->kind]);
}

static const struct detector *const detectors[] = {
    &find_launch_bound, &find_tiny_launches,  &find_graph_candidates, &find_serialized,
    &find_copies,       &find_needless_waits, &find_low_occupancy,    &find_memory_faults};
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
    if (findings->count > 1)
        qsort(findings->items, findings->count, sizeof *findings->items, compare_findings);
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
