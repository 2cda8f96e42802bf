#include "analysis/hang/hang_analyze.h"

#include "cli/util/sort.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

#define RECENT_NS 60000000000u

/* A call that ranks wait in: a place of a communicator, or a send or receive between two ranks. */
struct node {
    uint32_t communicator; /* HANG_NONE: none */
    uint64_t place;        /* or the ordinal */
    uint32_t
        peer; /* index of the other rank, in whose counts this call is missing; HANG_NONE: a collective */
    uint8_t operation; /* of a send or receive */
    uint32_t owner;    /* whose send or receive it is */
    uint64_t enqueued_ns;
};

enum sink { SINK_HOST, SINK_KERNEL, SINK_BEHIND, SINK_INSIDE, SINK_BLIND, SINKS };

struct sink_found {
    enum sink kind;
    uint32_t rank; /* HANG_NONE: of a whole communicator */
    struct node node;
};

struct waits {
    const struct hang_model *model;
    struct node *at; /* of each rank: the call that its GPU waits in, as far as that is known */
    struct sink_found *sinks;
    size_t sink_count, sink_capacity;
    struct lack {
        struct node node;
        uint32_t member;
    } * lacks; /* calls that a waiting rank has not made */
    size_t lack_count, lack_capacity;
    struct int_map examined; /* places of collectives that ranks wait in */
};

static const struct hang_rank *rank_of(const struct waits *waits, uint32_t rank)
{
    return &waits->model->ranks[rank];
}

static void consider(struct node *best, const struct hang_seat *seat, uint64_t place)
{
    const struct live_call_view *call = hang_call_at(seat, place);
    uint64_t enqueued_ns = call ? call->enqueued_ns : 0; /* forgotten: the oldest */
    if (best->communicator == HANG_NONE || enqueued_ns < best->enqueued_ns)
        *best = (struct node){seat->communicator, place, HANG_NONE, COLLECTIVE_NONE, HANG_NONE, enqueued_ns};
}

/* Sends and receives. */

static uint32_t member_at(const struct waits *waits, uint32_t communicator, int32_t rank)
{
    const struct hang_communicator *of = &waits->model->communicators[communicator];
    for (size_t i = 0; i < of->member_count && rank >= 0; i++)
        if (of->members[i]->rank == (uint32_t)rank)
            return of->members[i]->owner;
    return HANG_NONE;
}

/* How many calls of the kind the rank has made. False: not remembered. */
static bool count_p2p(const struct hang_seat *seat, uint8_t operation, uint32_t peer, uint64_t *count)
{
    *count = 0;
    for (uint32_t i = seat->collective_count; i < seat->call_count; i++) {
        const struct live_call_view *call = &seat->calls[i];
        if (call->operation == operation && call->peer == (int32_t)peer && call->ordinal >= *count)
            *count = call->ordinal + 1;
    }
    return *count || seat->enqueued <= seat->call_count;
}

static void consider_p2p(const struct waits *waits, struct node *best, uint32_t rank,
                         const struct hang_seat *seat)
{
    for (uint32_t i = seat->collective_count; i < seat->call_count; i++) {
        const struct live_call_view *call = &seat->calls[i];
        uint8_t other = call->operation == COLLECTIVE_SEND ? COLLECTIVE_RECV : COLLECTIVE_SEND;
        if (call->flags & LIVE_ENDED || call->operation == COLLECTIVE_SEND_RECV || seat->rank == HANG_NONE ||
            (best->communicator != HANG_NONE && call->enqueued_ns >= best->enqueued_ns))
            continue;
        uint32_t peer = member_at(waits, seat->communicator, call->peer);
        uint64_t count = 0;
        bool is_known = peer != HANG_NONE && count_p2p(hang_seat_of(rank_of(waits, peer), seat->communicator),
                                                       other, seat->rank, &count);
        if (seat->is_exact || (is_known && count <= call->ordinal))
            *best = (struct node){seat->communicator, call->ordinal, peer,
                                  call->operation,    rank,          call->enqueued_ns};
    }
}

/* NCCL does not return from the rank's latest call, which is the one at the place. */
static bool is_in_call(const struct hang_rank *rank, const struct hang_seat *seat, uint64_t place)
{
    const struct live_call_view *call = hang_call_at(seat, place);
    bool is_latest = call && rank->where == HANG_NCCL && seat->entered == place + 1;
    for (uint32_t s = 0; is_latest && s < rank->seat_count; s++)
        for (uint32_t i = 0; i < rank->seats[s].call_count; i++)
            is_latest &= rank->seats[s].calls[i].enqueued_ns <= call->enqueued_ns;
    return is_latest;
}

