#include "hang/simulator.h"

#include "base/clock.h"
#include "base/hash.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

#define STREAMS  5
#define NO_ITEM  UINT32_MAX
#define NO_GROUP UINT32_MAX
#define FLOAT32  8 /* ncclFloat32 + 1 */
#define BFLOAT16 10
#define FLOAT16  7

const char *const fault_names[] = {
#define FAULT_NAME(id, name) name,
    FAULTS(FAULT_NAME)};

enum what { LOAD, KERNEL, CALL, SYNC };
enum stream { COMPUTE, TENSOR, PIPELINE_IN, PIPELINE_OUT, DATA };

struct action {
    enum what what;
    enum collective_operation operation;
    uint32_t group;
    uint64_t bytes;
    uint8_t datatype;
    enum stream stream;
    int32_t peer;    /* rank in the group */
    bool is_endless; /* a kernel */
};

struct item {
    struct action action;
    uint64_t place; /* among the collectives of the group; of sends and receives the ordinal */
    uint32_t waits; /* dependencies that have not ended, and 1 until it is enqueued */
    uint32_t users[STREAMS * 4];
    uint32_t user_count;
    uint32_t next; /* item of the same call on another rank */
    uint32_t rank;
    bool has_started, has_ended;
};

struct group {
    uint64_t id;
    uint32_t *members, count;
    uint32_t *arrived; /* of each place: the first item that started, others follow by `next` */
    uint32_t *arrived_count;
    uint64_t *entered; /* of each member */
    size_t capacity;
};

struct rank {
    struct action *program;
    size_t length, capacity, at;
    uint32_t *items; /* in the order of the calls */
    size_t item_count, item_capacity;
    uint32_t last[STREAMS];
    uint32_t open; /* items that have not ended */
    size_t stop;   /* the action before which it stops; SIZE_MAX: none */
    enum hang_where where;
    uint32_t tensor_group, pipeline_group, data_group, next_group, previous_group;
};

struct job {
    struct shape shape;
    uint64_t random;
    uint32_t count;
    struct rank *ranks;
    struct group *groups;
    uint32_t group_count;
    uint32_t world;
    struct item *items;
    size_t item_count, item_capacity;
    struct int_map sends; /* of sends and receives without the other side: the item */
    enum fault fault;
    uint32_t culprit, broken_group;
    uint64_t broken_place;
};

uint64_t job_random(struct job *job, uint64_t below)
{
    return below ? hash_mix(job->random++) % below : 0;
}

static uint32_t add_group(struct job *job, uint32_t count)
{
    struct group *group = &job->groups[job->group_count];
    *group = (struct group){.id = hash_mix(job->random ^ (uint64_t)job->group_count << 32) | 1,
                            .members = xcalloc(count, sizeof *group->members),
                            .entered = xcalloc(count, sizeof *group->entered)};
    return job->group_count++;
}

static uint32_t rank_number(const struct shape *shape, uint32_t t, uint32_t p, uint32_t d)
{
    return (d * shape->pipeline + p) * shape->tensor + t;
}

static void add_member(struct job *job, uint32_t group, uint32_t rank)
{
    job->groups[group].members[job->groups[group].count++] = rank;
}

static void make_groups(struct job *job)
{
    const struct shape *s = &job->shape;
    job->groups = xcalloc(4 * job->count + 4, sizeof *job->groups);
    job->world = add_group(job, job->count);
    for (uint32_t r = 0; r < job->count; r++)
        add_member(job, job->world, r);
    for (uint32_t r = 0; r < job->count; r++) {
        uint32_t t = r % s->tensor, p = r / s->tensor % s->pipeline, d = r / (s->tensor * s->pipeline);
        struct rank *rank = &job->ranks[r];
        rank->tensor_group = rank->data_group = rank->pipeline_group = NO_GROUP;
        rank->next_group = rank->previous_group = NO_GROUP;
        if (s->tensor > 1)
            add_member(
                job, rank->tensor_group = t ? job->ranks[r - t].tensor_group : add_group(job, s->tensor), r);
        if (s->data > 1)
            add_member(job,
                       rank->data_group =
                           d ? job->ranks[rank_number(s, t, p, 0)].data_group : add_group(job, s->data),
                       r);
        if (s->pipeline > 1 && !s->has_pairs)
            add_member(job,
                       rank->pipeline_group = p ? job->ranks[rank_number(s, t, 0, d)].pipeline_group
                                                : add_group(job, s->pipeline),
                       r);
        if (s->has_pairs && p > 0) {
            struct rank *before = &job->ranks[rank_number(s, t, p - 1, d)];
            rank->previous_group = before->next_group = add_group(job, 2);
            add_member(job, rank->previous_group, rank_number(s, t, p - 1, d));
            add_member(job, rank->previous_group, r);
        }
    }
}

