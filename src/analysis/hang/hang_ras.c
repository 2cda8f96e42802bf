#include "analysis/hang/hang_read.h"

#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

/* NCCL's RAS (src/ras/client_support.cc of NCCL) counts the operations that each rank of a communicator has
 * launched. Anyone on the host may have written it. So it only adds ranks that have no agent, to
 * communicators in which its counts are those of agents, and no verdict about them is sure. */

struct hang_ras {
    uint64_t id, count;
    uint32_t size, rank;
    int32_t pid;
    const char *host;
    bool is_dead; /* RAS has given it up: no count */
};

static uint64_t count_collectives(yyjson_val *counts)
{
    yyjson_val *key, *value;
    size_t i, max;
    uint64_t sum = 0;
    yyjson_obj_foreach(counts, i, max, key, value)
    {
        enum collective_operation operation =
            collective_of_function(yyjson_get_str(key), yyjson_get_len(key));
        if (operation != COLLECTIVE_NONE && !collective_is_p2p(operation))
            sum += yyjson_get_uint(value) <= UINT32_MAX ? yyjson_get_uint(value) : 0;
    }
    return sum;
}

static void read_ranks(struct hang_model *model, struct hang_ras found, yyjson_val *list)
{
    yyjson_val *json;
    size_t i, count;
    yyjson_arr_foreach(list, i, count, json)
    {
        int64_t rank = yyjson_get_sint(yyjson_obj_get(json, "rank"));
        int64_t pid = yyjson_get_sint(yyjson_obj_get(json, "pid"));
        yyjson_val *counts = yyjson_obj_get(json, "collective_counts");
        found.host = hang_keep(model, yyjson_get_str(yyjson_obj_get(json, "host")));
        found.is_dead = yyjson_is_true(yyjson_obj_get(yyjson_obj_get(json, "status"), "considered_dead"));
        if (rank < 0 || rank >= found.size || pid <= 0 || pid > INT32_MAX || !found.host ||
            !(counts || found.is_dead))
            continue;
        found.rank = (uint32_t)rank;
        found.pid = (int32_t)pid;
        found.count = counts ? count_collectives(counts) : 0;
        *XADD(model->ras, model->ras_count, model->ras_capacity) = found;
    }
}

bool hang_read_ras(struct hang_model *model, yyjson_val *root)
{
    yyjson_val *list = yyjson_obj_get(root, "communicators"), *json;
    size_t i, count;
    if (!yyjson_get_str(yyjson_obj_get(root, "nccl_version")) || !yyjson_is_arr(list))
        return false;
    yyjson_arr_foreach(list, i, count, json)
    {
        const char *id = yyjson_get_str(yyjson_obj_get(json, "hash"));
        uint64_t size = yyjson_get_uint(yyjson_obj_get(json, "size"));
        struct hang_ras of = {.id = id ? strtoull(id, NULL, 16) : 0,
                              .size = size <= HANG_RANKS_MAX ? (uint32_t)size : 0};
        read_ranks(model, of, yyjson_obj_get(json, "ranks"));
        read_ranks(model, of, yyjson_obj_get(json, "missing_ranks"));
    }
    return true;
}

/* A communicator of agents. */
struct known {
    bool is_counted, is_wrong; /* an agent counts as RAS does; one does not */
    bool is_world;             /* ranks in it are those of the job */
    uint32_t agent;            /* index of a rank that has one */
    uint64_t least;            /* of RAS's counts */
};

#define KEY_OF(id, rank) (hash_mix(id) ^ collective_mix(1, rank))

static const struct hang_seat *seat_of(const struct hang_rank *rank, uint64_t id)
{
    for (uint32_t s = 0; s < rank->seat_count; s++)
        if (rank->seats[s].id == id)
            return &rank->seats[s];
    return NULL;
}

/* The agent counts when a call begins, and RAS when it is launched. */
static void compare(const struct hang_ras *ras, const struct hang_rank *agent, struct known *known)
{
    if (ras->is_dead)
        return;
    known->least = ras->count < known->least ? ras->count : known->least;
    const struct hang_seat *seat = agent ? seat_of(agent, ras->id) : NULL;
    if (!seat)
        return;
    bool is_same = seat->enqueued == ras->count || seat->enqueued == ras->count + 1;
    known->is_counted |= is_same;
    known->is_wrong |= !is_same;
    known->is_world &= agent->rank == ras->rank && agent->world_size == ras->size;
}

static void add_rank(struct hang_model *model, const struct hang_ras *ras, size_t agents, struct known *known)
{
    size_t i = agents;
    while (i < model->rank_count &&
           (model->ranks[i].pid != ras->pid || strcmp(model->ranks[i].host, ras->host) != 0))
        i++;
    struct hang_rank *rank = i < model->rank_count ? &model->ranks[i] : hang_add(model);
    if (!rank->is_counted)
        rank->seats = xcalloc(LIVE_COMMUNICATORS, sizeof *rank->seats);
    rank->is_counted = true;
    rank->pid = ras->pid;
    rank->host = ras->host;
    rank->user = model->ranks[known->agent].user;
    rank->where = ras->is_dead ? HANG_DEAD : HANG_UNKNOWN;
    rank->rank = known->is_world ? ras->rank : rank->rank;
    rank->world_size = known->is_world ? ras->size : rank->world_size;
    if (rank->seat_count < LIVE_COMMUNICATORS && !seat_of(rank, ras->id))
        rank->seats[rank->seat_count++] =
            (struct hang_seat){.id = ras->id,
                               .size = ras->size,
                               .rank = ras->rank,
                               .local_ranks = 1,
                               .is_counted = true,
                               .enqueued = ras->is_dead ? known->least : ras->count,
                               .calls = xcalloc(1, sizeof(struct live_call_view))};
}

void hang_merge_ras(struct hang_model *model)
{
    struct int_map seats = {0}, ids = {0}; /* to the indices of ranks, and of `known` */
    struct known *known = NULL;
    size_t agents = model->rank_count, count = 0, capacity = 0;
    for (uint32_t r = 0; r < agents && model->ras_count; r++)
        for (uint32_t s = 0; s < model->ranks[r].seat_count; s++) {
            const struct hang_seat *seat = &model->ranks[r].seats[s];
            if (int_map_number(&ids, seat->id) == count)
                *XADD(known, count, capacity) =
                    (struct known){.is_world = true, .agent = r, .least = UINT64_MAX};
            if (seat->rank != HANG_NONE)
                int_map_set(&seats, KEY_OF(seat->id, seat->rank), r);
        }
    for (size_t i = 0; i < 2 * model->ras_count; i++) {
        const struct hang_ras *ras = &model->ras[i % model->ras_count];
        uint32_t number = int_map_get(&ids, ras->id), agent = int_map_get(&seats, KEY_OF(ras->id, ras->rank));
        if (number != MAP_NONE && i < model->ras_count)
            compare(ras, agent == MAP_NONE ? NULL : &model->ranks[agent], &known[number]);
        else if (number != MAP_NONE && agent == MAP_NONE && known[number].is_counted &&
                 !known[number].is_wrong)
            add_rank(model, ras, agents, &known[number]);
    }
    free(model->ras);
    model->ras = NULL, model->ras_count = model->ras_capacity = 0;
    free(known);
    int_map_deinit(&ids);
    int_map_deinit(&seats);
}
