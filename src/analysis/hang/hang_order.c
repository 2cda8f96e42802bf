#include "analysis/hang/hang_analyze.h"

#include "cli/util/sort.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>

#define KINDS 4 /* of counts; further ones count as the last */

/* When a rank made the call at a place of a communicator, or of the only one like it of which it is a member;
 * UINT64_MAX: not yet; 0: that is unknown. */
static uint64_t time_of(const struct hang_model *model, const struct hang_rank *rank, uint32_t communicator,
                        uint64_t place, const struct live_call_view *like, uint32_t not_this)
{
    uint64_t time_ns = 0;
    size_t found = 0;
    bool is_member = hang_seat_of(rank, communicator) != NULL;
    for (uint32_t s = 0; s < rank->seat_count; s++) {
        const struct hang_seat *seat = &rank->seats[s];
        const struct live_call_view *call = hang_call_at(seat, place);
        bool is_like =
            seat->communicator != not_this && (!call || hang_calls_match(call, like)) &&
            model->communicators[seat->communicator].size == model->communicators[communicator].size;
        if (is_member ? seat->communicator != communicator : !is_like)
            continue;
        found++;
        time_ns = call ? call->enqueued_ns : seat->is_aligned && seat->entered <= place ? UINT64_MAX : 0;
    }
    return found == 1 ? time_ns : 0;
}

/* -1: a first; 1: b first; 0: unknown, or at once. */
static int vote(const struct hang_model *model, const struct hang_rank *rank, const struct hang_verdict *pair)
{
    uint64_t a = time_of(model, rank, pair->communicator, pair->place, &pair->call, pair->other);
    uint64_t b = time_of(model, rank, pair->other, pair->other_place, &pair->own, pair->communicator);
    return !a || !b || a == b ? 0 : a < b ? -1 : 1;
}

static void name_order(const struct hang_model *model, const int *votes, const size_t counts[2],
                       struct hang_verdict *verdict)
{
    int rarer = counts[0] < counts[1] ? -1 : 1;
    bool is_even = counts[0] == counts[1];
    for (uint32_t r = 0; r < model->rank_count; r++) {
        bool is_in_both = hang_seat_of(&model->ranks[r], verdict->communicator) &&
                          hang_seat_of(&model->ranks[r], verdict->other);
        if (votes[r] && (is_even ? is_in_both : votes[r] == rarer))
            hang_verdict_add(verdict, r);
    }
    verdict->kind = HANG_ORDER;
    verdict->is_sure = !is_even;
    bool is_a_first = counts[0] >= counts[1];
    text_add_format(&verdict->evidence,
                    "%zu of %zu ranks that make both calls, or such of equal communicators, call ",
                    counts[is_a_first ? 0 : 1], counts[0] + counts[1]);
    hang_add_communicator(&verdict->evidence, model, is_a_first ? verdict->communicator : verdict->other);
    text_add(&verdict->evidence, " first\n");
}

bool hang_compare_order(const struct hang_model *model, uint32_t a, uint64_t place_a, uint32_t b,
                        uint64_t place_b, struct hang_verdict *verdict)
{
    const struct live_call_view *first = hang_call_of(model, a, place_a),
                                *second = hang_call_of(model, b, place_b);
    const struct hang_verdict before = *verdict;
    if (!first || !second)
        return false;
    verdict->communicator = a;
    verdict->place = place_a;
    verdict->call = *first;
    verdict->other = b;
    verdict->other_place = place_b;
    verdict->own = *second;
    int *votes = xcalloc(model->rank_count + 1, sizeof *votes);
    size_t counts[2] = {0};
    for (size_t r = 0; r < model->rank_count; r++) {
        votes[r] = vote(model, &model->ranks[r], verdict);
        if (votes[r])
            counts[votes[r] > 0]++;
    }
    bool is_divided = counts[0] && counts[1];
    if (is_divided)
        name_order(model, votes, counts, verdict);
    else
        *verdict = before;
    free(votes);
    return is_divided;
}

/* Calls of a rank that may be open, in the order of time. */
struct open_call {
    uint64_t enqueued_ns, place;
    uint32_t communicator;
};

static int by_time(const void *a, const void *b)
{
    return ORDER(((const struct open_call *)a)->enqueued_ns, ((const struct open_call *)b)->enqueued_ns);
}