/* Programs. */

static void add_action(struct rank *rank, struct action action)
{
    *XADD(rank->program, rank->length, rank->capacity) = action;
}

static void add_call(struct rank *rank, uint32_t group, enum collective_operation operation, uint64_t bytes,
                     uint8_t datatype, enum stream stream)
{
    if (group != NO_GROUP)
        add_action(rank,
                   (struct action){CALL, operation, group, bytes, datatype, stream, LIVE_NO_PEER, false});
}

static void add_kernel(struct rank *rank)
{
    add_action(rank, (struct action){.what = KERNEL, .stream = COMPUTE, .group = NO_GROUP});
}

static void add_pair(const struct job *job, uint32_t r, bool is_forward, bool is_send)
{
    const struct shape *s = &job->shape;
    struct rank *rank = &job->ranks[r];
    uint32_t stage = r / s->tensor % s->pipeline;
    bool is_next = is_forward == is_send;
    if (s->pipeline == 1 || (is_next ? stage + 1 == s->pipeline : stage == 0))
        return;
    uint32_t group =
        s->has_pairs ? (is_next ? rank->next_group : rank->previous_group) : rank->pipeline_group;
    int32_t peer = s->has_pairs ? is_next : (int32_t)(is_next ? stage + 1 : stage - 1);
    add_action(rank,
               (struct action){CALL, is_send ? COLLECTIVE_SEND : COLLECTIVE_RECV, group, 8 << 20, BFLOAT16,
                               is_forward == is_send ? PIPELINE_OUT : PIPELINE_IN, peer, false});
}

static void add_layers(const struct job *job, struct rank *rank, bool is_forward)
{
    for (uint32_t l = 0; l < job->shape.layers; l++) {
        if (job->shape.is_sharded)
            add_call(rank, rank->data_group, COLLECTIVE_ALL_GATHER, (24 << 20) + (l << 12), BFLOAT16, DATA);
        add_kernel(rank);
        add_call(rank, rank->tensor_group, COLLECTIVE_ALL_REDUCE, 32 << 20, BFLOAT16, TENSOR);
        if (job->shape.is_sharded && !is_forward)
            add_call(rank, rank->data_group, COLLECTIVE_REDUCE_SCATTER, (24 << 20) + (l << 12), BFLOAT16,
                     DATA);
    }
}

static void make_program(struct job *job, uint32_t r)
{
    const struct shape *s = &job->shape;
    struct rank *rank = &job->ranks[r];
    for (uint32_t step = 0; step < s->steps; step++) {
        add_action(rank, (struct action){.what = LOAD, .group = NO_GROUP});
        for (uint32_t half = 0; half < 2; half++)
            for (uint32_t m = 0; m < s->micro; m++) {
                add_pair(job, r, !half, false);
                add_layers(job, rank, !half);
                add_pair(job, r, !half, true);
                if (s->has_syncs && half)
                    add_action(rank, (struct action){.what = SYNC, .group = NO_GROUP});
            }
        for (uint32_t b = 0; b < s->buckets; b++)
            add_call(rank, rank->data_group, COLLECTIVE_REDUCE_SCATTER, (64 << 20) + (b << 20), BFLOAT16,
                     DATA);
        add_call(rank, job->world, COLLECTIVE_ALL_REDUCE, 4, FLOAT32, DATA);
        add_kernel(rank);
        for (uint32_t b = 0; b < s->buckets; b++)
            add_call(rank, rank->data_group, COLLECTIVE_ALL_GATHER, (64 << 20) + (b << 20), BFLOAT16, DATA);
        add_action(rank, (struct action){.what = SYNC, .group = NO_GROUP});
    }
}

