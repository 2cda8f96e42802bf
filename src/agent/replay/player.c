/* Plays the timeline: one real thread for each recorded thread, from its first event to its last.
 *
 * Players stay together: none is more than SKEW_MAX events ahead of the slowest, so a replay keeps the
 * recorded order of threads within that distance. An activity record is delivered only after everything
 * before it has happened. */
#include "agent/recording/replay_seam.h"

#include "base/clock.h"
#include "model/cuda/calls.h"

#include "agent/replay/play/replay_callbacks.h"
#include "agent/replay/state/faults.h"
#include "agent/replay/play/replay_records.h"
#include "agent/replay/play/annotations.h"
#include "agent/replay/state/replay_state.h"
#include "agent/replay/state/host_watch.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define SKEW_MAX      4096
#define WAIT_NS       50000 /* polling interval */
#define STUCK_NS      (30 * NS_PER_SECOND)
#define PROGRESS_NS   (200 * NS_PER_MS)
#define STACK_BYTES   (512 * 1024)
#define TID_STEP      4194304 /* above all thread IDs of Linux */
#define POSITION_DONE UINT64_MAX

struct player {
    const struct timeline_thread *thread;
    size_t begin, end; /* range of the thread's items */
    uint64_t tid;
    struct player *before; /* plays the previous part of the thread */
    pthread_t pthread;
    _Atomic bool is_started;
    bool is_joined;
    uint64_t *call_data;       /* by depth */
    _Atomic uint64_t position; /* number of its next item; or POSITION_DONE */
};

static struct player *players; /* by their first item */
static size_t player_count;
static _Atomic size_t first_unfinished; /* all players before this one have finished */
static _Atomic uint64_t slowest;        /* cached; never too high */
static _Atomic uint64_t reached;        /* highest item played, + 1 */
static _Atomic size_t steps_played;
static _Atomic uint64_t records_at; /* cached replay_records_position() */
static _Atomic bool is_stuck;
static _Atomic bool is_abandoned;
static _Atomic bool has_failed; /* FAULT_FATAL */
static bool is_paced;
static uint64_t run_shift_ns; /* of this run's first repetition */
static uint64_t wall_start_ns;
static _Atomic uint64_t calls, calls_off, resources, started;

static _Thread_local struct player *self;
static _Thread_local uint64_t self_time_ns;

REPLAY_EXPORT const char cuspan_cupti_stand_in = 1;
REPLAY_EXPORT cuspan_replay_clock_fn cuspan_replay_clock;
REPLAY_EXPORT cuspan_replay_thread_fn cuspan_replay_thread;
REPLAY_EXPORT cuspan_replay_run_fn cuspan_replay_run;

uint64_t cuspan_replay_clock(void)
{
    return self ? self_time_ns : atomic_load_explicit(&replay.latest_ns, memory_order_relaxed);
}

int cuspan_replay_thread(uint64_t *tid, char name[THREAD_NAME_BYTES])
{
    if (!self)
        return 0;
    *tid = self->tid;
    memcpy(name, self->thread->name, THREAD_NAME_BYTES);
    return 1;
}

static uint64_t find_slowest(void)
{
    uint64_t low = POSITION_DONE;
    size_t first = atomic_load(&first_unfinished);
    for (size_t i = first; i < player_count; i++) {
        uint64_t position = atomic_load(&players[i].position);
        if (position == POSITION_DONE && i == first &&
            atomic_compare_exchange_strong(&first_unfinished, &first, first + 1))
            first++;
        if (position < low)
            low = position;
        if (!atomic_load(&players[i].is_started))
            break; /* later ones start even later */
    }
    replay_raise(&slowest, low);
    return low;
}

/* Records without a time are due at once. */
static uint64_t wall_due_ns(uint64_t order_ns)
{
    if (order_ns < replay.timeline.first_ns)
        order_ns = replay.timeline.first_ns;
    return wall_start_ns + (order_ns + replay.shift.time_ns - run_shift_ns - replay.timeline.first_ns);
}

static void wait_until(uint64_t wall_ns)
{
    struct timespec time = {.tv_sec = (time_t)(wall_ns / NS_PER_SECOND),
                            .tv_nsec = (long)(wall_ns % NS_PER_SECOND)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR) {
    }
}

/* The next boundary between steps. It waits for everything before it, and everything after it waits: a call
 * must not reach the agent in the wrong step. */
