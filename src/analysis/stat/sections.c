#include "analysis/stat/sections.h"

#include "analysis/code/code_book.h"
#include "analysis/stat/base/places.h"
#include "analysis/stat/memory/ledger.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>

void stat_init(struct stat *stat)
{
    *stat = (struct stat){.words = stat_words_create(),
                          .places = xcalloc(1, sizeof *stat->places),
                          .ledger = xcalloc(1, sizeof *stat->ledger),
                          .code = code_book_create()};
}

void stat_init_group(struct stat *stat, const struct stat *whole, bool is_part)
{
    *stat = (struct stat){.trace = whole->trace,
                          .words = whole->words,
                          .places = whole->places,
                          .is_part = is_part,
                          .ledger = xcalloc(1, sizeof *stat->ledger),
                          .code = whole->code,
                          .code_by = whole->code_by};
}

void stat_learn(struct stat *stat, const struct trace *segment)
{
    stat_make_current(stat, segment);
    stat_words_learn(stat->words, segment);
    places_learn(stat->places, stat);
    code_book_learn(stat->code, stat);
}

void stat_take(struct stat *stat, const struct trace *segment)
{
    stat_make_current(stat, segment);
    for (size_t i = 0; i < segment->span_count; i++) {
        const struct trace_span *span = &segment->spans[i];
        if (span->is_margin)
            continue;
        if (!stat->has_spans)
            stat->start_ns = span->start_ns;
        stat->has_spans = true;
        stat->end_ns = span->end_ns > stat->end_ns ? span->end_ns : stat->end_ns;
        stat->now_ns = span->start_ns;
    }
}

void stat_deinit_group(struct stat *stat)
{
    ledger_deinit(stat->ledger);
    free(stat->ledger);
    *stat = (struct stat){0};
}

void stat_deinit(struct stat *stat)
{
    stat_words_destroy(stat->words);
    places_deinit(stat->places);
    free(stat->places);
    code_book_destroy(stat->code);
    stat_deinit_group(stat);
}

static const struct stat_section *const sections[] = {
    &stat_headline, &stat_calls,   &stat_kernels,    &stat_code,           &stat_counters,
    &stat_copies,   &stat_devices, &stat_latency,    &stat_memory,         &stat_own,
    &stat_findings, &stat_ranks,   &stat_iterations, &stat_engine_requests};
#define SECTIONS (sizeof sections / sizeof *sections)

struct stat_tables {
    void *states[SECTIONS];
};

struct stat_tables *stat_tables_create(void)
{
    struct stat_tables *tables = xcalloc(1, sizeof *tables);
    for (size_t i = 0; i < SECTIONS; i++)
        tables->states[i] = xcalloc(1, sections[i]->bytes);
    return tables;
}

void stat_tables_take(struct stat_tables *tables, const struct stat *stat)
{
    const struct trace *trace = stat->trace;
    for (size_t i = 0; i < trace->span_count; i++) {
        const struct trace_span *span = &trace->spans[i];
        if (span->is_margin)
            continue;
        /* The span is also in the detailed trace of its rank. Only the tables of the step of all ranks need
         * the copy. */
        bool is_copy = stat_has(stat, span, KEY_STEP_COPIED);
        if (!stat->is_part && !is_copy)
            ledger_take(stat->ledger, stat, span);
        for (size_t s = 0; s < SECTIONS; s++)
            if (!is_copy || sections[s] == &stat_ranks)
                sections[s]->take(tables->states[s], stat, span);
    }
    for (size_t s = 0; s < SECTIONS; s++) {
        if (sections[s]->end_segment)
            sections[s]->end_segment(tables->states[s], stat);
    }
}

void stat_tables_finish(struct stat_tables *tables, const struct stat *stat, struct stat_report *report)
{
    if (report)
        ledger_finish(stat->ledger, stat);
    for (size_t i = 0; i < SECTIONS; i++) {
        sections[i]->finish(tables->states[i], stat, report);
        free(tables->states[i]);
    }
    free(tables);
}
