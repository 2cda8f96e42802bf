#include "analysis/hang/hang.h"

#include "base/hash.h"
#include "cli/util/sort.h"
#include "cli/util/text.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *word, *text;
} places[] = {
#define HANG_PLACE_TEXT(id, word, text) {word, text},
    HANG_PLACES(HANG_PLACE_TEXT)};

const char *hang_where_word(uint32_t where)
{
    return places[where].word;
}

const char *hang_where_text(enum hang_where where)
{
    return places[where].text;
}

void hang_rank_deinit(struct hang_rank *rank)
{
    for (uint32_t i = 0; i < rank->seat_count; i++)
        free(rank->seats[i].calls);
    free(rank->seats);
}

void hang_deinit(struct hang_model *model)
{
    for (size_t i = 0; i < model->rank_count; i++)
        hang_rank_deinit(&model->ranks[i]);
    for (size_t i = 0; i < model->communicator_count; i++)
        free(model->communicators[i].members);
    for (size_t i = 0; i < model->text_count; i++)
        free(model->texts[i]);
    free(model->ras);
    free(model->ranks);
    free(model->communicators);
    free(model->texts);
    int_map_deinit(&model->text_numbers);
    *model = (struct hang_model){0};
}

const char *hang_keep(struct hang_model *model, const char *text)
{
    if (!text)
        return NULL;
    uint64_t hash = hash_text(HASH_START, text);
    uint32_t known = int_map_get(&model->text_numbers, hash);
    if (known != MAP_NONE && strcmp(model->texts[known], text) == 0)
        return model->texts[known];
    int_map_set(&model->text_numbers, hash, (uint32_t)model->text_count);
    return *XADD(model->texts, model->text_count, model->text_capacity) = xstrdup(text);
}

struct hang_rank *hang_add(struct hang_model *model)
{
    struct hang_rank *rank = XADD(model->ranks, model->rank_count, model->rank_capacity);
    *rank = (struct hang_rank){.rank = -1, .world_size = -1, .step = -1};
    return rank;
}

enum hang_where hang_where_in_call(const char *function)
{
    bool is_copy = strncmp(function, "cudaMemcpy", 10) == 0 || strncmp(function, "cuMemcpy", 8) == 0;
    if (strncmp(function, "nccl", 4) == 0)
        return HANG_NCCL;
    return strstr(function, "Synchronize") || (is_copy && !strstr(function, "Async")) ? HANG_SYNC : HANG_CUDA;
}

const char *hang_operation_word(uint32_t operation)
{
    const char *word = collective_text((enum collective_operation)operation);
    return word ? word : "unknown";
}

/* The main thread counts, or else any thread that is in a call. */
static const struct live_thread_view *thread_in(const struct live_thread_view *calls, uint32_t count,
                                                int32_t pid)
{
    for (uint32_t i = 0; i < count; i++)
        if ((int64_t)calls[i].thread == pid)
            return &calls[i];
    return count ? calls : NULL;
}

void hang_set_line(struct hang_model *model, struct hang_rank *rank, const char *frame)
{
    const char *name = frame ? strrchr(frame, ' ') : NULL;
    if (!frame)
        return;
    struct text line = {0};
    text_add_bytes(&line, frame, name ? (size_t)(name - frame) : strlen(frame));
    rank->line = hang_keep(model, line.data ? line.data : "");
    if (!rank->function && name)
        rank->function = hang_keep(model, name + 1);
    text_deinit(&line);
}

static void set_where(struct hang_model *model, struct hang_rank *rank, const struct live_view *view)
{
    const struct live_thread_view *nccl = thread_in(view->nccl_calls, view->nccl_call_count, view->pid);
    const struct live_thread_view *cuda = thread_in(view->cuda_calls, view->cuda_call_count, view->pid);
    bool is_cuda =
        cuda && (!nccl || ((int64_t)cuda->thread == view->pid && (int64_t)nccl->thread != view->pid));
    const char *name = is_cuda ? cuda->name : nccl ? nccl->name : NULL;
    rank->where = name && !is_cuda ? HANG_NCCL
                  : name           ? hang_where_in_call(name)
                  : view->has_look ? HANG_HOST
                                   : HANG_UNKNOWN;
    rank->function = hang_keep(model, name);
    hang_set_line(model, rank,
                  live_view_thread_line(view, is_cuda ? cuda->thread
                                              : nccl  ? nccl->thread
                                                      : (uint32_t)view->pid));
    rank->gpu = view->work == LIVE_WORK_KERNEL       ? HANG_GPU_COMPUTE
                : view->work == LIVE_WORK_COLLECTIVE ? HANG_GPU_COLLECTIVE
                                                     : HANG_GPU_UNKNOWN;
}