struct job *job_create(const struct shape *shape, uint64_t seed)
{
    struct job *job = xcalloc(1, sizeof *job);
    job->shape = *shape;
    job->random = hash_mix(seed);
    job->count = shape->tensor * shape->pipeline * shape->data;
    job->ranks = xcalloc(job->count, sizeof *job->ranks);
    job->broken_group = NO_GROUP;
    make_groups(job);
    for (uint32_t r = 0; r < job->count; r++) {
        make_program(job, r);
        job->ranks[r].stop = SIZE_MAX;
        memset(job->ranks[r].last, 0xff, sizeof job->ranks[r].last);
    }
    return job;
}

void job_destroy(struct job *job)
{
    for (uint32_t g = 0; g < job->group_count; g++) {
        free(job->groups[g].members);
        free(job->groups[g].entered);
        free(job->groups[g].arrived);
        free(job->groups[g].arrived_count);
    }
    for (uint32_t r = 0; r < job->count; r++) {
        free(job->ranks[r].program);
        free(job->ranks[r].items);
    }
    int_map_deinit(&job->sends);
    free(job->groups);
    free(job->ranks);
    free(job->items);
    free(job);
}

uint32_t job_ranks(const struct job *job)
{
    return job->count;
}

/* Faults. */

static bool is_collective(const struct action *action)
{
    return action->what == CALL && action->peer == LIVE_NO_PEER;
}

static bool wants(const struct job *job, const struct rank *rank, size_t i, enum fault fault)
{
    const struct action *a = &rank->program[i];
    switch (fault) {
    case FAULT_LOADER:
    case FAULT_STORAGE:
    case FAULT_ENDED:
        return a->what == LOAD;
    case FAULT_KERNEL:
        return a->what == KERNEL;
    case FAULT_ORDER: /* two neighbors on one stream */
        return is_collective(a) && a->group == job->world && is_collective(a - 1) &&
               (a - 1)->stream == a->stream;
    case FAULT_OPERATION:
    case FAULT_SIZE:
    case FAULT_DATATYPE:
    case FAULT_SKIPPED:
    case FAULT_EXTRA:
    case FAULT_NCCL:
    case FAULT_LINK:
        return is_collective(a);
    default:
        return a->what == KERNEL || a->what == CALL;
    }
}

/* An action of the last but one step. */
static bool find_place(struct job *job, const struct rank *rank, enum fault fault, size_t *place)
{
    size_t found = 0;
    uint32_t step = 0;
    for (size_t i = 0; i < rank->length; i++) {
        step += rank->program[i].what == LOAD;
        if (step == job->shape.steps - 1 && wants(job, rank, i, fault) && job_random(job, ++found) == 0)
            *place = i;
    }
    return found > 0;
}

static void change(struct action *action, enum fault fault)
{
    if (fault == FAULT_OPERATION)
        action->operation =
            action->operation == COLLECTIVE_ALL_REDUCE ? COLLECTIVE_ALL_GATHER : COLLECTIVE_ALL_REDUCE;
    else if (fault == FAULT_SIZE)
        action->bytes = action->bytes > 8 ? action->bytes / 2 : 12;
    else
        action->datatype = action->datatype == FLOAT16 ? BFLOAT16 : FLOAT16;
}

static void break_group(struct job *job, const struct rank *rank, size_t place)
{
    job->broken_group = rank->program[place].group;
    for (size_t i = 0; i < place; i++)
        job->broken_place += is_collective(&rank->program[i]) && rank->program[i].group == job->broken_group;
}

bool job_plant(struct job *job, enum fault fault)
{
    static const enum hang_where wheres[FAULT_COUNT] = {
        [FAULT_DIED] = HANG_DEAD,     [FAULT_STOPPED] = HANG_STOPPED, [FAULT_LOCK] = HANG_LOCK,
        [FAULT_LOADER] = HANG_LOADER, [FAULT_STORAGE] = HANG_STORAGE, [FAULT_CUDA_CALL] = HANG_CUDA,
        [FAULT_ENDED] = HANG_FINISHED};
    job->fault = fault;
    job->culprit = (uint32_t)job_random(job, job->count);
    struct rank *rank = &job->ranks[job->culprit];
    size_t i = 0;
    if (!find_place(job, rank, fault, &i))
        return false;
    struct action *action = &rank->program[i], copy = *action;
    switch (fault) {
    case FAULT_OPERATION:
    case FAULT_SIZE:
    case FAULT_DATATYPE:
        change(action, fault);
        break;
    case FAULT_SKIPPED:
        memmove(action, action + 1, (rank->length-- - i - 1) * sizeof *action);
        break;
    case FAULT_EXTRA:
        add_action(rank, copy);
        action = &rank->program[i];
        memmove(action + 1, action, (rank->length - i - 1) * sizeof *action);
        break;
    case FAULT_ORDER:
        *action = action[-1];
        action[-1] = copy;
        break;
    case FAULT_KERNEL:
        action->is_endless = true;
        break;
    case FAULT_LINK:
    case FAULT_NCCL:
        break_group(job, rank, i);
        break;
    default:
        rank->stop = i;
        rank->where = wheres[fault];
    }
    return true;
}