static bool has_dead(const struct waits *waits, uint32_t communicator)
{
    const struct hang_communicator *of = &waits->model->communicators[communicator];
    bool is_found = false;
    for (size_t i = 0; i < of->member_count; i++)
        is_found |= rank_of(waits, of->members[i]->owner)->where == HANG_DEAD;
    return is_found;
}

/* The oldest call that has certainly not ended. Work of a GPU only waits for work that was enqueued before.
 */
static struct node find_node(const struct waits *waits, uint32_t rank)
{
    struct node best = {.communicator = HANG_NONE};
    for (uint32_t s = 0; s < rank_of(waits, rank)->seat_count; s++) {
        const struct hang_seat *seat = &rank_of(waits, rank)->seats[s];
        uint64_t least = waits->model->communicators[seat->communicator].least;
        if (seat->is_aligned && seat->is_exact && seat->ended < seat->entered)
            consider(&best, seat, seat->ended);
        else if (seat->is_aligned && seat->entered > least && seat->ended <= least)
            consider(&best, seat, least);
        else if (seat->is_aligned && seat->entered > seat->ended && seat->ended > least &&
                 has_dead(waits, seat->communicator))
            consider(&best, seat, seat->ended); /* `least` is of a state that is older than the death */
        if (seat->entered && is_in_call(rank_of(waits, rank), seat, seat->entered - 1))
            consider(&best, seat, seat->entered - 1);
        consider_p2p(waits, &best, rank, seat);
    }
    return best;
}

static bool is_same_node(const struct node *a, const struct node *b)
{
    return a->communicator == b->communicator && a->place == b->place && a->peer == HANG_NONE &&
           b->peer == HANG_NONE;
}

/* A call that creates or ends a communicator does not wait for the GPU. */
static bool is_of_communicators(const struct hang_rank *rank)
{
    return rank->where == HANG_NCCL && rank->function && strncmp(rank->function, "ncclComm", 8) == 0;
}

static bool host_waits(const struct waits *waits, uint32_t rank)
{
    enum hang_where where = rank_of(waits, rank)->where;
    return where == HANG_SYNC || (where == HANG_NCCL && !is_of_communicators(rank_of(waits, rank))) ||
           ((where == HANG_CUDA || where == HANG_UNKNOWN) && waits->at[rank].communicator != HANG_NONE);
}

static void add_sink(struct waits *waits, enum sink kind, uint32_t rank, const struct node *node)
{
    *XADD(waits->sinks, waits->sink_count, waits->sink_capacity) = (struct sink_found){kind, rank, *node};
}

/* Returns false if the member does not hold up the node itself. */
static bool examine_member(struct waits *waits, const struct node *node, uint32_t member, bool has_called)
{
    const struct hang_rank *rank = rank_of(waits, member);
    const struct node *at = &waits->at[member];
    if (rank->where >= HANG_FINISHED || (!has_called && !host_waits(waits, member))) {
        add_sink(waits, SINK_HOST, member, node);
    } else if (rank->gpu == HANG_GPU_COMPUTE) {
        add_sink(waits, SINK_KERNEL, member, node);
    } else if (!has_called) {
        *XADD(waits->lacks, waits->lack_count, waits->lack_capacity) = (struct lack){*node, member};
        if (at->communicator == HANG_NONE)
            add_sink(waits, SINK_BEHIND, member, node);
    } else {
        return at->communicator != HANG_NONE && !is_same_node(at, node) &&
               !(node->peer != HANG_NONE && at->communicator == node->communicator &&
                 at->peer == node->owner);
    }
    return true;
}

static void examine_collective(struct waits *waits, const struct node *node)
{
    const struct hang_communicator *of = &waits->model->communicators[node->communicator];
    bool is_held = false, has_left = false;
    uint32_t lacks = 0;
    for (size_t i = 0; i < of->member_count; i++)
        has_left |= of->members[i]->entered > node->place &&
                    rank_of(waits, of->members[i]->owner)->where != HANG_NCCL;
    for (uint32_t i = 0; i < of->member_count; i++) {
        const struct hang_seat *seat = of->members[i];
        if (!seat->is_aligned || (seat->ended > node->place && seat->entered > node->place))
            continue;
        size_t before = waits->lack_count;
        uint32_t member = seat->owner;
        if (has_left && is_in_call(rank_of(waits, member), seat, node->place)) {
            add_sink(waits, SINK_HOST, member, node);
            is_held = true;
        } else {
            is_held |= examine_member(waits, node, member, seat->entered > node->place);
        }
        if (waits->lack_count > before && lacks++)
            waits->lack_count--; /* once is enough */
    }
    if (!is_held)
        add_sink(waits, of->member_count < of->size ? SINK_BLIND : SINK_INSIDE, HANG_NONE, node);
}