static void add_seat(struct hang_model *model, struct hang_seat *seat, const struct live_view *state,
                     const struct live_communicator_view *view)
{
    *seat = (struct hang_seat){.id = view->id,
                               .enqueued = view->enqueued,
                               .completed = view->completed,
                               .is_exact = live_view_is_exact(state, view),
                               .size = view->ranks,
                               .rank = view->ranks && view->local_ranks == 1 ? view->rank : HANG_NONE,
                               .local_ranks = view->local_ranks,
                               .call_count = view->call_count};
    seat->calls = xcalloc(view->call_count + 1, sizeof *seat->calls);
    memcpy(seat->calls, view->calls, view->call_count * sizeof *seat->calls);
    for (uint32_t i = 0; i < view->call_count; i++)
        seat->calls[i].line = hang_keep(model, live_view_code_line(state, view->calls[i].code));
}

struct hang_rank *hang_add_live(struct hang_model *model, const char *host, const struct live_view *view)
{
    struct hang_rank *rank = hang_add(model);
    rank->rank = view->rank;
    rank->world_size = view->world_size;
    rank->pid = view->pid;
    rank->started_ticks = view->started_ticks;
    rank->host = hang_keep(model, host);
    rank->watch = view->watch;
    rank->looked_ns = view->looked_ns ? view->looked_ns + (uint64_t)view->realtime_offset_ns : 0;
    rank->is_still = view->watch == LIVE_STALLED || view->watch == LIVE_STILL ||
                     view->looked_ns > view->moved_ns + HANG_STILL_NS;
    if ((view->watch == LIVE_STALLED || view->watch == LIVE_STILL) && view->looked_ns > view->stalled_ns)
        rank->stalled_ns = view->looked_ns - view->stalled_ns;
    rank->step = view->steps ? view->step_number : -1;
    set_where(model, rank, view);
    rank->seats = xcalloc(view->communicator_count + 1, sizeof *rank->seats);
    rank->seat_count = view->communicator_count;
    for (uint32_t i = 0; i < rank->seat_count; i++)
        add_seat(model, &rank->seats[i], view, &view->communicators[i]);
    return rank;
}

/* Jobs: the ranks of a communicator are one. */

static uint32_t root_of(uint32_t *parents, uint32_t rank)
{
    while (parents[rank] != rank)
        rank = parents[rank] = parents[parents[rank]];
    return rank;
}

static uint32_t *find_jobs(const struct hang_model *model)
{
    uint32_t *parents = xcalloc(model->rank_count + 1, sizeof *parents);
    struct int_map first = {0};
    for (uint32_t i = 0; i < model->rank_count; i++) {
        const struct hang_rank *rank = &model->ranks[i];
        parents[i] = i;
        for (uint32_t s = 0; s < rank->seat_count; s++) {
            uint32_t other = int_map_exchange(&first, hash_mix(rank->seats[s].id) ^ rank->user, i);
            if (other != MAP_NONE)
                parents[root_of(parents, i)] = root_of(parents, other);
        }
    }
    int_map_deinit(&first);
    return parents;
}

/* The job of a rank without communicators: the only one of its size that has them, or else that of such
 * ranks. `known` jobs have communicators. Otherwise a new one. */
static size_t job_of_single(const struct hang_model *jobs, size_t known, size_t count,
                            const struct hang_rank *rank)
{
    size_t found = count;
    for (size_t i = 0; rank->rank >= 0 && i < count; i++) {
        const struct hang_rank *first = &jobs[i].ranks[0];
        if (first->rank < 0 || first->user != rank->user || first->world_size != rank->world_size)
            continue;
        if (rank->end == HANG_UNKNOWN && hang_has_ended(&jobs[i]))
            continue; /* an earlier start of the job */
        if (i < known && found != count)
            return count; /* either of two */
        if (found == count)
            found = i;
    }
    return found;
}

/* Joining: who is in a communicator, and where in it. */

static int by_rank(const void *a, const void *b)
{
    const struct hang_rank *left = a, *right = b;
    int order = ORDER(left->rank, right->rank);
    return order ? order : ORDER(left->pid, right->pid);
}

static int by_size(const void *a, const void *b)
{
    const struct hang_communicator *left = a, *right = b;
    int order = ORDER(left->size, right->size);
    if (!order)
        order = ORDER(left->members[0]->owner, right->members[0]->owner);
    return order ? order : ORDER(left->id, right->id);
}

static bool is_p2p(const struct live_call_view *call)
{
    return collective_is_p2p((enum collective_operation)call->operation);
}

