/* Matches the parts of a collective from all ranks and reduces each complete one to sums. */
#include "analysis/ranks/ranks_data.h"

#include "cli/util/sort.h"
#include "cli/util/xalloc.h"

#include <math.h>
#include <stdlib.h>

#define LAST_SHARE     0.1 /* a rank that waited less, as a share of the transfer, arrived with the last one */
#define LINK_BYTES_MIN 65536 /* the duration of a smaller collective is mostly latency */
#define QUEUE_NS       20000 /* longest time between two collectives of which the second waits for the first */

/* Joins the neighbors of an open instance in the order of opening. */
static void join_neighbors(struct ranks *ranks, uint32_t older, uint32_t newer)
{
    *(older == RANKS_NONE ? &ranks->oldest_instance : &ranks->instances[older].newer) = newer;
    *(newer == RANKS_NONE ? &ranks->newest_instance : &ranks->instances[newer].older) = older;
}

static void close_instance(struct ranks *ranks, struct instance *instance)
{
    uint32_t at = (uint32_t)(instance - ranks->instances);
    join_neighbors(ranks, instance->older, instance->newer);
    ranks->open_entries -= instance->count;
    /* MAP_NONE cannot be stored and a map does not remove keys: a closed key maps to an instance with another
     * key or that is free. */
    instance->count = 0;
    instance->is_open = false;
    instance->newer = ranks->free_instance;
    ranks->free_instance = at;
}

/* Drops an incomplete instance. The time for which its ranks waited in it is unknown. */
static void drop_instance(struct ranks *ranks, struct instance *instance)
{
    ranks->losses.incomplete++;
    for (size_t i = 0; i < instance->count; i++) {
        const struct arrival *arrival = &instance->arrivals[i];
        uint64_t number = instance->step + (uint64_t)(int64_t)arrival->step_difference;
        struct rank_step *step = ranks_find_step(ranks, arrival->rank, number);
        if (step)
            step->unknown_ns += (uint64_t)arrival->blocked_ns;
    }
    free(instance->arrivals);
    instance->arrivals = NULL;
    instance->capacity = 0;
    close_instance(ranks, instance);
}

static struct instance *new_instance(struct ranks *ranks)
{
    if (ranks->free_instance != RANKS_NONE) {
        struct instance *instance = &ranks->instances[ranks->free_instance];
        ranks->free_instance = instance->newer;
        return instance;
    }
    struct instance *instance = XADD(ranks->instances, ranks->instance_count, ranks->instance_capacity);
    *instance = (struct instance){0};
    return instance;
}

/* Builds the map of open keys again when closed keys fill it, because open ones are few. */
static void renew_map(struct ranks *ranks)
{
    size_t in_use = 0;
    for (size_t i = 0; i < ranks->instance_count; i++)
        in_use += ranks->instances[i].is_open;
    if (ranks->open.count < 100000 || ranks->open.count < in_use * 4)
        return;
    int_map_deinit(&ranks->open);
    for (size_t i = 0; i < ranks->instance_count; i++)
        if (ranks->instances[i].is_open)
            int_map_set(&ranks->open, ranks->instances[i].key, (uint32_t)i);
}

static struct instance *open_instance(struct ranks *ranks, const struct ranks_collective *collective)
{
    if (!(ranks->opened++ % 65536))
        renew_map(ranks);
    struct instance *instance = new_instance(ranks);
    uint32_t at = (uint32_t)(instance - ranks->instances);
    *instance = (struct instance){.key = collective->key,
                                  .communicator = collective->communicator,
                                  .step = collective->step,
                                  .bytes = collective->bytes,
                                  .operation = collective->operation == RANKS_RECV ? RANKS_SEND
                                                                                   : collective->operation,
                                  .is_uniform = true,
                                  .participants = collective->participants,
                                  .arrivals = instance->arrivals,
                                  .capacity = instance->capacity,
                                  .is_open = true};
    int_map_set(&ranks->open, collective->key, at);
    join_neighbors(ranks, ranks->newest_instance, at);
    join_neighbors(ranks, at, RANKS_NONE);
    return instance;
}