static uint64_t next_step(void)
{
    size_t played = atomic_load_explicit(&steps_played, memory_order_acquire);
    return played < replay.timeline.step_count ? replay.timeline.threads[0].items[played].index : UINT64_MAX;
}

static bool may_play(uint64_t index)
{
    uint64_t step = next_step();
    if (index >= step)
        return index == step && find_slowest() >= index;
    uint64_t low = atomic_load_explicit(&slowest, memory_order_relaxed);
    uint64_t records = atomic_load_explicit(&records_at, memory_order_relaxed);
    if (index > low && index - low > SKEW_MAX)
        low = find_slowest();
    return (index <= low || index - low <= SKEW_MAX) && (index <= records || index - records <= SKEW_MAX);
}

/* Tracks since when a waiting thread has seen no progress. */
struct patience {
    uint64_t since_ns;
    uint64_t seen;
};

/* Waits briefly. False: the replay is abandoned, for example because the agent accepts nothing any more. */
static bool wait_a_moment(struct patience *patience)
{
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t seen = atomic_load(&reached) + atomic_load(&records_at);
    if (patience->since_ns == 0 || seen != patience->seen)
        *patience = (struct patience){now_ns, seen};
    if (now_ns - patience->since_ns > STUCK_NS)
        atomic_store(&is_stuck, true);
    if (atomic_load(&is_stuck) || atomic_load(&is_abandoned))
        return false;
    replay_sleep_ns(WAIT_NS * (1 + player_count / 16)); /* find_slowest() looks at all players */
    return true;
}

static bool wait_for_turn(const struct item *item)
{
    struct patience patience = {0};
    if (is_paced)
        wait_until(wall_due_ns(item->order_ns));
    while (!is_paced && (!may_play(item->index) || !replay_has_room())) {
        if (!wait_a_moment(&patience))
            return false;
    }
    return !atomic_load_explicit(&is_abandoned, memory_order_relaxed);
}

static void play_call(struct player *player, const struct item *item)
{
    replay_call = item->call->correlation_id;
    uint64_t *data = &player->call_data[(size_t)item->depth * SUBSCRIBERS_MAX];
    if (item->type == ITEM_ENTER) {
        const struct call_info *info = call_info(item->call->head.domain, item->call->head.cbid);
        memset(data, 0, SUBSCRIBERS_MAX * sizeof *data);
        if (info && info->has_activity)
            replay_records_expect();
    }
    bool is_taken = replay_callbacks_call(item, data);
    if (item->type == ITEM_EXIT)
        atomic_fetch_add_explicit(is_taken ? &calls : &calls_off, 1, memory_order_relaxed);
}

static void play_step(const struct step_boundary *step)
{
    annotations_step(step);
    atomic_fetch_add_explicit(&steps_played, 1, memory_order_release);
}

static void play(struct player *player, const struct item *item)
{
    self_time_ns = replay_time(item->time_ns);
    replay_reach(self_time_ns);
    if (item->type == ITEM_RESOURCE)
        atomic_fetch_add_explicit(&resources, replay_callbacks_resource(item->resource),
                                  memory_order_relaxed);
    else if (item->type == ITEM_SAID)
        annotations_play(item->annotation);
    else if (item->type == ITEM_STEP)
        play_step(item->step);
    else
        play_call(player, item);
    replay_call = 0;
    if (fault(FAULT_FATAL) && item->index + 1 >= fault(FAULT_FATAL) && !atomic_exchange(&has_failed, true))
        replay_callbacks_fatal();
    replay_raise(&reached, item->index + 1);
}

static void *run_player(void *argument)
{
    struct player *player = argument;
    self = player;
    host_watch_host_thread();
    pthread_setname_np(pthread_self(), player->thread->name);
    for (size_t i = player->begin; i < player->end; i++) {
        const struct item *item = &player->thread->items[i];
        atomic_store(&player->position, item->index);
        if (!wait_for_turn(item))
            break;
        play(player, item);
    }
    atomic_store(&player->position, POSITION_DONE);
    return NULL;
}

static int compare_players(const void *a, const void *b)
{
    const struct player *one = a, *other = b;
    uint64_t first = one->thread->items[one->begin].index, second = other->thread->items[other->begin].index;
    return first < second ? -1 : first > second;
}

