#include "analysis/hang/hang_analyze.h"

#include "cli/util/sort.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

static const char *const words[] = {
#define HANG_KIND_WORD(id, word) word,
    HANG_KINDS(HANG_KIND_WORD)};

const char *hang_kind_word(enum hang_kind kind)
{
    return words[kind];
}

void hang_verdict_add(struct hang_verdict *verdict, uint32_t rank)
{
    for (size_t i = 0; i < verdict->rank_count; i++)
        if (verdict->ranks[i] == rank)
            return;
    *XADD(verdict->ranks, verdict->rank_count, verdict->rank_capacity) = rank;
}

void hang_verdict_deinit(struct hang_verdict *verdict)
{
    free(verdict->ranks);
    text_deinit(&verdict->evidence);
}

static int by_number(const void *a, const void *b)
{
    return ORDER(*(const uint32_t *)a, *(const uint32_t *)b);
}

void hang_analyze(const struct hang_model *model, struct hang_verdict *verdict)
{
    *verdict = (struct hang_verdict){
        .communicator = HANG_NONE, .other = HANG_NONE, .place = UINT64_MAX, .other_place = UINT64_MAX};
    bool is_stalled = false;
    for (size_t i = 0; i < model->rank_count; i++)
        is_stalled |= model->ranks[i].watch == LIVE_STALLED;
    if (!is_stalled)
        return;
    if (!hang_find_mismatch(model, verdict))
        hang_find_waits(model, verdict);
    sort_array(verdict->ranks, verdict->rank_count, sizeof *verdict->ranks, by_number);
}