static uint32_t communicator_at(struct ranks *ranks, const struct instance *instance)
{
    uint32_t at = int_map_number(&ranks->communicator_numbers, instance->communicator);
    if (at == ranks->communicator_count)
        *XADD(ranks->communicators, ranks->communicator_count, ranks->communicator_capacity) =
            (struct communicator){.participants = instance->participants};
    return at;
}

/* Returns the rank's slot in the communicator. `likely` is the slot to try first: slots and arrivals are
 * mostly both in the order of the ranks. */
static uint32_t slot_of(struct ranks *ranks, uint32_t at, uint32_t rank, size_t likely)
{
    struct communicator *communicator = &ranks->communicators[at];
    if (likely < communicator->member_count && communicator->members[likely].rank == rank)
        return (uint32_t)likely;
    uint64_t key = ranks_pair_key(at, rank);
    uint32_t slot = int_map_get(&ranks->slots, key);
    if (slot != MAP_NONE)
        return slot;
    slot = (uint32_t)communicator->member_count;
    *XADD(communicator->members, communicator->member_count, communicator->member_capacity) =
        (struct member){.rank = rank};
    int_map_set(&ranks->slots, key, slot);
    return slot;
}

static uint32_t count_hosts(struct ranks *ranks, const struct instance *instance)
{
    uint32_t count = 0;
    ranks->marks++;
    for (size_t i = 0; i < instance->count; i++)
        count += ranks_mark_host(ranks, &instance->arrivals[i]);
    return count;
}

/* Returns the instance's class, new if needed; NULL: the limit is reached. A pair of ranks has a class of its
 * own for send and recv, since it is a link of its own. */
static struct class *class_at(struct ranks *ranks, const struct instance *instance, uint32_t communicator)
{
    uint32_t low = instance->arrivals[0].rank, high = instance->arrivals[instance->count - 1].rank;
    uint64_t link = ranks_is_p2p(instance->operation) ? (uint64_t)low << 32 | high : 0;
    uint64_t key = ranks_pair_key(ranks_pair_key(communicator, link),
                                  (uint64_t)instance->operation << 8 | ranks_size_class(instance->bytes));
    uint32_t at = int_map_get(&ranks->class_numbers, key);
    if (at != MAP_NONE)
        return &ranks->classes[at];
    if (ranks->class_count >= ranks->limits.classes_max)
        return NULL;
    int_map_set(&ranks->class_numbers, key, (uint32_t)ranks->class_count);
    struct class *class = XADD(ranks->classes, ranks->class_count, ranks->class_capacity);
    *class = (struct class){.communicator = communicator,
                            .row = {.communicator = instance->communicator,
                                    .operation = instance->operation,
                                    .participants = instance->participants,
                                    .first_rank = low,
                                    .second_rank = instance->count > 1 ? instance->arrivals[1].rank : low,
                                    .host_count = count_hosts(ranks, instance),
                                    .bytes_min = UINT64_MAX,
                                    .has_transfer = !ranks_is_p2p(instance->operation)}};
    return class;
}

static struct lateness *lateness_at(struct ranks *ranks, uint32_t at, uint64_t step)
{
    uint64_t key = ranks_pair_key(at, step);
    uint32_t number = int_map_get(&ranks->lateness_numbers, key);
    if (number != MAP_NONE)
        return &ranks->lateness[number];
    size_t slots = ranks->communicators[at].participants;
    if (ranks->lateness_values + slots > ranks->limits.lateness_values_max) {
        ranks->losses.lateness++;
        return NULL;
    }
    ranks->lateness_values += slots;
    int_map_set(&ranks->lateness_numbers, key, (uint32_t)ranks->lateness_count);
    struct lateness *lateness = XADD(ranks->lateness, ranks->lateness_count, ranks->lateness_capacity);
    *lateness = (struct lateness){
        .communicator = at, .step = step, .slots = slots, .late_ns = xcalloc(slots, sizeof(double))};
    return lateness;
}