/* Splits a thread into parts of about `items` items, at points where no call is open. */
static bool add_players(const struct timeline_thread *thread, size_t items)
{
    size_t begin = 0;
    for (size_t i = 1; i <= thread->item_count; i++) {
        const struct item *last = &thread->items[i - 1];
        bool is_cut = last->depth == 0 && last->type != ITEM_ENTER && i - begin >= items;
        if (!is_cut && i < thread->item_count)
            continue;
        struct player *larger = realloc(players, (player_count + 1) * sizeof *players);
        if (!larger)
            return false;
        players = larger;
        uint64_t part = begin ? player_count * TID_STEP : 0;
        players[player_count++] =
            (struct player){.thread = thread, .begin = begin, .end = i, .tid = thread->tid + part};
        begin = i;
    }
    return true;
}

static void prepare_player(struct player *player)
{
    atomic_store(&player->is_started, false);
    player->is_joined = false;
    atomic_store(&player->position, player->thread->items[player->begin].index);
}

static enum status make_players(struct error *err)
{
    size_t item_count = 0, items = SIZE_MAX;
    const struct timeline *timeline = &replay.timeline;
    for (size_t t = 0; t < timeline->thread_count; t++)
        item_count += timeline->threads[t].item_count;
    if (fault(FAULT_THREADS))
        items = item_count / fault(FAULT_THREADS) + 1;
    bool is_done = true;
    player_count = 0;
    for (size_t t = 0; t < timeline->thread_count && is_done; t++)
        is_done = add_players(&timeline->threads[t], items);
    if (player_count > 0)
        qsort(players, player_count, sizeof *players, compare_players);
    for (size_t i = 0; i < player_count && is_done; i++) {
        players[i].call_data =
            calloc((size_t)players[i].thread->depth_max + 1, SUBSCRIBERS_MAX * sizeof(uint64_t));
        is_done = players[i].call_data != NULL;
        for (size_t j = i; j > 0 && !players[i].before; j--) {
            if (players[j - 1].thread == players[i].thread)
                players[i].before = &players[j - 1];
        }
    }
    return is_done ? STATUS_OK
                   : error_set(err, STATUS_NO_MEMORY, "cannot allocate memory for the replay's threads");
}

static void free_players(void)
{
    for (size_t i = 0; i < player_count; i++)
        free(players[i].call_data);
    free(players);
    players = NULL;
    player_count = 0;
}

static void join(struct player *player)
{
    if (atomic_load(&player->is_started) && !player->is_joined)
        pthread_join(player->pthread, NULL);
    player->is_joined = true;
}

static bool start(struct player *player)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    atomic_store(&player->is_started, true); /* before it starts, because it reads this itself */
    bool is_started = pthread_create(&player->pthread, &attr, run_player, player) == 0;
    pthread_attr_destroy(&attr);
    if (!is_started) {
        atomic_store(&player->is_started, false);
        atomic_store(&is_abandoned, true);
    }
    atomic_fetch_add(&started, is_started);
    return is_started;
}

/* In a paced replay a record is not due before its time, even if all calls before it have been made. */
static bool is_early(uint64_t order_ns)
{
    return is_paced && clock_monotonic_ns() < wall_due_ns(order_ns);
}

/* Like CUPTI's worker thread: fills and delivers independently of the host threads. */
static void *run_worker(void *unused)
{
    struct patience patience = {0};
    uint64_t order_ns, low, position;
    bool goes_on = true;
    while (goes_on && (position = replay_records_position(&order_ns)) != POSITION_DONE) {
        atomic_store(&records_at, position);
        low = find_slowest();
        if (position < low && !is_early(order_ns) && replay_records_fill(is_paced ? position + 1 : low))
            replay_reach(replay_time(order_ns));
        else if (is_paced || position >= low) /* waiting, but not for the agent */
            replay_sleep_ns(WAIT_NS);
        else
            goes_on = wait_a_moment(&patience);
        goes_on = goes_on && !atomic_load(&is_stuck) && !atomic_load(&is_abandoned);
    }
    atomic_store(&records_at, POSITION_DONE);
    return NULL;
}

struct progress {
    const struct replay_options *options;
    uint64_t done_before; /* in earlier repetitions */
    uint64_t total;
    uint64_t shown_ns;
};

static void show_progress(struct progress *progress, bool is_end)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (!progress->options->progress || (!is_end && now_ns - progress->shown_ns < PROGRESS_NS))
        return;
    uint64_t done = is_end ? progress->total : progress->done_before + atomic_load(&reached);
    progress->shown_ns = now_ns;
    progress->options->progress(progress->options->progress_context, done, progress->total);
}