static size_t find_open(const struct hang_model *model, const struct hang_rank *rank,
                        const struct int_map *waited, struct open_call *calls)
{
    size_t count = 0;
    for (uint32_t s = 0; s < rank->seat_count; s++) {
        const struct hang_seat *seat = &rank->seats[s];
        uint64_t floor = model->communicators[seat->communicator].floor;
        for (uint32_t i = 0; seat->is_aligned && i < seat->collective_count; i++)
            if (seat->window + i >= floor &&
                (!waited ||
                 int_map_get(waited, hang_place_key(seat->communicator, seat->window + i)) != MAP_NONE))
                calls[count++] =
                    (struct open_call){seat->calls[i].enqueued_ns, seat->window + i, seat->communicator};
    }
    sort_array(calls, count, sizeof *calls, by_time);
    return count;
}

bool hang_find_order(const struct hang_model *model, const struct int_map *waited,
                     struct hang_verdict *verdict)
{
    struct open_call *calls = xcalloc(LIVE_COMMUNICATORS * LIVE_ENTRIES, sizeof *calls);
    struct int_map tried = {0};
    bool is_found = false;
    for (size_t r = 0; r < model->rank_count && !is_found; r++) {
        size_t count = find_open(model, &model->ranks[r], waited, calls);
        for (size_t i = 1; i < count && !is_found; i++) {
            const struct open_call *first = &calls[i - 1], *second = &calls[i];
            if (second->communicator < first->communicator) /* the smaller one is searched */
                first = second, second = &calls[i - 1];
            uint64_t pair = collective_mix(hang_place_key(first->communicator, first->place),
                                           hang_place_key(second->communicator, second->place));
            if (first->communicator == second->communicator || int_map_exchange(&tried, pair, 0) != MAP_NONE)
                continue;
            is_found = hang_compare_order(model, first->communicator, first->place, second->communicator,
                                          second->place, verdict);
        }
    }
    verdict->is_sure &= waited != NULL;
    int_map_deinit(&tried);
    free(calls);
    return is_found;
}

/* Calls of a communicator are counted up to a call of another one, which all of its members have made, too.
 */