struct durations {
    double shortest, median, longest, total;
    size_t last; /* index of the shortest duration: that rank arrived last */
};

static struct durations durations_of(struct ranks *ranks, const struct instance *instance)
{
    ranks->scratch = xgrow(ranks->scratch, &ranks->scratch_capacity, instance->count, sizeof *ranks->scratch);
    struct durations result = {.last = 0};
    uint64_t shortest = instance->arrivals[0].duration_ns;
    for (size_t i = 0; i < instance->count; i++) {
        const struct arrival *arrival = &instance->arrivals[i];
        ranks->scratch[i] = (double)arrival->duration_ns;
        result.total += (double)arrival->duration_ns;
        if (arrival->duration_ns < shortest) {
            shortest = arrival->duration_ns;
            result.last = i;
        }
    }
    result.median = sort_median(ranks->scratch, instance->count);
    result.shortest = ranks->scratch[0];
    result.longest = ranks->scratch[instance->count - 1];
    return result;
}

static void add_to_class(struct ranks *ranks, struct class *class, const struct instance *instance,
                         const struct durations *durations)
{
    struct ranks_collective_row *row = &class->row;
    uint32_t slot =
        slot_of(ranks, class->communicator, instance->arrivals[durations->last].rank, durations->last);
    row->count++;
    row->bytes += instance->bytes;
    row->bytes_min = instance->bytes < row->bytes_min ? instance->bytes : row->bytes_min;
    row->bytes_max = instance->bytes > row->bytes_max ? instance->bytes : row->bytes_max;
    row->has_transfer &= instance->is_uniform;
    ranks_series_add(&class->shortest, durations->shortest);
    ranks_series_add(&class->skew, durations->longest - durations->shortest);
    if (durations->shortest > 0)
        ranks_series_add(&class->algbw, (double)instance->bytes * 1e9 / durations->shortest);
    class->wait_ns += durations->total - durations->shortest * (double)instance->count;
    if (slot >= class->last_slots) {
        size_t old = class->last_slots;
        class->last = xgrow(class->last, &class->last_slots, slot + 1, sizeof *class->last);
        for (size_t i = old; i < class->last_slots; i++)
            class->last[i] = 0;
    }
    class->last[slot]++;
}

static struct speed *speed_at(struct ranks *ranks, struct class *class, uint64_t step)
{
    for (size_t i = class->speed_count; i-- && i + 8 > class->speed_count;)
        if (class->speeds[i].step == step)
            return &class->speeds[i];
    if (ranks->speed_count >= ranks->limits.speeds_max) {
        ranks->losses.speeds++;
        return NULL;
    }
    ranks->speed_count++;
    struct speed *speed = XADD(class->speeds, class->speed_count, class->speed_capacity);
    *speed = (struct speed){.step = step, .ns_per_byte = INFINITY};
    return speed;
}

static void add_speed(struct ranks *ranks, struct class *class, const struct instance *instance,
                      const struct durations *durations, uint64_t step)
{
    bool is_measured = class->row.has_transfer || ranks_is_p2p(instance->operation);
    if (instance->bytes < LINK_BYTES_MIN || !is_measured || durations->shortest <= 0)
        return;
    struct speed *speed = speed_at(ranks, class, step);
    float ns_per_byte = (float)(durations->shortest / (double)instance->bytes);
    if (!speed || ns_per_byte >= speed->ns_per_byte)
        return;
    speed->ns_per_byte = ns_per_byte;
    speed->skew_share = (float)((durations->longest - durations->shortest) / durations->shortest);
}

/* Adds each rank's arrival, measured from the median one, to its lateness in the step. */
static void add_lateness(struct ranks *ranks, uint32_t communicator, const struct instance *instance,
                         const struct durations *durations, uint64_t step)
{
    struct lateness *lateness = lateness_at(ranks, communicator, step);
    for (size_t i = 0; lateness && i < instance->count; i++) {
        const struct arrival *arrival = &instance->arrivals[i];
        uint32_t slot = slot_of(ranks, communicator, arrival->rank, i);
        if (slot < lateness->slots)
            lateness->late_ns[slot] += durations->median - (double)arrival->duration_ns;
    }
}