/* Joins finished threads so that thousands of them do not keep their stacks. */
static void join_finished(size_t until)
{
    for (size_t i = 0; i < until; i++) {
        if (!players[i].is_joined && atomic_load(&players[i].position) == POSITION_DONE)
            join(&players[i]);
    }
}

/* Whether everything before the player's first event has been played, or the replay ended. */
static bool is_due(const struct player *player)
{
    uint64_t first = player->thread->items[player->begin].index;
    if (player->before && atomic_load(&player->before->position) != POSITION_DONE)
        return false;
    return atomic_load(&reached) >= first || find_slowest() >= first;
}

static enum status play_once(struct progress *progress, struct error *err)
{
    pthread_t worker;
    uint64_t order_ns;
    for (size_t i = 0; i < player_count; i++)
        prepare_player(&players[i]);
    atomic_store(&first_unfinished, 0);
    atomic_store(&slowest, 0);
    atomic_store(&reached, 0);
    atomic_store(&steps_played, 0);
    replay_records_rewind();
    atomic_store(&records_at, replay_records_position(&order_ns));
    if (pthread_create(&worker, NULL, run_worker, NULL) != 0)
        return error_set(err, STATUS_NO_MEMORY, "cannot start a thread");
    for (size_t i = 0; i < player_count && !atomic_load(&is_abandoned) && !atomic_load(&is_stuck); i++) {
        while (!is_due(&players[i]) && !atomic_load(&is_stuck)) {
            replay_sleep_ns(WAIT_NS);
            join_finished(i);
            show_progress(progress, false);
        }
        start(&players[i]);
    }
    while (find_slowest() != POSITION_DONE && !atomic_load(&is_abandoned) && !atomic_load(&is_stuck)) {
        replay_sleep_ns(WAIT_NS);
        show_progress(progress, false);
    }
    for (size_t i = 0; i < player_count; i++)
        join(&players[i]);
    pthread_join(worker, NULL);
    if (atomic_load(&is_stuck))
        return error_set(err, STATUS_TIMEOUT, "the agent accepted nothing for %d s; replay aborted",
                         (int)(STUCK_NS / NS_PER_SECOND));
    if (atomic_load(&is_abandoned))
        return error_set(err, STATUS_NO_MEMORY, "cannot start a thread");
    return STATUS_OK;
}

static void fill_result(struct replay_result *result)
{
    struct replay_records_counts records = replay_records_counts();
    *result = (struct replay_result){
        .calls = atomic_load(&calls),
        .calls_off = atomic_load(&calls_off),
        .resources = atomic_load(&resources),
        .activities = records.filled,
        .activities_off = records.off,
        .activities_dropped = records.dropped,
        .threads = atomic_load(&started),
        .wall_ns = clock_monotonic_ns() - wall_start_ns,
        .first_ns = replay.timeline.first_ns + run_shift_ns,
        .last_ns = replay_time(replay.timeline.last_ns),
    };
}

/* Handlers run in reverse order: one registered after the agent has started runs before the agent's. */
static void follow_exit(void)
{
    static bool follows;
    if (fault(FAULT_EXITS_FIRST) && !follows)
        atexit(replay_leave);
    follows = true;
}

enum status cuspan_replay_run(const struct replay_options *options, struct replay_result *result,
                              struct error *err)
{
    if (!replay.is_loaded)
        return error_set(err, STATUS_INVALID, "no recording is loaded");
    static uint32_t played; /* in earlier runs; time continues from there */
    uint32_t repeat = options->repeat ? options->repeat : 1;
    struct progress progress = {.options = options, .total = replay.timeline.index_count * repeat};
    follow_exit();
    is_paced = options->is_paced;
    replay_set_patient(!options->is_paced && !options->overload);
    wall_start_ns = clock_monotonic_ns();
    enum status status = make_players(err);
    for (uint32_t i = 0; i < repeat && status == STATUS_OK; i++) {
        replay_repeat(played++);
        if (i == 0)
            run_shift_ns = replay.shift.time_ns;
        status = play_once(&progress, err);
        progress.done_before += replay.timeline.index_count;
    }
    replay_reach(replay_time(replay.timeline.last_ns));
    free_players();
    if (status == STATUS_OK)
        show_progress(&progress, true);
    fill_result(result);
    return status;
}

/* At process exit, no buffer may be in flight. */
__attribute__((destructor)) static void leave(void)
{
    replay_records_join();
}
