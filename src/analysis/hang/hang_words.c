#include "analysis/hang/hang_analyze.h"

#include "cli/util/xalloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RANKS_SHOWN 8 /* ranges of ranks */

static const struct {
    const char *word, *one, *several;
} kinds[] = {
#define HANG_KIND_TEXT(id, word, one, several) {word, one, several},
    HANG_KINDS(HANG_KIND_TEXT)};

const char *hang_kind_word(enum hang_kind kind)
{
    return kinds[kind].word;
}

/* The numbers ascend. */
static void add_numbers(struct text *text, const int64_t *numbers, size_t count)
{
    size_t ranges = 0;
    for (size_t i = 0, end; i < count; i = end, ranges++) {
        for (end = i + 1; end < count && numbers[end] == numbers[end - 1] + 1;)
            end++;
        if (ranges == RANKS_SHOWN) {
            text_add_format(text, " and %zu more", count - i);
            return;
        }
        text_add_format(text, i ? ",%" PRId64 : "%" PRId64, numbers[i]);
        if (end > i + 1)
            text_add_format(text, end == i + 2 ? ",%" PRId64 : "-%" PRId64, numbers[end - 1]);
    }
}

void hang_add_ranks(struct text *text, const struct hang_model *model, const uint32_t *ranks, size_t count)
{
    int64_t *numbers = xcalloc(count + 1, sizeof *numbers);
    bool is_known = true;
    for (size_t i = 0; i < count; i++)
        is_known &= (numbers[i] = model->ranks[ranks[i]].rank) >= 0;
    for (size_t i = 0; !is_known && i < count; i++)
        numbers[i] = model->ranks[ranks[i]].pid;
    text_add(text, is_known ? "rank" : "process");
    text_add(text, count == 1 ? " " : is_known ? "s " : "es ");
    add_numbers(text, numbers, count);
    free(numbers);
}

size_t hang_add_silent(struct text *text, const struct hang_model *model)
{
    size_t expected = hang_expected(model), missing = 0;
    int64_t *numbers = xcalloc(expected + 1, sizeof *numbers);
    for (size_t i = 0; i < model->rank_count; i++)
        if (model->ranks[i].rank >= 0 && model->ranks[i].rank < (int64_t)expected)
            numbers[model->ranks[i].rank] = 1;
    for (size_t i = 0; i < expected; i++)
        if (!numbers[i])
            numbers[missing++] = (int64_t)i;
    if (missing)
        text_add(text, missing == 1 ? "rank " : "ranks ");
    add_numbers(text, numbers, missing);
    free(numbers);
    return missing;
}

void hang_add_call(struct text *text, const struct live_call_view *call)
{
    const char *datatype = collective_datatype(call->datatype - 1u);
    char size[TEXT_NUMBER_BYTES];
    text_add(text, hang_operation_word(call->operation));
    if (call->bytes != UINT64_MAX)
        text_add_format(text, " of %s", text_bytes(size, call->bytes));
    if (datatype)
        text_add_format(text, " %s", datatype);
    if (call->peer != LIVE_NO_PEER)
        text_add_format(text, call->operation == COLLECTIVE_SEND ? " to its rank %d" : " from its rank %d",
                        call->peer);
}

void hang_add_communicator(struct text *text, const struct hang_model *model, uint32_t number)
{
    const struct hang_communicator *of = &model->communicators[number];
    text_add_format(text, "communicator %" PRIx64 " (%" PRIu32 " ranks)", of->id, of->size);
}

/* "call 17 of communicator 5f (8 ranks), all_reduce of 32 MiB" */
static void add_place(struct text *text, const struct hang_model *model, const struct hang_verdict *verdict)
{
    if (verdict->communicator == HANG_NONE) {
        text_add(text, "a call");
        return;
    }
    text_add_format(text, "call %" PRIu64 " of ", verdict->place);
    hang_add_communicator(text, model, verdict->communicator);
    if (verdict->call.operation) {
        text_add(text, ", ");
        hang_add_call(text, &verdict->call);
    }
    text_add(text, verdict->or_later ? ", or for a later call" : "");
}