/* Returns the part of the transfer that blocks the median rank; of two ranks, the one that it blocks less. */
static double blocked_of_all(struct ranks *ranks, const struct instance *instance, double transfer)
{
    for (size_t i = 0; i < instance->count; i++)
        ranks->scratch[i] = fmin((double)instance->arrivals[i].blocked_ns, transfer);
    sort_doubles(ranks->scratch, instance->count);
    return ranks->scratch[(instance->count - 1) / 2];
}

static struct member *member_of(struct ranks *ranks, uint32_t communicator, const struct instance *instance,
                                size_t at)
{
    uint32_t slot = slot_of(ranks, communicator, instance->arrivals[at].rank, at);
    return &ranks->communicators[communicator].members[slot];
}

/* Returns the same among the ranks that hardly waited for others in this collective and in those before it,
 * minus the time that they waited in it. */
static double blocked_of_last(struct ranks *ranks, uint32_t communicator, const struct instance *instance,
                              double transfer)
{
    size_t count = 0;
    double least = INFINITY;
    for (size_t i = 0; i < instance->count; i++)
        least = fmin(least, member_of(ranks, communicator, instance, i)->lead_ns);
    for (size_t i = 0; i < instance->count; i++) {
        const struct arrival *arrival = &instance->arrivals[i];
        double waited = (double)arrival->duration_ns - transfer;
        if (member_of(ranks, communicator, instance, i)->lead_ns <= least + transfer * LAST_SHARE)
            ranks->scratch[count++] = fmin(fmax((double)arrival->blocked_ns - waited, 0), transfer);
    }
    sort_doubles(ranks->scratch, count);
    return ranks->scratch[(count - 1) / 2];
}

/* Returns the idle time of the median rank after the collective, which is mostly 0. */
static double usually_idle(struct ranks *ranks, const struct instance *instance)
{
    size_t busy = 0;
    for (size_t i = 0; i < instance->count; i++) {
        ranks->scratch[i] = (double)instance->arrivals[i].idle_ns;
        busy += ranks->scratch[i] <= 0;
    }
    if (busy > (instance->count - 1) / 2)
        return 0;
    sort_doubles(ranks->scratch, instance->count);
    return ranks->scratch[(instance->count - 1) / 2];
}

/* Notes the end of each rank's collective, and how much earlier it could have ended without other ranks: by
 * the time that the rank waited in this one, and in those before it that it was queued behind. */
static void update_leads(struct ranks *ranks, uint32_t communicator, const struct instance *instance,
                         double transfer)
{
    for (size_t i = 0; i < instance->count; i++) {
        const struct arrival *arrival = &instance->arrivals[i];
        struct member *member = member_of(ranks, communicator, instance, i);
        uint64_t start = arrival->end_ns - arrival->duration_ns;
        bool is_queued = start >= member->end_ns && start - member->end_ns <= QUEUE_NS;
        member->lead_ns = (double)arrival->duration_ns - transfer + (is_queued ? member->lead_ns : 0);
        member->end_ns = arrival->end_ns;
    }
}

/* Returns the exposed time that a rank spent waiting for other ranks. Without them, the collective would have
 * ended earlier by at least the rank's wait, and by at most the lead. In between, it is the time beyond the
 * usual transfer. A rank that has no work after the collective was not blocked by it, but by its host. */
static double waiting_of(const struct arrival *arrival, double waited, double lead, double usual,
                         double usual_idle)
{
    double idle = fmax((double)arrival->idle_ns - usual_idle, 0), blocked = (double)arrival->blocked_ns;
    double least = fmin(blocked, waited), most = fmin(blocked - usual, lead);
    return fmax(fmax(least, most) - idle, 0);
}