/* Collectives first, in their order; of several ranks in the process, only the calls of the last one. */
static void divide_calls(struct hang_seat *seat)
{
    uint32_t local = seat->local_ranks, used = 0, p2p = 0;
    struct live_call_view *others = xcalloc(seat->call_count + 1, sizeof *others);
    for (uint32_t i = 0; i < seat->call_count; i++) {
        const struct live_call_view call = seat->calls[i];
        if (is_p2p(&call))
            others[p2p++] = call;
        else if (call.number % local == local - 1)
            seat->calls[used++] = call;
    }
    seat->collective_count = used;
    memcpy(&seat->calls[used], others, p2p * sizeof *others);
    seat->call_count = used + p2p;
    free(others);
}

/* With sends and receives among the calls, a place is the number of earlier calls over all operations, of
 * which each has its ordinal. An operation of others that this rank does not remember makes it unknown. */
static void place_among_p2p(struct hang_seat *seat, uint32_t operations)
{
    uint32_t seen = 0;
    seat->window = 0;
    for (uint32_t i = 0; i < seat->collective_count; i++) {
        const struct live_call_view *call = &seat->calls[i];
        if (!(seen & 1u << call->operation))
            seat->window += call->ordinal;
        seen |= 1u << call->operation;
    }
    seat->is_aligned = seen == operations || seat->enqueued <= seat->call_count;
}

static void place(struct hang_seat *seat, uint32_t operations, bool has_p2p)
{
    uint32_t local = seat->local_ranks;
    uint64_t entered = seat->enqueued / local, completed = seat->completed / local;
    seat->is_aligned = true;
    if (has_p2p && !seat->is_counted)
        place_among_p2p(seat, operations);
    else
        seat->window = seat->collective_count ? seat->calls[0].number / local : entered;
    /* A call that was being written is missing, so that the later ones would have wrong places. */
    for (uint32_t i = 0; i < seat->collective_count && !has_p2p; i++)
        seat->is_aligned &= seat->calls[i].number / local == seat->window + i;
    seat->entered = seat->window + seat->collective_count;
    if (!has_p2p && entered > seat->entered)
        seat->entered = entered;
    seat->ended = has_p2p ? seat->window : completed > seat->entered ? seat->entered : completed;
    for (uint32_t i = 0; i < seat->collective_count; i++)
        if (seat->calls[i].flags & LIVE_ENDED && seat->window + i + 1 > seat->ended)
            seat->ended = seat->window + i + 1;
}

/* Places below have ended on this rank, and so have started on all others. A root may end before others
 * start. */
static uint64_t floor_of(const struct hang_seat *seat)
{
    const uint32_t rooted = 1u << COLLECTIVE_BROADCAST | 1u << COLLECTIVE_REDUCE | 1u << COLLECTIVE_GATHER |
                            1u << COLLECTIVE_SCATTER;
    uint64_t floor = seat->ended;
    const struct live_call_view *call;
    while (floor && (call = hang_call_at(seat, floor - 1)) && rooted >> call->operation & 1)
        floor--;
    return floor;
}

static void join(struct hang_model *model, uint32_t number)
{
    struct hang_communicator *found = &model->communicators[number];
    uint32_t operations = 0;
    bool has_p2p = false, is_first = true;
    for (uint32_t i = 0; i < found->member_count; i++) {
        struct hang_seat *seat = found->members[i];
        seat->communicator = number;
        divide_calls(seat);
        has_p2p |= seat->collective_count < seat->call_count;
        for (uint32_t c = 0; c < seat->collective_count; c++)
            operations |= 1u << seat->calls[c].operation;
    }
    for (uint32_t i = 0; i < found->member_count; i++) {
        struct hang_seat *seat = found->members[i];
        place(seat, operations, has_p2p);
        if (!seat->is_aligned)
            continue;
        uint64_t floor = floor_of(seat);
        found->floor = floor > found->floor ? floor : found->floor;
        found->least = is_first || seat->entered < found->least ? seat->entered : found->least;
        found->most = seat->entered > found->most ? seat->entered : found->most;
        is_first = false;
    }
}

/* Values that others wrote may be anything. */
static void bound(struct hang_rank *rank)
{
    if (rank->rank < 0 || rank->rank >= HANG_RANKS_MAX)
        rank->rank = -1;
    if (rank->world_size < 1 || rank->world_size > HANG_RANKS_MAX)
        rank->world_size = -1;
    for (uint32_t s = 0; s < rank->seat_count; s++) {
        struct hang_seat *seat = &rank->seats[s];
        if (seat->size > HANG_RANKS_MAX)
            seat->size = 0;
        if (seat->rank >= seat->size)
            seat->rank = HANG_NONE;
        if (!seat->local_ranks)
            seat->local_ranks = 1;
    }
}

