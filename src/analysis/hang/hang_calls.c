#include "analysis/hang/hang_analyze.h"

#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

#define KINDS_MAX 8 /* of calls at one place; further ones count as the last */

/* The calls of the members at a place. */
struct difference {
    uint32_t communicator;
    uint64_t place;
    size_t kinds;
    struct hang_call calls[KINDS_MAX];
    size_t counts[KINDS_MAX]; /* of members */
    size_t votes[KINDS_MAX];  /* of members of communicators like this one */
};

bool hang_calls_match(const struct hang_call *a, const struct hang_call *b)
{
    return a->operation == b->operation &&
           (a->bytes == b->bytes || a->bytes == UINT64_MAX || b->bytes == UINT64_MAX) &&
           (a->datatype == b->datatype || !a->datatype || !b->datatype) &&
           (!a->line || !b->line || strcmp(a->line, b->line) == 0);
}

static bool is_same_kind(const struct hang_call *a, const struct hang_call *b)
{
    struct hang_call left = *a, right = *b;
    left.line = right.line = NULL; /* two lines may make the same call */
    return hang_calls_match(&left, &right);
}

static size_t kind_of(const struct difference *found, const struct hang_call *call)
{
    size_t kind = 0;
    while (kind < found->kinds && !is_same_kind(&found->calls[kind], call))
        kind++;
    return kind;
}

static const struct hang_seat *seat_at(const struct hang_model *model, const struct hang_member *member)
{
    return &model->ranks[member->rank].seats[member->seat];
}

static void compare_place(const struct hang_model *model, struct difference *found)
{
    const struct hang_communicator *communicator = &model->communicators[found->communicator];
    found->kinds = 0;
    for (uint32_t i = 0; i < communicator->member_count; i++) {
        const struct hang_call *call = hang_call_at(seat_at(model, &communicator->members[i]), found->place);
        if (!call)
            continue;
        size_t kind = kind_of(found, call);
        if (kind == found->kinds && kind < KINDS_MAX) {
            found->calls[found->kinds] = *call;
            found->counts[found->kinds++] = 0;
        }
        found->counts[kind < KINDS_MAX ? kind : KINDS_MAX - 1]++;
    }
}

/* The first place, among those that may be open, whose calls differ. */
static bool compare(const struct hang_model *model, struct difference *found)
{
    const struct hang_communicator *communicator = &model->communicators[found->communicator];
    uint64_t place = communicator->most > LIVE_ENTRIES ? communicator->most - LIVE_ENTRIES : 0;
    for (place = place > communicator->floor ? place : communicator->floor; place < communicator->most;
         place++) {
        found->place = place;
        compare_place(model, found);
        if (found->kinds > 1)
            return true;
    }
    return false;
}

/* Communicators of the same size that call one of the kinds at the same place. */
static void vote(const struct hang_model *model, struct difference *found)
{
    const struct hang_communicator *of = &model->communicators[found->communicator];
    memset(found->votes, 0, sizeof found->votes);
    for (uint32_t c = 0; c < model->communicator_count; c++) {
        const struct hang_communicator *other = &model->communicators[c];
        for (uint32_t i = 0; c != found->communicator && other->size == of->size && i < other->member_count;
             i++) {
            const struct hang_call *call = hang_call_at(seat_at(model, &other->members[i]), found->place);
            size_t kind = call ? kind_of(found, call) : found->kinds;
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
    size_t count = 0;
    for (;; place++, count++) {
        const struct hang_call *mine = hang_call_at(late, place), *theirs = hang_call_at(early, place + 1);
        if (!mine || !theirs)
            return count;
        if (!hang_calls_match(mine, theirs))
            return 0;
    }
}

static const struct hang_seat *first_seat(const struct hang_model *model, const struct difference *found,
                                          size_t kind, bool is_kind, uint32_t *rank)
{
    const struct hang_communicator *communicator = &model->communicators[found->communicator];
    for (uint32_t i = 0; i < communicator->member_count; i++) {
        const struct hang_seat *seat = seat_at(model, &communicator->members[i]);
        const struct hang_call *call = hang_call_at(seat, found->place);
        if (call && (kind_of(found, call) == kind) == is_kind) {
            *rank = communicator->members[i].rank;
            return seat;
        }
    }
    return NULL;
}

static void name_kind(const struct hang_model *model, const struct difference *found, size_t right,
                      struct hang_verdict *verdict)
{
    uint32_t rank;
    const struct hang_seat *good = first_seat(model, found, right, true, &rank);
    const struct hang_seat *bad = first_seat(model, found, right, false, &rank);
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
    const struct hang_communicator *communicator = &model->communicators[found->communicator];
    uint32_t *ranks = xcalloc(communicator->member_count, sizeof *ranks);
    for (size_t kind = 0; kind < found->kinds; kind++) {
        size_t count = 0;
        for (uint32_t i = 0; i < communicator->member_count; i++) {
            const struct hang_call *call =
                hang_call_at(seat_at(model, &communicator->members[i]), found->place);
            if (call && kind_of(found, call) == kind)
                ranks[count++] = communicator->members[i].rank;
        }
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
static size_t half_that_is_right(const struct hang_model *model, const struct difference *found)
{
    uint32_t rank;
    const struct hang_seat *one = first_seat(model, found, 0, true, &rank);
    const struct hang_seat *two = first_seat(model, found, 1, true, &rank);
    bool one_skipped = count_shifted(one, two, found->place),
         two_skipped = count_shifted(two, one, found->place);
    return found->kinds != 2 || one_skipped == two_skipped ? KINDS_MAX : one_skipped ? 1 : 0;
}

static void judge(const struct hang_model *model, struct difference *found, struct hang_verdict *verdict)
{
    const struct hang_communicator *communicator = &model->communicators[found->communicator];
    vote(model, found);
    size_t right = majority(found->counts, found->kinds);
    if (right == KINDS_MAX)
        right = majority(found->votes, found->kinds);
    verdict->is_sure = right != KINDS_MAX;
    if (right == KINDS_MAX)
        right = half_that_is_right(model, found);
    bool is_even = right == KINDS_MAX;
    for (uint32_t i = 0; i < communicator->member_count; i++) {
        const struct hang_call *call = hang_call_at(seat_at(model, &communicator->members[i]), found->place);
        if (call && (is_even || kind_of(found, call) != right))
            hang_verdict_add(verdict, communicator->members[i].rank);
    }
    verdict->communicator = found->communicator;
    verdict->place = found->place;
    name_kind(model, found, is_even ? 0 : right, verdict);
    add_evidence(model, found, verdict);
}

bool hang_find_mismatch(const struct hang_model *model, struct hang_verdict *verdict)
{
    struct difference best = {.kinds = 0}, found;
    uint64_t best_distance = UINT64_MAX;
    for (uint32_t c = 0; c < model->communicator_count; c++) {
        found.communicator = c;
        if (!compare(model, &found))
            continue;
        uint64_t distance = found.place - model->communicators[c].floor;
        if (distance < best_distance) {
            best = found;
            best_distance = distance;
        }
    }
    if (best.kinds)
        judge(model, &best, verdict);
    return best.kinds > 0;
}