/* Divides the exposed time of each rank. The transfer counts alike on all ranks: if a rank hides more of it
 * behind longer work, that work makes the rank less late. The rest is caused by the rank itself, for example
 * by a host that launched the next kernel late. If the shortest duration is not the transfer, all of it
 * counts as waiting. */
static void add_waits(struct ranks *ranks, uint32_t communicator, const struct instance *instance,
                      double shortest_ns)
{
    bool has_transfer = instance->is_uniform && ranks_operations[instance->operation].all_need_all;
    double transfer = has_transfer ? shortest_ns : 0;
    update_leads(ranks, communicator, instance, transfer);
    /* The part of the transfer that would block the ranks if none had waited for another one. A rank that
     * waited has no work left that could hide the transfer, so the ranks that arrived last decide; but not if
     * these are late with their next work, which blocks them alone. */
    double usual = !has_transfer ? 0
                                 : fmin(blocked_of_all(ranks, instance, transfer),
                                        blocked_of_last(ranks, communicator, instance, transfer));
    double usual_idle = usually_idle(ranks, instance);
    for (size_t i = 0; i < instance->count; i++) {
        const struct arrival *arrival = &instance->arrivals[i];
        uint64_t number = instance->step + (uint64_t)(int64_t)arrival->step_difference;
        double waited = (double)arrival->duration_ns - transfer;
        double lead = member_of(ranks, communicator, instance, i)->lead_ns;
        struct rank_step *step = ranks_find_step(ranks, arrival->rank, number);
        if (!step)
            continue;
        step->waiting_ns += (uint64_t)waiting_of(arrival, waited, lead, usual, usual_idle);
        step->transfer_ns += (uint64_t)usual;
    }
}

/* Returns the step number of most ranks, as a difference to the instance's. */
static int32_t usual_difference(struct ranks *ranks, const struct instance *instance)
{
    bool is_equal = true;
    for (size_t i = 0; i < instance->count; i++)
        is_equal &= instance->arrivals[i].step_difference == instance->arrivals[0].step_difference;
    if (is_equal)
        return instance->arrivals[0].step_difference;
    for (size_t i = 0; i < instance->count; i++)
        ranks->scratch[i] = instance->arrivals[i].step_difference;
    sort_doubles(ranks->scratch, instance->count);
    return (int32_t)ranks->scratch[(instance->count - 1) / 2];
}

static int compare_arrivals(const void *a, const void *b)
{
    const struct arrival *x = a, *y = b;
    return ORDER(x->rank, y->rank);
}

/* Sorts the arrivals by rank. */
static bool has_duplicate(struct instance *instance)
{
    qsort(instance->arrivals, instance->count, sizeof *instance->arrivals, compare_arrivals);
    for (size_t i = 1; i < instance->count; i++)
        if (instance->arrivals[i].rank == instance->arrivals[i - 1].rank)
            return true;
    return false;
}

static void complete_instance(struct ranks *ranks, struct instance *instance)
{
    if (has_duplicate(instance)) {
        ranks->losses.ambiguous++;
        return;
    }
    ranks->complete++;
    struct durations durations = durations_of(ranks, instance);
    int32_t usual = usual_difference(ranks, instance);
    uint64_t step = instance->step + (uint64_t)(int64_t)usual;
    uint32_t communicator = communicator_at(ranks, instance);
    struct class *class = class_at(ranks, instance, communicator);
    if (class) {
        add_to_class(ranks, class, instance, &durations);
        add_speed(ranks, class, instance, &durations, step);
    } else {
        ranks->losses.classes++;
    }
    add_waits(ranks, communicator, instance, durations.shortest);
    if (!ranks_operations[instance->operation].all_need_all)
        return;
    for (size_t i = 0; i < instance->count; i++) {
        struct process_rank *rank = &ranks->ranks[instance->arrivals[i].rank];
        int64_t shift = instance->arrivals[i].step_difference - usual;
        rank->shift_seen = rank->shift_votes ? rank->shift_seen : shift;
        rank->shift_votes = rank->shift_seen == shift ? rank->shift_votes + 1 : rank->shift_votes - 1;
        rank->instance_count++;
    }
    ranks->ranks[instance->arrivals[durations.last].rank].last_count++;
    add_lateness(ranks, communicator, instance, &durations, step);
    if (instance->is_uniform)
        ranks_clocks_add(ranks, instance, durations.shortest);
}

