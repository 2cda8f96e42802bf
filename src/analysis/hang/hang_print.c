#include "analysis/hang/hang_analyze.h"

#include "analysis/hang/hang_read.h"
#include "cli/util/sort.h"
#include "cli/util/xalloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PROCESSES_SHOWN 4

/* Ranks that are at the same place. */
struct group {
    const struct hang_rank *first;
    uint32_t *ranks;
    size_t count, capacity;
    bool is_cause;
};

static bool is_cause(const struct hang_verdict *verdict, uint32_t rank)
{
    for (size_t i = 0; verdict->kind != HANG_INSIDE && i < verdict->rank_count; i++)
        if (verdict->ranks[i] == rank)
            return true;
    return false;
}

static bool is_same_place(const struct hang_rank *a, const struct hang_rank *b)
{
    /* The model has each text once. */
    return a->where == b->where && a->function == b->function && a->line == b->line && a->step == b->step;
}

static int by_interest(const void *a, const void *b)
{
    const struct group *left = a, *right = b;
    if (left->is_cause != right->is_cause)
        return left->is_cause ? -1 : 1;
    int order = ORDER(left->count, right->count);
    return order ? order : ORDER(left->ranks[0], right->ranks[0]);
}

static struct group *find_groups(const struct hang_model *model, const struct hang_verdict *verdict,
                                 size_t *count)
{
    struct group *groups = NULL;
    size_t capacity = 0;
    *count = 0;
    for (uint32_t r = 0; r < model->rank_count; r++) {
        const struct hang_rank *rank = &model->ranks[r];
        bool cause = is_cause(verdict, r);
        size_t g = *count > 512 ? *count - 1 : 0; /* far more than are shown */
        while (g < *count && !(is_same_place(groups[g].first, rank) && groups[g].is_cause == cause))
            g++;
        if (g == *count)
            *XADD(groups, *count, capacity) = (struct group){.first = rank, .is_cause = cause};
        *XADD(groups[g].ranks, groups[g].count, groups[g].capacity) = r;
    }
    sort_array(groups, *count, sizeof *groups, by_interest);
    return groups;
}

static void add_row(struct text *text, const struct hang_model *model, const struct group *group,
                    const struct hang_style *style)
{
    struct text ranks = {0};
    char count[TEXT_NUMBER_BYTES];
    hang_add_ranks(&ranks, model, group->ranks, group->count);
    text_add(text, group->is_cause ? "> " : "  ");
    text_add_column(text, text_count(count, group->count), 6, true, style->utf8);
    text_add(text, "  ");
    text_add_column(text, strchr(ranks.data, ' ') + 1, 24, false, style->utf8);
    text_add(text, "  ");
    text_add_column(text, hang_where_text(group->first->where), 29, false, style->utf8);
    text_add(text, "  ");
    text_add_clean(text, group->first->function ? group->first->function : "", style->utf8);
    text_add(text, group->first->line ? " " : "");
    text_add_clean(text, group->first->line ? group->first->line : "", style->utf8);
    if (group->first->step >= 0)
        text_add_format(text, " (step %" PRId64 ")", group->first->step);
    text_add(text, "\n");
    text_deinit(&ranks);
}

static void add_places(struct text *text, const struct hang_model *model, const struct hang_verdict *verdict,
                       const struct hang_style *style)
{
    size_t count;
    struct group *groups = find_groups(model, verdict, &count);
    text_add_format(text, "\n   RANKS  %-24s  %-29s  FUNCTION AND LINE\n", "WHICH", "HOST CODE IS");
    for (size_t g = 0; g < count; g++) {
        if (g < HANG_ROWS_MAX)
            add_row(text, model, &groups[g], style);
        free(groups[g].ranks);
    }
    if (count > HANG_ROWS_MAX)
        text_add_format(text, "  and %zu more places\n", count - HANG_ROWS_MAX);
    free(groups);
}

/* Facts that a better answer would need. */
static void add_gaps(struct text *text, const struct hang_model *model, const struct hang_verdict *verdict)
{
    bool has_limits = false, has_no_types = false, has_no_watch = false;
    size_t counted = 0;
    struct text silent = {0};
    size_t missing = hang_add_silent(&silent, model);
    bool may_be_pause = verdict->kind != HANG_NOTHING && !verdict->is_stall;
    text_add(text, may_be_pause
                       ? "whether it hangs or pauses: it is no stall yet by the job's earlier pauses\n"
                       : "");
    if (missing)
        text_add_format(text, "%zu of %zu ranks (%s)\n", missing, hang_expected(model), silent.data);
    text_deinit(&silent);
    for (size_t r = 0; r < model->rank_count; r++) {
        has_no_watch |= model->ranks[r].where == HANG_UNKNOWN;
        counted += model->ranks[r].is_counted;
        for (uint32_t s = 0; s < model->ranks[r].seat_count; s++) {
            const struct hang_seat *seat = &model->ranks[r].seats[s];
            has_limits |= !seat->is_exact && seat->call_count;
            has_no_types |= seat->collective_count && !seat->calls[0].datatype;
        }
    }
    if (counted)
        text_add_format(text, "calls of %zu ranks without an agent, which NCCL's RAS only counts\n", counted);
    text_add(text, has_limits ? "which of the latest collectives have ended\n" : "");
    text_add(
        text,
        has_no_types
            ? "data types of collectives (NCCL reports only bytes, unless its profiler plugin is enabled)\n"
            : "");
    text_add(text, has_no_watch ? "where some hosts are\n" : "");
}