static void examine_p2p(struct waits *waits, const struct node *node)
{
    if (node->peer == HANG_NONE)
        return;
    const struct hang_rank *peer = rank_of(waits, node->peer);
    const struct hang_seat *mine = hang_seat_of(rank_of(waits, node->owner), node->communicator);
    uint8_t other = node->operation == COLLECTIVE_SEND ? COLLECTIVE_RECV : COLLECTIVE_SEND;
    uint64_t count;
    bool is_known = count_p2p(hang_seat_of(peer, node->communicator), other, mine->rank, &count);
    size_t before = waits->lack_count;
    if (is_known && !examine_member(waits, node, node->peer, count > node->place))
        add_sink(waits, SINK_INSIDE, HANG_NONE, node);
    waits->lack_count = before; /* skipped sends are not looked for */
}

static void examine(struct waits *waits, uint32_t rank)
{
    const struct node *node = &waits->at[rank];
    if (node->communicator == HANG_NONE)
        return;
    if (node->operation != COLLECTIVE_NONE) {
        if (node->peer == HANG_NONE)
            add_sink(waits, SINK_BLIND, HANG_NONE, node);
        else
            examine_p2p(waits, node);
        return;
    }
    if (int_map_exchange(&waits->examined, hang_place_key(node->communicator, node->place), 0) == MAP_NONE)
        examine_collective(waits, node);
}

/* From the sinks to a verdict. */

static void set_node(const struct waits *waits, struct hang_verdict *verdict, const struct node *node)
{
    const struct live_call_view *call = NULL;
    verdict->communicator = node->communicator;
    verdict->place = node->place;
    if (node->operation == COLLECTIVE_NONE) {
        call = hang_call_of(waits->model, node->communicator, node->place);
    } else {
        const struct hang_seat *seat = hang_seat_of(rank_of(waits, node->owner), node->communicator);
        for (uint32_t i = seat->collective_count; i < seat->call_count; i++)
            if (seat->calls[i].operation == node->operation && seat->calls[i].ordinal == node->place &&
                member_at(waits, node->communicator, seat->calls[i].peer) == node->peer)
                call = &seat->calls[i];
    }
    if (call)
        verdict->call = *call;
}

static bool is_earlier(const struct node *a, const struct node *b)
{
    if ((a->operation == COLLECTIVE_NONE) != (b->operation == COLLECTIVE_NONE))
        return a->operation == COLLECTIVE_NONE;
    return a->communicator != b->communicator ? a->communicator < b->communicator : a->place < b->place;
}

/* Dead ones first: they cannot wait for others. */
static int urgency(enum hang_where where)
{
    return where == HANG_DEAD       ? 4
           : where == HANG_STOPPED  ? 3
           : where == HANG_FINISHED ? 2
                                    : where != HANG_UNKNOWN;
}

/* All sinks of a kind; of hosts, those in the most urgent place. */
static bool take_sinks(const struct waits *waits, enum sink kind, struct hang_verdict *verdict)
{
    const struct sink_found *best = NULL;
    int most = -1;
    for (size_t i = 0; i < waits->sink_count; i++) {
        const struct sink_found *sink = &waits->sinks[i];
        int urgent = kind == SINK_HOST && sink->kind == kind ? urgency(rank_of(waits, sink->rank)->where) : 0;
        if (sink->kind != kind || urgent < most)
            continue;
        /* Of communicators with silent members, the one with the most witnesses. */
        if (urgent > most || (kind == SINK_BLIND ? is_earlier(&best->node, &sink->node) &&
                                                       sink->node.operation == COLLECTIVE_NONE
                                                 : is_earlier(&sink->node, &best->node)))
            best = sink;
        most = urgent;
    }
    for (size_t i = 0; best && i < waits->sink_count; i++) {
        const struct sink_found *sink = &waits->sinks[i];
        if (sink->kind == kind && sink->rank != HANG_NONE &&
            (kind != SINK_HOST || urgency(rank_of(waits, sink->rank)->where) == most))
            hang_verdict_add(verdict, sink->rank);
    }
    if (best)
        set_node(waits, verdict, &best->node);
    return best != NULL;
}