void ranks_match(struct ranks *ranks, uint32_t rank, const struct ranks_collective *collective,
                 const struct blocking *blocking)
{
    uint32_t at = int_map_get(&ranks->open, collective->key);
    bool is_open =
        at != MAP_NONE && ranks->instances[at].is_open && ranks->instances[at].key == collective->key;
    struct instance *instance = is_open ? &ranks->instances[at] : open_instance(ranks, collective);
    int64_t difference = (int64_t)(collective->step - instance->step);
    instance->is_uniform &= collective->bytes == instance->bytes;
    *XADD(instance->arrivals, instance->count, instance->capacity) = (struct arrival){
        .end_ns = collective->end_ns,
        .duration_ns = collective->end_ns - collective->start_ns,
        .blocked_ns = blocking->blocked_ns,
        .idle_ns = blocking->idle_ns,
        .step_difference = difference > INT32_MAX || difference < INT32_MIN ? INT32_MAX : (int32_t)difference,
        .rank = rank};
    ranks->open_entries++;
    if (instance->count == instance->participants) {
        complete_instance(ranks, instance);
        close_instance(ranks, instance);
    }
    while (ranks->open_entries > ranks->limits.open_entries_max) {
        ranks->losses.evicted++;
        drop_instance(ranks, &ranks->instances[ranks->oldest_instance]);
    }
}

static void finish_class(struct ranks *ranks, struct class *class)
{
    struct ranks_collective_row *row = &class->row;
    const struct communicator *communicator = &ranks->communicators[class->communicator];
    /* A rank may wait for its partner in send or recv, so the quickest ones show the transfer best. */
    double share = ranks_is_p2p(row->operation) ? 0.1 : 0.5;
    row->transfer_ns = ranks_series_quantile(&class->shortest, share);
    row->skew_ns = ranks_series_quantile(&class->skew, 0.5);
    row->algbw = row->has_transfer ? ranks_series_quantile(&class->algbw, 0.5) : 0;
    row->busbw = row->algbw * ranks_bus_factor(row->operation, row->participants);
    row->wait_ns = row->count ? class->wait_ns / (double)row->count / row->participants : 0;
    row->last_rank = RANKS_NONE;
    for (size_t i = 0; i < class->last_slots && i < communicator->member_count; i++)
        if (class->last[i] > row->last_count) {
            row->last_count = class->last[i];
            row->last_rank = communicator->members[i].rank;
        }
}

/* Adds a class of collectives to its ranks' roles. Ranks with the same role take part in the same kinds of
 * collectives, in communicators of the same size. */
static void add_role(struct ranks *ranks, const struct class *class)
{
    const struct ranks_collective_row *row = &class->row;
    uint64_t kind =
        ranks_pair_key((uint64_t)row->operation << 32 | row->participants, ranks_size_class(row->bytes_min));
    if (ranks_is_p2p(row->operation)) {
        ranks->ranks[row->first_rank].role += kind;
        ranks->ranks[row->second_rank].role += kind;
        return;
    }
    const struct communicator *communicator = &ranks->communicators[class->communicator];
    for (size_t i = 0; i < communicator->member_count; i++)
        ranks->ranks[communicator->members[i].rank].role += kind;
}

void ranks_instances_end(struct ranks *ranks)
{
    for (size_t i = 0; i < ranks->instance_count; i++)
        if (ranks->instances[i].is_open)
            drop_instance(ranks, &ranks->instances[i]);
    for (size_t i = 0; i < ranks->class_count; i++) {
        finish_class(ranks, &ranks->classes[i]);
        add_role(ranks, &ranks->classes[i]);
    }
}
