#include "analysis/hang/hang_analyze.h"

#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

#define KINDS_MAX 8 /* of calls at one place; further ones count as the last */

/* The calls of the members at a place. */
struct difference {
    const struct hang_communicator *of;
    uint64_t place;
    size_t kinds;
    struct live_call_view calls[KINDS_MAX];
    size_t counts[KINDS_MAX]; /* of members */
    size_t votes[KINDS_MAX];  /* of members of communicators like this one */
};

bool hang_calls_match(const struct live_call_view *a, const struct live_call_view *b)
{
    return a->operation == b->operation &&
           (a->bytes == b->bytes || a->bytes == UINT64_MAX || b->bytes == UINT64_MAX) &&
           (a->datatype == b->datatype || !a->datatype || !b->datatype);
}

/* SIZE_MAX: the seat has no call at the place. `kinds`: another one. */
static size_t kind_of(const struct difference *found, const struct hang_seat *seat)
{
    const struct live_call_view *call = hang_call_at(seat, found->place);
    size_t kind = 0;
    while (call && kind < found->kinds && !hang_calls_match(&found->calls[kind], call))
        kind++;
    return call ? kind : SIZE_MAX;
}

static void count_kinds(struct difference *found)
{
    found->kinds = 0;
    memset(found->counts, 0, sizeof found->counts);
    for (size_t i = 0; i < found->of->member_count; i++) {
        size_t kind = kind_of(found, found->of->members[i]);
        if (kind == found->kinds && kind < KINDS_MAX)
            found->calls[found->kinds++] = *hang_call_at(found->of->members[i], found->place);
        if (kind != SIZE_MAX)
            found->counts[kind < KINDS_MAX ? kind : KINDS_MAX - 1]++;
    }
}

/* The first place, among those that may be open, whose calls differ. */
static bool compare(struct difference *found)
{
    uint64_t first = found->of->most > LIVE_ENTRIES ? found->of->most - LIVE_ENTRIES : 0;
    found->place = first > found->of->floor ? first : found->of->floor;
    for (; found->place < found->of->most; found->place++) {
        count_kinds(found);
        if (found->kinds > 1)
            return true;
    }
    return false;
}

/* Communicators of the same size that call one of the kinds at the same place. */
static void vote(const struct hang_model *model, struct difference *found)
{
    memset(found->votes, 0, sizeof found->votes);
    for (size_t c = 0; c < model->communicator_count; c++) {
        const struct hang_communicator *other = &model->communicators[c];
        for (size_t i = 0; other != found->of && other->size == found->of->size && i < other->member_count;
             i++) {
            size_t kind = kind_of(found, other->members[i]);
            if (kind < found->kinds)
                found->votes[kind]++;
        }
    }
}

/* The kind of more than half; KINDS_MAX: none. */
static size_t majority(const size_t *counts, size_t kinds)
{
    size_t sum = 0;
    for (size_t i = 0; i < kinds; i++)
        sum += counts[i];
    for (size_t i = 0; i < kinds; i++)
        if (counts[i] * 2 > sum)
            return i;
    return KINDS_MAX;
}

/* Calls of `late` from a place on are those of `early`, one later. Returns how many; 0: one differs. */
static size_t count_shifted(const struct hang_seat *late, const struct hang_seat *early, uint64_t place)
{
    for (size_t count = 0;; place++, count++) {
        const struct live_call_view *mine = hang_call_at(late, place),
                                    *theirs = hang_call_at(early, place + 1);
        if (!mine || !theirs)
            return count;
        if (!hang_calls_match(mine, theirs))
            return 0;
    }
}

/* The first member that makes a call of the kind, or one of another kind. */
static const struct hang_seat *first_seat(const struct difference *found, size_t kind, bool is_kind)
{
    size_t i = 0, other;
    while ((other = kind_of(found, found->of->members[i])) == SIZE_MAX || (other == kind) != is_kind)
        i++;
    return found->of->members[i];
}

static void name_kind(const struct difference *found, size_t right, struct hang_verdict *verdict)
{
    const struct hang_seat *good = first_seat(found, right, true), *bad = first_seat(found, right, false);
    verdict->call = *hang_call_at(good, found->place);
    verdict->own = *hang_call_at(bad, found->place);
    if (bad->entered < good->entered && count_shifted(bad, good, found->place))
        verdict->kind = HANG_SKIPPED;
    else if (bad->entered > good->entered && count_shifted(good, bad, found->place))
        verdict->kind = HANG_EXTRA;
    else
        verdict->kind = verdict->call.operation != verdict->own.operation ? HANG_OPERATION
                        : verdict->call.bytes != verdict->own.bytes       ? HANG_SIZE
                                                                          : HANG_DATATYPE;
}

static void add_evidence(const struct hang_model *model, const struct difference *found,
                         struct hang_verdict *verdict)
{
    uint32_t *ranks = xcalloc(found->of->member_count, sizeof *ranks);
    for (size_t kind = 0; kind < found->kinds; kind++) {
        size_t count = 0;
        for (size_t i = 0; i < found->of->member_count; i++)
            if (kind_of(found, found->of->members[i]) == kind)
                ranks[count++] = found->of->members[i]->owner;
        text_add_format(&verdict->evidence, "call %llu of it is ", (unsigned long long)found->place);
        hang_add_call(&verdict->evidence, &found->calls[kind]);
        text_add(&verdict->evidence, " on ");
        hang_add_ranks(&verdict->evidence, model, ranks, count);
        if (found->votes[kind])
            text_add_format(&verdict->evidence, ", and on %zu of communicators of this size",
                            found->votes[kind]);
        text_add(&verdict->evidence, "\n");
    }
    free(ranks);
}

/* Of equal halves, the one that skipped a call, if only one looks like that. */
static size_t half_that_is_right(const struct difference *found)
{
    const struct hang_seat *one = first_seat(found, 0, true), *two = first_seat(found, 1, true);
    bool one_skipped = count_shifted(one, two, found->place),
         two_skipped = count_shifted(two, one, found->place);
    return found->kinds != 2 || one_skipped == two_skipped ? KINDS_MAX : one_skipped ? 1 : 0;
}

static void judge(const struct hang_model *model, struct difference *found, struct hang_verdict *verdict)
{
    vote(model, found);
    size_t right = majority(found->counts, found->kinds);
    if (right == KINDS_MAX)
        right = majority(found->votes, found->kinds);
    verdict->is_sure = right != KINDS_MAX;
    if (right == KINDS_MAX)
        right = half_that_is_right(found);
    for (size_t i = 0; i < found->of->member_count; i++) {
        size_t kind = kind_of(found, found->of->members[i]);
        if (kind != SIZE_MAX && (right == KINDS_MAX || kind != right))
            hang_verdict_add(verdict, found->of->members[i]->owner);
    }
    verdict->communicator = (uint32_t)(found->of - model->communicators);
    verdict->place = found->place;
    name_kind(found, right == KINDS_MAX ? 0 : right, verdict);
    add_evidence(model, found, verdict);
}

bool hang_find_mismatch(const struct hang_model *model, struct hang_verdict *verdict)
{
    struct difference best = {.kinds = 0}, found;
    for (size_t c = 0; c < model->communicator_count; c++) {
        found.of = &model->communicators[c];
        if (compare(&found) && (!best.kinds || found.place - found.of->floor < best.place - best.of->floor))
            best = found;
    }
    if (best.kinds)
        judge(model, &best, verdict);
    return best.kinds > 0;
}