static void judge_hosts(const struct waits *waits, struct hang_verdict *verdict)
{
    const struct hang_rank *first = rank_of(waits, verdict->ranks[0]);
    verdict->kind = first->where == HANG_DEAD       ? HANG_DIED
                    : first->where == HANG_STOPPED  ? HANG_HALTED
                    : first->where == HANG_FINISHED ? HANG_ENDED
                    : first->where == HANG_CUDA     ? HANG_IN_CUDA
                                                    : HANG_ON_HOST;
    bool are_few = verdict->rank_count <= 1 + waits->model->rank_count / 16;
    verdict->is_sure = verdict->kind == HANG_DIED || (are_few && first->where != HANG_UNKNOWN);
    /* NCCL also waits if a kernel keeps the GPU's queue full. */
    verdict->is_sure &= first->where != HANG_NCCL || is_of_communicators(first);
    for (size_t i = 0; i < verdict->rank_count; i++) {
        const struct hang_rank *rank = rank_of(waits, verdict->ranks[i]);
        verdict->is_sure &= rank->is_still || rank->where >= HANG_STOPPED;
    }
}

/* The state of a dead rank may be a second old. So if ends are lower limits, it may have made the node's
 * call, and others wait in a later one, unless there is none. */
static bool may_be_later(const struct waits *waits, const struct hang_verdict *verdict)
{
    uint64_t most = 0;
    for (uint32_t r = 0; verdict->communicator != HANG_NONE && r < waits->model->rank_count; r++) {
        uint64_t open = 0;
        for (uint32_t s = 0; rank_of(waits, r)->where != HANG_DEAD && s < rank_of(waits, r)->seat_count;
             s++) {
            const struct hang_seat *seat = &rank_of(waits, r)->seats[s];
            uint64_t least = waits->model->communicators[seat->communicator].least;
            uint64_t from = seat->ended > least ? seat->ended : least;
            if (seat->communicator == verdict->communicator && seat->is_exact)
                return false;
            open += seat->entered > from ? seat->entered - from : 0;
        }
        most = open > most ? open : most;
    }
    return most > 1;
}

/* Whether a rank is certainly of this start of the job: its state may be that of an earlier one. */
static bool is_member(const struct hang_model *model, const struct hang_rank *rank)
{
    for (uint32_t s = 0; s < rank->seat_count; s++)
        if (model->communicators[rank->seats[s].communicator].member_count > 1)
            return true;
    return false;
}

static bool is_alive(const struct hang_model *model, int64_t number)
{
    for (size_t i = 0; i < model->rank_count; i++)
        if (model->ranks[i].rank == number && model->ranks[i].where != HANG_DEAD)
            return true;
    return false;
}

/* Dead ranks of which no call is known that others wait in. Those without a communicator must have died
 * shortly before the others stood still. */
static bool find_dead(const struct hang_model *model, struct hang_verdict *verdict)
{
    uint64_t still_ns = 0;
    for (size_t i = 0; i < model->rank_count; i++) {
        const struct hang_rank *rank = &model->ranks[i];
        if (rank->where != HANG_DEAD && rank->stalled_ns && rank->looked_ns - rank->stalled_ns > still_ns)
            still_ns = rank->looked_ns - rank->stalled_ns;
    }
    for (uint32_t r = 0; r < model->rank_count; r++) {
        const struct hang_rank *rank = &model->ranks[r];
        bool is_recent = rank->looked_ns + RECENT_NS >= still_ns;
        if (rank->where == HANG_DEAD && !is_alive(model, rank->rank) &&
            (is_member(model, rank) || (still_ns && is_recent)))
            hang_verdict_add(verdict, r);
    }
    return verdict->rank_count > 0;
}

static void judge_inside(const struct waits *waits, struct hang_verdict *verdict)
{
    const struct hang_communicator *of = &waits->model->communicators[verdict->communicator];
    bool are_inside = true;
    for (uint32_t i = 0; i < of->member_count; i++) {
        const struct hang_seat *seat = of->members[i];
        const struct live_call_view *call = hang_call_at(seat, verdict->place);
        const struct node *at = &waits->at[seat->owner];
        hang_verdict_add(verdict, seat->owner);
        are_inside &= rank_of(waits, seat->owner)->gpu == HANG_GPU_COLLECTIVE && call && call->datatype &&
                      at->communicator == verdict->communicator && at->place == verdict->place;
    }
    verdict->kind = HANG_INSIDE;
    verdict->is_sure = are_inside; /* otherwise a kernel or call before it, or other data types */
}