static uint64_t count_before(const struct hang_seat *seat, uint64_t time_ns)
{
    uint32_t low = 0, high = seat->collective_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (seat->calls[middle].enqueued_ns < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return seat->window + low;
}

/* Counts of calls at a call of the checkpoint: of the members, and of others in communicators like theirs. */
struct counted {
    uint32_t communicator, checkpoint;
    uint64_t place; /* of the checkpoint */
    struct count_kind {
        uint64_t calls;
        size_t members, votes;
    } kinds[KINDS];
    size_t kind_count;
    size_t opposed;           /* ranks that made more calls than the first kind, and not the checkpoint's */
    size_t possible, counted; /* members that are in the checkpoint, and those that made the call */
    bool is_one_thread;       /* a thread that makes both calls makes them in this order */
};

/* False: the rank has not made the call, or it is not remembered. */
static bool count_at(const struct hang_seat *seat, const struct hang_seat *checkpoint,
                     struct counted *counted, uint64_t *count)
{
    const struct live_call_view *call = checkpoint ? hang_call_at(checkpoint, counted->place) : NULL;
    if (!call || !seat || !seat->is_aligned || !seat->collective_count ||
        call->enqueued_ns < seat->calls[0].enqueued_ns)
        return false;
    *count = count_before(seat, call->enqueued_ns);
    if (*count < seat->window + seat->collective_count &&
        seat->calls[*count - seat->window].enqueued_ns == call->enqueued_ns)
        return false; /* times of reports are rounded */
    counted->is_one_thread &= call->thread == seat->calls[0].thread;
    return true;
}

static bool count_of(const struct hang_rank *rank, const struct hang_seat *seat, struct counted *counted,
                     uint64_t *count)
{
    return count_at(seat, hang_seat_of(rank, counted->checkpoint), counted, count);
}

static size_t add_kind(struct counted *counted, uint64_t calls)
{
    size_t kind = 0;
    while (kind < counted->kind_count && counted->kinds[kind].calls != calls)
        kind++;
    if (kind == counted->kind_count && kind < KINDS) {
        counted->kinds[kind] = (struct count_kind){.calls = calls};
        counted->kind_count++;
    }
    return kind < KINDS ? kind : KINDS - 1;
}

static void count_members(const struct hang_model *model, struct counted *counted)
{
    const struct hang_communicator *of = &model->communicators[counted->communicator];
    uint64_t calls;
    counted->kind_count = counted->possible = counted->counted = counted->opposed = 0;
    counted->is_one_thread = true;
    for (uint32_t i = 0; i < of->member_count; i++) {
        const struct hang_rank *rank = &model->ranks[of->members[i]->owner];
        counted->possible += hang_seat_of(rank, counted->checkpoint) != NULL;
        if (count_of(rank, of->members[i], counted, &calls))
            counted->kinds[add_kind(counted, calls)].members++, counted->counted++;
    }
}

static bool is_like(const struct hang_model *model, const struct hang_rank *rank,
                    const struct hang_seat *seat, uint32_t communicator)
{
    return hang_seat_of(rank, communicator)
               ? seat->communicator == communicator
               : model->communicators[seat->communicator].size == model->communicators[communicator].size;
}

/* How many calls a rank counts in communicators like both, if it counted as many as the members at the call
 * before. False: none, or several such communicators, or it is a member of both. */
static bool count_like(const struct hang_model *model, const struct hang_rank *rank, struct counted *before,
                       struct counted *counted, uint64_t *calls)
{
    size_t found = 0;
    uint64_t earlier;
    bool is_opposed = false;
    if (hang_seat_of(rank, counted->communicator) && hang_seat_of(rank, counted->checkpoint))
        return false;
    for (uint32_t s = 0; s < rank->seat_count; s++)
        for (uint32_t c = 0; c < rank->seat_count && found < 2; c++)
            if (s != c && is_like(model, rank, &rank->seats[s], counted->communicator) &&
                is_like(model, rank, &rank->seats[c], counted->checkpoint) &&
                count_at(&rank->seats[s], &rank->seats[c], before, &earlier) &&
                earlier == before->kinds[0].calls) {
                bool is_made = count_at(&rank->seats[s], &rank->seats[c], counted, calls);
                found += is_made;
                is_opposed |= !is_made && rank->seats[c].entered <= counted->place &&
                              rank->seats[s].entered > counted->kinds[0].calls;
            }
    counted->opposed += is_opposed;
    return found == 1;
}

static void count_votes(const struct hang_model *model, struct counted *counted)
{
    struct counted before = *counted, unused = *counted;
    uint64_t calls;
    before.place--;
    count_members(model, &before);
    for (size_t r = 0; counted->place && before.kind_count == 1 && r < model->rank_count; r++)
        if (count_like(model, &model->ranks[r], &before, &unused, &calls))
            counted->kinds[add_kind(counted, calls)].votes++;
    counted->opposed = unused.opposed;
}

/* The kind of more than half of the members, or else of all that were counted; SIZE_MAX: none. */
static size_t right_kind(const struct counted *counted)
{
    size_t votes = 0;
    for (size_t i = 0; i < counted->kind_count; i++)
        votes += counted->kinds[i].members + counted->kinds[i].votes;
    for (size_t i = 0; i < counted->kind_count; i++)
        if (counted->kinds[i].members * 2 > counted->possible)
            return i;
    for (size_t i = 0; i < counted->kind_count; i++)
        if (counted->kinds[i].votes && (counted->kinds[i].members + counted->kinds[i].votes) * 2 > votes)
            return i;
    return SIZE_MAX;
}

/* Whether a member's calls are not those of the right kind, and how many they are. Before the checkpoint, it
 * can only have too many. */
static bool is_uneven(const struct hang_rank *rank, const struct hang_seat *seat, struct counted *counted,
                      size_t right, uint64_t *calls)
{
    if (count_of(rank, seat, counted, calls))
        return right == SIZE_MAX ? counted->kind_count > 1 : *calls != counted->kinds[right].calls;
    const struct hang_seat *checkpoint = hang_seat_of(rank, counted->checkpoint);
    *calls = seat->entered;
    return right != SIZE_MAX && checkpoint && checkpoint->is_aligned &&
           checkpoint->entered <= counted->place && seat->is_aligned &&
           seat->entered > counted->kinds[right].calls;
}

static void add_evidence(const struct hang_model *model, const struct counted *counted, size_t right,
                         uint32_t rank, uint64_t calls, struct hang_verdict *verdict)
{
    struct text *text = &verdict->evidence;
    hang_add_ranks(text, model, &rank, 1);
    text_add_format(text, " made %llu calls of ", (unsigned long long)calls);
    hang_add_communicator(text, model, counted->communicator);
    text_add_format(text, " before call %llu of ", (unsigned long long)counted->place);
    hang_add_communicator(text, model, counted->checkpoint);
    if (right != SIZE_MAX)
        text_add_format(text,
                        "; %zu of its other ranks made %llu, and so did %zu in communicators of this size",
                        counted->kinds[right].members, (unsigned long long)counted->kinds[right].calls,
                        counted->kinds[right].votes);
    text_add(text, "\n");
}

/* Whether those with more calls have not made the checkpoint's. */
static bool has_passed(const struct hang_model *model, const struct counted *counted,
                       const struct hang_verdict *verdict)
{
    bool have_passed = true;
    for (size_t i = 0; i < verdict->rank_count; i++) {
        const struct hang_seat *seat = hang_seat_of(&model->ranks[verdict->ranks[i]], counted->checkpoint);
        have_passed &= seat && seat->entered <= counted->place;
    }
    return have_passed;
}

/* They left the checkpoint's call out, make two calls in another order, or made one too many. Only later
 * calls could tell. */
static void name_passed(const struct counted *counted, struct hang_verdict *verdict)
{
    verdict->kind = HANG_SKIPPED;
    verdict->is_sure = false;
    verdict->communicator = counted->checkpoint;
    verdict->place = counted->place;
    text_add(&verdict->evidence, "a call left out, two in another order, and one too many look alike here\n");
}

/* Returns how many members are uneven, if more ranks speak against them; with a verdict, names them. */
static size_t compare(const struct hang_model *model, struct counted *counted, struct hang_verdict *verdict)
{
    const struct hang_communicator *of = &model->communicators[counted->communicator];
    size_t right = right_kind(counted), uneven = 0;
    uint64_t calls, least = right == SIZE_MAX ? UINT64_MAX : counted->kinds[right].calls;
    for (uint32_t i = 0; i < of->member_count; i++) {
        const struct hang_rank *rank = &model->ranks[of->members[i]->owner];
        if (!is_uneven(rank, of->members[i], counted, right, &calls))
            continue;
        uneven++;
        if (!verdict)
            continue;
        hang_verdict_add(verdict, of->members[i]->owner);
        verdict->kind = right != SIZE_MAX && calls > counted->kinds[right].calls ? HANG_EXTRA : HANG_SKIPPED;
        least = calls < least ? calls : least;
        add_evidence(model, counted, right, of->members[i]->owner, calls, verdict);
    }
    if (!verdict)
        return right == SIZE_MAX ||
                       counted->kinds[right].members + counted->kinds[right].votes > uneven + counted->opposed
                   ? uneven
                   : 0;
    verdict->is_sure = right != SIZE_MAX && counted->is_one_thread;
    verdict->communicator = counted->communicator;
    verdict->place = least;
    if (verdict->kind == HANG_EXTRA && has_passed(model, counted, verdict))
        name_passed(counted, verdict);
    const struct live_call_view *call = hang_call_of(model, verdict->communicator, verdict->place);
    verdict->call = verdict->own = call ? *call : (struct live_call_view){.peer = LIVE_NO_PEER};
    return uneven;
}

/* Goes back to the first call of the checkpoint at which the counts differ. False: they never do. */
static bool find_first(const struct hang_model *model, struct counted *counted)
{
    const struct hang_communicator *checkpoint = &model->communicators[counted->checkpoint];
    struct counted found = {.kind_count = 0};
    uint64_t first = checkpoint->most > LIVE_ENTRIES ? checkpoint->most - LIVE_ENTRIES : 0;
    for (counted->place = checkpoint->most; counted->place-- > first;) {
        count_members(model, counted);
        if (counted->kind_count > 1 || counted->counted < counted->possible)
            count_votes(model, counted);
        if (compare(model, counted, NULL))
            found = *counted;
        else if (found.kind_count || counted->kind_count)
            break;
    }
    *counted = found;
    return found.kind_count > 0;
}

/* The checkpoints are the communicators of a rank. */
static void find_best(const struct hang_model *model, uint32_t communicator, const struct hang_rank *rank,
                      struct counted *best)
{
    for (uint32_t s = 0; s < rank->seat_count; s++) {
        struct counted counted = {.communicator = communicator, .checkpoint = rank->seats[s].communicator};
        if (counted.checkpoint == communicator || !find_first(model, &counted))
            continue;
        bool is_decided = right_kind(&counted) != SIZE_MAX,
             was = best->kind_count && right_kind(best) != SIZE_MAX;
        if (!best->kind_count || (is_decided && !was) ||
            (is_decided == was &&
             counted.checkpoint > best->checkpoint)) /* the largest one has the most votes */
            *best = counted;
    }
}

bool hang_find_uneven(const struct hang_model *model, uint32_t communicator, struct hang_verdict *verdict)
{
    const struct hang_communicator *of = &model->communicators[communicator];
    struct counted best = {.kind_count = 0};
    bool is_behind_done = false, is_ahead_done = false;
    for (uint32_t i = 0; i < of->member_count; i++) {
        const struct hang_rank *rank = &model->ranks[of->members[i]->owner];
        bool is_behind = of->members[i]->entered == of->least;
        if (is_behind ? is_behind_done : is_ahead_done)
            continue;
        find_best(model, communicator, rank, &best);
        is_behind_done |= is_behind;
        is_ahead_done |= !is_behind;
    }
    if (best.kind_count)
        compare(model, &best, verdict);
    return best.kind_count > 0;
}