/* Running: hosts enqueue until they wait or stop; items start and end when they can. */

struct work {
    uint32_t *ranks;
    size_t count, capacity;
};

static void start(struct job *job, uint32_t number, struct work *work);

static void end(struct job *job, uint32_t number, struct work *work)
{
    struct item *item = &job->items[number];
    item->has_ended = true;
    if (--job->ranks[item->rank].open == 0)
        *XADD(work->ranks, work->count, work->capacity) = item->rank;
    for (uint32_t i = 0; i < job->items[number].user_count; i++) {
        uint32_t user = job->items[number].users[i];
        if (--job->items[user].waits == 0)
            start(job, user, work);
    }
}

static bool is_same(const struct action *a, const struct action *b)
{
    return a->operation == b->operation && a->bytes == b->bytes && a->datatype == b->datatype;
}

static void start_pair(struct job *job, uint32_t number, struct work *work)
{
    struct item *item = &job->items[number];
    const struct group *group = &job->groups[item->action.group];
    bool is_send = item->action.operation == COLLECTIVE_SEND;
    uint32_t peer = group->members[item->action.peer];
    uint64_t key = collective_mix(collective_mix(hash_mix(item->action.group), is_send ? item->rank : peer),
                                  (uint64_t)(is_send ? peer : item->rank) << 32 | item->place);
    uint32_t other = int_map_exchange(&job->sends, key, number);
    if (other == MAP_NONE)
        return;
    end(job, number, work);
    end(job, other, work);
}

static void start(struct job *job, uint32_t number, struct work *work)
{
    struct item *item = &job->items[number];
    item->has_started = true;
    if (item->action.what == KERNEL) {
        if (!item->action.is_endless)
            end(job, number, work);
        return;
    }
    if (item->action.peer != LIVE_NO_PEER) {
        start_pair(job, number, work);
        return;
    }
    struct group *group = &job->groups[item->action.group];
    if (item->place >= group->capacity) {
        size_t before = group->capacity, same = group->capacity;
        group->arrived = xgrow(group->arrived, &group->capacity, item->place + 1, sizeof *group->arrived);
        group->arrived_count =
            xgrow(group->arrived_count, &same, item->place + 1, sizeof *group->arrived_count);
        for (size_t i = before; i < group->capacity; i++)
            group->arrived[i] = NO_ITEM, group->arrived_count[i] = 0;
    }
    item->next = group->arrived[item->place];
    group->arrived[item->place] = number;
    if (++group->arrived_count[item->place] < group->count ||
        (item->action.group == job->broken_group && item->place == job->broken_place))
        return;
    for (uint32_t i = number; i != NO_ITEM; i = job->items[i].next)
        if (!is_same(&job->items[i].action, &job->items[number].action))
            return; /* it may also end with wrong data in reality */
    uint64_t place = item->place;
    for (uint32_t i = group->arrived[place], next; i != NO_ITEM; i = next) {
        next = job->items[i].next;
        end(job, i, work);
    }
}

static void depend(struct job *job, uint32_t number, uint32_t on)
{
    if (on == NO_ITEM || job->items[on].has_ended)
        return;
    struct item *before = &job->items[on];
    if (before->user_count == STREAMS * 4)
        abort();
    before->users[before->user_count++] = number;
    job->items[number].waits++;
}