static bool find_uneven(const struct waits *waits, struct hang_verdict *verdict)
{
    for (size_t i = 0; i < waits->lack_count; i++)
        if (hang_find_uneven(waits->model, waits->lacks[i].node.communicator, verdict))
            return true;
    return false;
}

/* A rank waits in a call, and has not made one in which others wait. */
static bool find_order(const struct waits *waits, struct hang_verdict *verdict)
{
    for (size_t i = 0; i < waits->lack_count; i++) {
        const struct node *lack = &waits->lacks[i].node, *at = &waits->at[waits->lacks[i].member];
        if (lack->operation == COLLECTIVE_NONE && at->operation == COLLECTIVE_NONE &&
            at->communicator != HANG_NONE && at->communicator != lack->communicator &&
            hang_compare_order(waits->model, lack->communicator, lack->place, at->communicator, at->place,
                               verdict)) {
            verdict->is_sure = false; /* it may have skipped the call */
            return true;
        }
    }
    return hang_find_order(waits->model, &waits->examined, verdict);
}

static void judge(const struct waits *waits, struct hang_verdict *verdict)
{
    const struct hang_model *model = waits->model;
    if (take_sinks(waits, SINK_HOST, verdict) || find_dead(model, verdict)) {
        judge_hosts(waits, verdict);
        verdict->or_later = verdict->kind == HANG_DIED && may_be_later(waits, verdict);
        for (size_t i = 0; i < verdict->rank_count && verdict->kind == HANG_DIED; i++)
            verdict->is_sure &= is_member(model, rank_of(waits, verdict->ranks[i]));
    } else if (take_sinks(waits, SINK_KERNEL, verdict)) {
        verdict->kind = HANG_KERNEL;
        verdict->is_sure = true;
    } else if (find_uneven(waits, verdict)) {
        return;
    } else if (take_sinks(waits, SINK_INSIDE, verdict)) {
        judge_inside(waits, verdict);
    } else if (take_sinks(waits, SINK_BEHIND, verdict)) {
        verdict->kind = HANG_BEHIND;
    } else if (find_order(waits, verdict)) {
        return;
    } else if (take_sinks(waits, SINK_BLIND, verdict)) {
        verdict->kind = HANG_NO_REPORT;
        const struct hang_communicator *of = &model->communicators[verdict->communicator];
        verdict->silent_count = of->size - (uint32_t)of->member_count;
    } else {
        bool has_lack = waits->lack_count > 0;
        if (has_lack)
            set_node(waits, verdict, &waits->lacks[0].node);
        if (has_lack || !hang_find_order(model, NULL, verdict))
            verdict->kind = hang_expected(model) > model->rank_count ? HANG_NO_REPORT : HANG_UNKNOWN_CAUSE;
    }
}

static void find_waits(const struct hang_model *model, struct hang_verdict *verdict)
{
    struct waits waits = {.model = model, .at = xcalloc(model->rank_count + 1, sizeof *waits.at)};
    for (uint32_t r = 0; r < model->rank_count; r++)
        waits.at[r] = find_node(&waits, r);
    for (uint32_t r = 0; r < model->rank_count; r++)
        examine(&waits, r);
    judge(&waits, verdict);
    int_map_deinit(&waits.examined);
    free(waits.at);
    free(waits.sinks);
    free(waits.lacks);
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
    bool is_still = false;
    for (size_t i = 0; i < model->rank_count; i++) {
        verdict->is_stall |= model->ranks[i].watch == LIVE_STALLED;
        is_still |= model->ranks[i].watch == LIVE_STILL;
    }
    if (!verdict->is_stall && !is_still)
        return;
    if (!hang_find_mismatch(model, verdict))
        find_waits(model, verdict);
    for (size_t i = 0; i < verdict->rank_count; i++)
        verdict->is_sure &= !model->ranks[verdict->ranks[i]].is_counted;
    verdict->is_sure &= verdict->is_stall;
    sort_array(verdict->ranks, verdict->rank_count, sizeof *verdict->ranks, by_number);
}