bool hang_has_ended(const struct hang_model *model)
{
    bool has_ended = true;
    for (size_t i = 0; i < model->rank_count; i++)
        has_ended &= model->ranks[i].end != HANG_UNKNOWN;
    return has_ended;
}

static void place_ended(struct hang_model *model)
{
    uint64_t latest_ns = hang_has_ended(model) ? 0 : UINT64_MAX;
    for (size_t i = 0; i < model->rank_count; i++)
        if (model->ranks[i].looked_ns > latest_ns)
            latest_ns = model->ranks[i].looked_ns;
    for (size_t i = 0; i < model->rank_count; i++) {
        struct hang_rank *rank = &model->ranks[i];
        if (rank->end == HANG_UNKNOWN ||
            (latest_ns != UINT64_MAX && latest_ns - rank->looked_ns < HANG_STILL_NS))
            continue;
        rank->where = rank->end;
        rank->watch = LIVE_NOT_WATCHED; /* nothing stands still there */
    }
}

static void add_members(struct hang_model *model)
{
    struct int_map numbers = {0};
    size_t capacity = 0;
    for (uint32_t i = 0; i < model->rank_count; i++)
        for (uint32_t s = 0; s < model->ranks[i].seat_count; s++) {
            struct hang_seat *seat = &model->ranks[i].seats[s];
            uint32_t number = int_map_number(&numbers, seat->id);
            if (number == model->communicator_count)
                *XADD(model->communicators, model->communicator_count, capacity) =
                    (struct hang_communicator){.id = seat->id};
            struct hang_communicator *of = &model->communicators[number];
            *XADD(of->members, of->member_count, of->member_capacity) = seat;
            seat->owner = i;
            of->size = seat->size > of->size ? seat->size : of->size;
            of->size = of->member_count > of->size ? (uint32_t)of->member_count : of->size;
        }
    int_map_deinit(&numbers);
}

static void join_all(struct hang_model *model)
{
    for (size_t i = 0; i < model->rank_count; i++)
        bound(&model->ranks[i]);
    place_ended(model);
    sort_array(model->ranks, model->rank_count, sizeof *model->ranks, by_rank);
    add_members(model);
    sort_array(model->communicators, model->communicator_count, sizeof *model->communicators, by_size);
    for (uint32_t i = 0; i < model->communicator_count; i++)
        join(model, i);
}

struct hang_model *hang_split(struct hang_model *model, size_t *count)
{
    uint32_t *parents = find_jobs(model);
    struct int_map numbers = {0};
    struct hang_model *jobs = xcalloc(model->rank_count + 1, sizeof *jobs);
    for (uint32_t i = 0; i < model->rank_count; i++)
        if (model->ranks[i].seat_count)
            *hang_add(&jobs[int_map_number(&numbers, root_of(parents, i))]) = model->ranks[i];
    size_t known = *count = numbers.count;
    for (uint32_t i = 0; i < model->rank_count; i++) {
        if (model->ranks[i].seat_count)
            continue;
        size_t job = job_of_single(jobs, known, *count, &model->ranks[i]);
        *count += job == *count;
        *hang_add(&jobs[job]) = model->ranks[i];
    }
    model->rank_count = 0; /* they belong to the jobs */
    int_map_deinit(&numbers);
    free(parents);
    for (size_t i = 0; i < *count; i++)
        join_all(&jobs[i]);
    return jobs;
}

const struct live_call_view *hang_call_at(const struct hang_seat *seat, uint64_t place)
{
    return seat->is_aligned && place >= seat->window && place - seat->window < seat->collective_count
               ? &seat->calls[place - seat->window]
               : NULL;
}

const struct live_call_view *hang_call_of(const struct hang_model *model, uint32_t communicator,
                                          uint64_t place)
{
    const struct hang_communicator *of = &model->communicators[communicator];
    const struct live_call_view *call = NULL;
    for (size_t i = 0; i < of->member_count && !call; i++)
        call = hang_call_at(of->members[i], place);
    return call;
}

const struct hang_seat *hang_seat_of(const struct hang_rank *rank, uint32_t communicator)
{
    for (uint32_t s = 0; s < rank->seat_count; s++)
        if (rank->seats[s].communicator == communicator)
            return &rank->seats[s];
    return NULL;
}

size_t hang_expected(const struct hang_model *model)
{
    size_t most = model->rank_count;
    for (size_t i = 0; i < model->rank_count; i++)
        if (model->ranks[i].world_size > (int64_t)most)
            most = (size_t)model->ranks[i].world_size;
    for (size_t i = 0; i < model->communicator_count; i++)
        if (model->communicators[i].size > most)
            most = model->communicators[i].size;
    return most;
}