static uint64_t next_place(struct job *job, uint32_t r, const struct action *action)
{
    struct group *group = &job->groups[action->group];
    if (action->peer == LIVE_NO_PEER)
        for (uint32_t i = 0; i < group->count; i++)
            if (group->members[i] == r)
                return group->entered[i]++;
    uint64_t ordinal = 0;
    for (size_t i = 0; i < job->ranks[r].item_count; i++) {
        const struct action *other = &job->items[job->ranks[r].items[i]].action;
        ordinal += other->what == CALL && other->group == action->group &&
                   other->operation == action->operation && other->peer == action->peer;
    }
    return ordinal;
}

static void enqueue(struct job *job, uint32_t r, const struct action *action, struct work *work)
{
    struct rank *rank = &job->ranks[r];
    uint32_t number = (uint32_t)job->item_count;
    uint64_t place = action->what == CALL ? next_place(job, r, action) : 0;
    *XADD(job->items, job->item_count, job->item_capacity) =
        (struct item){.action = *action, .place = place, .waits = 1, .next = NO_ITEM, .rank = r};
    *XADD(rank->items, rank->item_count, rank->item_capacity) = number;
    rank->open++;
    /* Compute waits for what was received and reduced, but the gradients' collectives overlap with it. */
    depend(job, number, rank->last[action->stream]);
    if (action->stream == COMPUTE) {
        depend(job, number, rank->last[TENSOR]);
        depend(job, number, rank->last[PIPELINE_IN]);
        if (job->shape.is_sharded || job_random(job, 2))
            depend(job, number, rank->last[DATA]);
    } else {
        depend(job, number, rank->last[COMPUTE]);
        if (action->stream == PIPELINE_OUT || action->stream == DATA)
            depend(job, number, rank->last[TENSOR]);
    }
    rank->last[action->stream] = number;
    if (--job->items[number].waits == 0)
        start(job, number, work);
}

static void advance(struct job *job, uint32_t r, struct work *work)
{
    struct rank *rank = &job->ranks[r];
    for (; rank->at < rank->length && rank->at != rank->stop; rank->at++) {
        const struct action action = rank->program[rank->at];
        if (action.what == SYNC && rank->open) {
            rank->where = HANG_SYNC;
            return;
        }
        if (action.what == KERNEL || action.what == CALL)
            enqueue(job, r, &action, work);
    }
    if (rank->at == rank->length)
        rank->where = HANG_FINISHED;
    else if (rank->at == rank->stop)
        rank->where = job->fault == FAULT_DIED      ? HANG_DEAD
                      : job->fault == FAULT_STOPPED ? HANG_STOPPED
                      : job->fault == FAULT_LOCK    ? HANG_LOCK
                      : job->fault == FAULT_LOADER  ? HANG_LOADER
                      : job->fault == FAULT_STORAGE ? HANG_STORAGE
                      : job->fault == FAULT_ENDED   ? HANG_FINISHED
                                                    : HANG_CUDA;
}

bool job_run(struct job *job)
{
    struct work work = {0};
    for (uint32_t r = job->count; r > 0; r--)
        *XADD(work.ranks, work.count, work.capacity) = r - 1;
    while (work.count)
        advance(job, work.ranks[--work.count], &work);
    free(work.ranks);
    bool hangs = false;
    for (uint32_t r = 0; r < job->count; r++)
        hangs |= job->ranks[r].open || job->ranks[r].at < job->ranks[r].length;
    return hangs;
}

bool job_is_culprit(const struct job *job, uint32_t rank)
{
    return rank == job->culprit;
}

bool job_is_communicator(const struct job *job, uint64_t id)
{
    return job->broken_group != NO_GROUP && job->groups[job->broken_group].id == id;
}

/* Writing. */

static void begin_call(const struct job *job, const struct item *item, uint64_t ordinal, bool has_datatype)
{
    static const char name[] = "ncclCall";
    live_begin_call(&(struct live_start){.name = name,
                                         .name_bytes = sizeof name - 1,
                                         .communicator = job->groups[item->action.group].id,
                                         .operation = item->action.operation,
                                         .ordinal = ordinal,
                                         .bytes = item->action.bytes,
                                         .peer = item->action.peer,
                                         .datatype = has_datatype ? item->action.datatype : 0});
}