static void add_cause(struct text *text, const struct hang_model *model, const struct hang_verdict *verdict)
{
    bool is_one = verdict->rank_count == 1;
    const char *known = is_one ? kinds[verdict->kind].one : kinds[verdict->kind].several;
    const struct hang_rank *first = verdict->rank_count ? &model->ranks[verdict->ranks[0]] : NULL;
    hang_add_ranks(text, model, verdict->ranks, verdict->rank_count);
    if (known) {
        text_add(text, known);
    } else if (verdict->kind <= HANG_DATATYPE) {
        text_add(text, is_one ? " calls " : " call ");
        hang_add_call(text, &verdict->own);
        text_add(text, verdict->is_sure ? " where the others make " : " where others make ");
    } else if (verdict->kind == HANG_EXTRA) {
        text_add(text, " made a call more than the others: ");
        hang_add_call(text, &verdict->own);
        text_add(text, " before ");
    } else if (verdict->kind == HANG_ORDER) {
        text_add(text, is_one ? " makes " : " make ");
    } else {
        text_add_format(text, " %s %s", is_one ? "is" : "are", first ? hang_where_text(first->where) : "");
        text_add(text, first && first->function ? ", in " : "");
        text_add_clean(text, first && first->function ? first->function : "", false);
        text_add(text, first && first->line ? " at " : "");
        text_add_clean(text, first && first->line ? first->line : "", false);
        text_add(text, "; others wait for ");
    }
    add_place(text, model, verdict);
    if (verdict->kind != HANG_ORDER)
        return;
    text_add_format(text, ", and call %" PRIu64 " of ", verdict->other_place);
    hang_add_communicator(text, model, verdict->other);
    text_add(text, ", ");
    hang_add_call(text, &verdict->own);
    text_add(text, verdict->is_sure ? ", in another order than the others" : ", in different orders");
}

void hang_add_headline(struct text *text, const struct hang_model *model, const struct hang_verdict *verdict)
{
    if (verdict->kind == HANG_NOTHING) {
        text_add(text, "no rank stands still");
    } else if (verdict->kind == HANG_INSIDE) {
        text_add(text, "all ranks have made ");
        add_place(text, model, verdict);
        text_add_format(text, ", and it does not end: %sthe network or NCCL",
                        verdict->is_sure ? "" : "a kernel before it on one of them, ");
    } else if (verdict->kind == HANG_NO_REPORT) {
        bool has_place = verdict->communicator != HANG_NONE;
        text_add(text, has_place ? "all ranks that are known wait for " : "all ranks that are known wait");
        if (has_place)
            add_place(text, model, verdict);
        text_add(text, "; nothing is known of ");
        if (!hang_add_silent(text, model))
            text_add(text, "some of its ranks");
    } else if (verdict->kind == HANG_UNKNOWN_CAUSE) {
        text_add(text, "no rank is behind the others: a kernel, the order of calls, the network or NCCL");
    } else {
        add_cause(text, model, verdict);
    }
}

uint64_t hang_longest_stall_ns(const struct hang_model *model)
{
    uint64_t longest = 0;
    for (size_t r = 0; r < model->rank_count; r++)
        if (model->ranks[r].stalled_ns > longest)
            longest = model->ranks[r].stalled_ns;
    return longest;
}

void hang_add_summary(struct text *text, const struct hang_model *model, const struct hang_verdict *verdict,
                      bool utf8)
{
    char duration[TEXT_NUMBER_BYTES];
    size_t expected = hang_expected(model);
    if (verdict->kind == HANG_NOTHING)
        text_add_format(text, "No hang in %zu of %zu ranks: ", model->rank_count, expected);
    else
        text_add_format(
            text, "%s for %s, %zu of %zu ranks known: ", verdict->is_stall ? "HANG" : "No movement",
            text_duration(duration, hang_longest_stall_ns(model), utf8), model->rank_count, expected);
    hang_add_headline(text, model, verdict);
    text_add(text, verdict->kind == HANG_NOTHING ? "" : ".");
}