static void add_lines(struct text *text, const char *title, const char *lines)
{
    text_add(text, lines ? title : "");
    for (const char *at = lines, *end; at && (end = strchr(at, '\n')); at = end + 1)
        text_add_format(text, "  %.*s", (int)(end - at + 1), at);
}

/* Where to log in. */
static void add_processes(struct text *text, const struct hang_model *model,
                          const struct hang_verdict *verdict)
{
    for (size_t i = 0; verdict->kind != HANG_INSIDE && i < verdict->rank_count && i < PROCESSES_SHOWN; i++) {
        const struct hang_rank *rank = &model->ranks[verdict->ranks[i]];
        if (rank->rank >= 0)
            text_add_format(text, "Rank %" PRId64 " is ", rank->rank);
        text_add_format(text, "process %" PRId32, rank->pid);
        text_add(text, rank->host && *rank->host ? " on " : "");
        text_add_clean(text, rank->host ? rank->host : "", false);
        text_add(text, ".\n");
    }
}

static void print_fitted(FILE *out, char *lines, const struct hang_style *style)
{
    struct text fitted = {0};
    for (char *line = lines, *end; line && (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        text_add_fitted(&fitted, line, style->columns, style->utf8);
        text_add(&fitted, "\n");
    }
    fprintf(out, "%s", fitted.data ? fitted.data : "");
    text_deinit(&fitted);
}

void hang_print(FILE *out, const struct hang_model *model, const struct hang_verdict *verdict,
                const struct hang_style *style)
{
    struct text summary = {0}, lines = {0}, gaps = {0};
    hang_add_summary(&summary, model, verdict, style->utf8);
    fprintf(out, "%s\n", summary.data);
    if (verdict->kind != HANG_NOTHING) {
        text_add(&lines,
                 hang_has_ended(model) ? "The job has ended since then. This was its last second.\n" : "");
        text_add(&lines, verdict->is_sure ? "This is sure.\n" : "This is not sure.\n");
        add_processes(&lines, model, verdict);
        add_lines(&lines, "\nEvidence:\n", verdict->evidence.data);
        add_places(&lines, model, verdict, style);
        add_gaps(&gaps, model, verdict);
        add_lines(&lines, "\nUnknown:\n", gaps.len ? gaps.data : NULL);
        print_fitted(out, lines.data, style);
    }
    text_deinit(&summary);
    text_deinit(&lines);
    text_deinit(&gaps);
}

static void write_call(struct json_writer *json, const char *key, const struct hang_model *model,
                       uint32_t communicator, uint64_t place, const struct live_call_view *call)
{
    char id[20];
    snprintf(id, sizeof id, "%" PRIx64, model->communicators[communicator].id);
    json_write_object(json, key);
    json_write_text(json, "communicator", id);
    json_write_unsigned(json, "size", model->communicators[communicator].size);
    if (place != UINT64_MAX)
        json_write_unsigned(json, "number", place);
    if (call->operation) {
        json_write_text(json, "operation", hang_operation_word(call->operation));
        if (call->bytes != UINT64_MAX)
            json_write_unsigned(json, "bytes", call->bytes);
    }
    json_write_object_end(json);
}

static void write_lines(struct json_writer *json, const char *key, const char *lines)
{
    json_write_array(json, key);
    for (const char *at = lines, *end; at && (end = strchr(at, '\n')); at = end + 1)
        json_write_bytes(json, NULL, at, (size_t)(end - at));
    json_write_array_end(json);
}

void hang_write(struct json_writer *json, const struct hang_model *model, const struct hang_verdict *verdict)
{
    struct text headline = {0}, gaps = {0};
    hang_add_headline(&headline, model, verdict);
    add_gaps(&gaps, model, verdict);
    json_write_object(json, NULL);
    json_write_text(json, "kind", hang_kind_word(verdict->kind));
    json_write_bool(json, "stall", verdict->is_stall);
    json_write_bool(json, "sure", verdict->is_sure);
    json_write_text(json, "headline", headline.data);
    json_write_bool(json, "ended", hang_has_ended(model));
    json_write_array(json, "culprits");
    for (size_t i = 0; i < verdict->rank_count; i++)
        hang_write_culprit(json, &model->ranks[verdict->ranks[i]]);
    json_write_array_end(json);
    if (verdict->communicator != HANG_NONE)
        write_call(json, "call", model, verdict->communicator, verdict->place, &verdict->call);
    if (verdict->or_later)
        json_write_bool(json, "or_later", true);
    if (verdict->other != HANG_NONE)
        write_call(json, "other_call", model, verdict->other, verdict->other_place, &verdict->own);
    else if (verdict->communicator != HANG_NONE && verdict->own.operation)
        write_call(json, "own_call", model, verdict->communicator, verdict->place, &verdict->own);
    write_lines(json, "evidence", verdict->evidence.data);
    write_lines(json, "unknown", gaps.data);
    json_write_unsigned(json, "stalled_ns", hang_longest_stall_ns(model));
    json_write_unsigned(json, "ranks_known", model->rank_count);
    json_write_unsigned(json, "ranks_expected", hang_expected(model));
    json_write_object_end(json);
    text_deinit(&headline);
    text_deinit(&gaps);
}