static void write_groups(const struct job *job, uint32_t r)
{
    const struct rank *rank = &job->ranks[r];
    const uint32_t groups[] = {job->world,           rank->tensor_group, rank->data_group,
                               rank->pipeline_group, rank->next_group,   rank->previous_group};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        const struct group *group = groups[i] == NO_GROUP ? NULL : &job->groups[groups[i]];
        for (uint32_t m = 0; group && m < group->count; m++)
            if (group->members[m] == r)
                live_note_communicator(group->id, group->count, m, 1);
    }
}

static void write_look(const struct rank *rank, int32_t pid)
{
    const char *name = rank->where == HANG_SYNC   ? "cudaStreamSynchronize"
                       : rank->where == HANG_CUDA ? "cudaMalloc"
                                                  : NULL;
    bool is_over = rank->where == HANG_DEAD || rank->where == HANG_FINISHED || rank->where == HANG_STOPPED;
    struct live_look look = {.watch = rank->where == HANG_FINISHED ? LIVE_OVER
                                      : is_over                    ? LIVE_MOVING
                                                                   : LIVE_STALLED,
                             .looked_ns = 9000000000,
                             .moved_ns = is_over ? 9000000000 : 1000000000,
                             .stalled_ns = 6000000000,
                             .cuda_call_count = name != NULL};
    if (name)
        strcpy(look.cuda_calls[0].name, name);
    look.cuda_calls[0].thread = (uint32_t)pid;
    look.cuda_calls[0].since_ns = 2000000000;
    live_note_look(&look);
}

static enum live_work oldest_work(const struct job *job, const struct rank *rank)
{
    for (size_t i = 0; i < rank->item_count; i++) {
        const struct item *item = &job->items[rank->items[i]];
        if (!item->has_ended)
            return item->action.what == KERNEL ? LIVE_WORK_KERNEL : LIVE_WORK_COLLECTIVE;
    }
    return LIVE_WORK_NONE;
}

void job_write(struct job *job, uint32_t r, enum knowledge knowledge, int32_t pid, uint64_t started_ticks,
               void *memory)
{
    const struct rank *rank = &job->ranks[r];
    struct int_map ordinals = {0};
    uint64_t *given = xcalloc(rank->item_count + 1, sizeof *given);
    /* A killed rank's state is up to a second old. */
    size_t missing = rank->where == HANG_DEAD ? (size_t)job_random(job, rank->item_count + 1) : 0;
    size_t count = rank->item_count - missing;
    live_state_reset();
    live_state_begin(memory, &(struct live_identity){pid, started_ticks, r, job->count});
    write_groups(job, r);
    for (size_t i = 0; i < count; i++) {
        const struct item *item = &job->items[rank->items[i]];
        if (item->action.what != CALL)
            continue;
        uint64_t key = collective_mix(collective_mix(hash_mix(item->action.group), item->action.operation),
                                      (uint32_t)item->action.peer);
        uint32_t ordinal = int_map_get(&ordinals, key);
        given[i] = ordinal = ordinal == MAP_NONE ? 0 : ordinal + 1;
        int_map_set(&ordinals, key, ordinal);
        begin_call(job, item, ordinal, knowledge == KNOWS_DATATYPES);
        live_return_from_call();
    }
    bool has_flushed = knowledge != KNOWS_LIMITS && rank->where != HANG_DEAD &&
                       rank->where != HANG_FINISHED && rank->where != HANG_STOPPED;
    size_t known = has_flushed ? count : count - job_random(job, 6);
    for (size_t i = 0; i < known && i < count; i++) {
        const struct item *item = &job->items[rank->items[i]];
        struct live_name name = {
            .ordinal = given[i], .operation = item->action.operation, .peer = item->action.peer};
        if (item->action.what != CALL)
            continue;
        name.communicator = job->groups[item->action.group].id;
        if (knowledge != KNOWS_LIMITS)
            live_note_launch(&name, 0);
        if (item->has_ended)
            live_note_end(name.communicator, name.operation, name.ordinal, name.peer);
    }
    if (has_flushed)
        live_note_flush(
            &(struct live_flush){.began_ns = clock_monotonic_ns(), .work = oldest_work(job, rank)});
    write_look(rank, pid);
    int_map_deinit(&ordinals);
    free(given);
}

void job_add_facts(const struct job *job, uint32_t r, struct hang_rank *to)
{
    if (to->where == HANG_HOST)
        to->where = job->ranks[r].where;
}
