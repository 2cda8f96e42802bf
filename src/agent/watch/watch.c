#include "agent/watch/watch.h"

#include "agent/watch/children.h"
#include "agent/watch/hang_report.h"
#include "agent/watch/live_file.h"
#include "agent/watch/live_memory.h"
#include "base/accounting/counters.h"
#include "base/clock.h"
#include "base/log/log.h"
#include "base/process/agent_thread.h"
#include "base/process/cpu_time.h"
#include "model/hang/stall.h"
#include "model/step.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define STACK_BYTES    (512 * 1024)
#define STOP_NS        (200 * NS_PER_MS)
#define SECOND_LOOK_NS (500 * NS_PER_MS) /* between the first two looks at threads, at least */

/* Memory for a stall. Its pages become resident only then. */
struct buffers {
    struct live_view view;
    struct thread_stacks stacks[2];
    struct hang_report brief, full;
    struct hardware hardware;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool is_stopping; /* guarded by the lock */
    bool is_running;
    pthread_t thread;
    struct watch_options options;
    struct live_header *live;
    struct guarded_fd memory;
    struct buffers *buffers;
    /* Only for the watch thread. */
    struct live_file file;
    struct stall stall;
    struct children children;
    struct live_look look;
    uint64_t call_ids[LIVE_CUDA_CALLS]; /* of look.cuda_calls */
    uint32_t latest;                    /* index of the later look in buffers->stacks */
    uint64_t
        flushed_ns; /* when a flush was requested, as if no look had missed; 0: not since something moved */
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER, .memory = {.number = -1}};

static bool sleep_or_stop(uint64_t ns)
{
    struct timespec until = clock_timespec(clock_monotonic_ns() + ns);
    pthread_mutex_lock(&watch.lock);
    if (!watch.is_stopping)
        pthread_cond_timedwait(&watch.wake, &watch.lock, &until);
    bool is_stopping = watch.is_stopping;
    pthread_mutex_unlock(&watch.lock);
    return is_stopping;
}

/* Lists the CUDA calls in progress. Those that the previous look had keep their time. */
static void look_at_calls(uint64_t now_ns)
{
    struct watch_call calls[LIVE_CUDA_CALLS];
    struct live_look before = watch.look;
    uint64_t ids[LIVE_CUDA_CALLS];
    memcpy(ids, watch.call_ids, sizeof ids);
    watch.look.cuda_call_count = watch.options.find_calls(calls);
    for (uint32_t i = 0; i < watch.look.cuda_call_count; i++) {
        struct live_cuda_call *call = &watch.look.cuda_calls[i];
        *call = (struct live_cuda_call){.since_ns = now_ns, .thread = calls[i].thread, .cbid = calls[i].cbid};
        snprintf(call->name, sizeof call->name, "%s", calls[i].name);
        watch.call_ids[i] = calls[i].id;
        for (uint32_t n = 0; n < before.cuda_call_count; n++)
            if (before.cuda_calls[n].thread == call->thread && before.cuda_calls[n].cbid == call->cbid &&
                ids[n] == calls[i].id)
                call->since_ns = before.cuda_calls[n].since_ns;
    }
}

static bool is_in_nccl(void)
{
    const struct live_nccl_call *calls =
        (const struct live_nccl_call *)(const void *)((const uint8_t *)watch.live +
                                                      watch.live->nccl_calls_at);
    for (uint32_t i = 0; i < LIVE_NCCL_CALLS; i++)
        if (atomic_load_explicit(&calls[i].since_ns, memory_order_relaxed))
            return true;
    return false;
}

/* The same end has always the same time: a change is a movement. One in the future is of a clock that was set
 * back, and forgotten. */
static uint64_t gpu_ended_ns(struct live_header *live)
{
    static uint64_t end_ns, ended_ns;
    uint64_t latest_ns = atomic_load_explicit(&live->gpu_end_ns, memory_order_relaxed);
    uint64_t time_ns = clock_now_ns(), now_ns = clock_monotonic_ns();
    if (latest_ns > time_ns + NS_PER_SECOND)
        (void)atomic_compare_exchange_strong(&live->gpu_end_ns, &latest_ns, 0);
    else if (latest_ns && latest_ns != end_ns)
        ended_ns = latest_ns < time_ns ? now_ns - (time_ns - latest_ns) : now_ns;
    end_ns = latest_ns;
    return ended_ns;
}

static struct stall_look take_look(void)
{
    struct live_progress progress[LIVE_COMMUNICATORS];
    uint32_t count = live_get_progress(progress);
    struct live_header *live = watch.live;
    struct stall_look look = {
        .now_ns = clock_monotonic_ns(),
        .enqueued = atomic_load_explicit(&live->left_out_calls, memory_order_relaxed),
        .steps = atomic_load_explicit(&live->steps, memory_order_acquire),
        .step_kind = STEP_NONE,
        .gpu_ended_ns = gpu_ended_ns(live),
    };
    if (look.steps)
        look.step_kind = atomic_load_explicit(&live->step_kind, memory_order_relaxed);
    for (uint32_t i = 0; i < count; i++)
        look.enqueued += progress[i].enqueued;
    look_at_calls(look.now_ns);
    children_look(&watch.children, look.now_ns);
    look.is_in_call = watch.look.cuda_call_count || is_in_nccl();
    return look;
}

static void store(const struct stall_look *look, enum live_watch state)
{
    watch.look.watch = state;
    watch.look.looked_ns = look->now_ns;
    watch.look.moved_ns = watch.stall.moved_ns;
    watch.look.stalls = watch.stall.stalls;
    watch.look.stalled_ns = state == LIVE_STALLED ? watch.stall.stalled_ns
                            : state == LIVE_STILL ? stall_since_ns(&watch.stall)
                                                  : 0;
    watch.look.gpu_ended_ns = look->gpu_ended_ns;
    watch.look.realtime_offset_ns = (int64_t)(clock_read_ns(CLOCK_REALTIME) - clock_monotonic_ns());
    live_note_look(&watch.look);
    (void)live_file_write(&watch.file, watch.live);
}

static bool is_waiting(const struct stall_look *look)
{
    struct live_progress progress[LIVE_COMMUNICATORS];
    uint32_t count = live_get_progress(progress);
    bool is_waiting = look->is_in_call || look->step_kind != STEP_NONE;
    for (uint32_t i = 0; i < count; i++)
        is_waiting |= progress[i].completed < progress[i].enqueued;
    return is_waiting;
}

/* Where threads are, for readers of the live state: the main thread and those in a call before others. */
static void note_lines(const struct thread_stacks *stacks, const struct live_view *view)
{
    char line[STACK_FILE_BYTES + STACK_NAME_BYTES + 32];
    uint32_t used = 0;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; stacks && i < stacks->count && used < LIVE_THREAD_LINES; i++) {
            const struct thread_stack *thread = &stacks->threads[i];
            bool is_first = thread->tid == view->pid || live_view_is_in_call(view, (uint32_t)thread->tid);
            if (is_first == (pass == 0) && !thread->is_ours &&
                hang_report_line(stacks, thread, line, sizeof line))
                live_note_thread(used++, (uint32_t)thread->tid, line);
        }
    while (used < LIVE_THREAD_LINES)
        live_note_thread(used++, 0, "");
}

/* Once nothing has moved for so long, also on a rank that is in no call: others may wait for it. */
static void learn_more(const struct stall_look *look)
{
    struct buffers *b = watch.buffers;
    struct error err;
    if (watch.flushed_ns && watch.stall.moved_ns - watch.stall.missed_ns > watch.flushed_ns) {
        note_lines(NULL, NULL);
        watch.flushed_ns = 0;
    }
    uint64_t still_ns = look->now_ns - watch.stall.moved_ns;
    if (watch.flushed_ns || still_ns < watch.stall.after_ns || !is_waiting(look))
        return;
    watch.flushed_ns = look->now_ns - watch.stall.missed_ns;
    watch.options.request_flush();
    watch.options.ask_gpus();
    thread_stacks_look(&b->stacks[watch.latest], watch.options.stacks);
    if (live_view_of(watch.live, watch.live, LIVE_STATE_BYTES, &b->view, &err) == STATUS_OK)
        note_lines(&b->stacks[watch.latest], &b->view);
}

/* learn_more() has taken the first look. */
static void look_at_threads(void)
{
    struct thread_stacks *stacks = watch.buffers->stacks;
    uint64_t interval_ns = stall_interval_ns(&watch.stall);
    uint64_t due_ns =
        stacks[watch.latest].taken_ns + (interval_ns < SECOND_LOOK_NS ? interval_ns : SECOND_LOOK_NS);
    uint64_t now_ns = clock_monotonic_ns();
    if (now_ns < due_ns)
        (void)sleep_or_stop(due_ns - now_ns);
    watch.latest = !watch.latest;
    thread_stacks_look(&stacks[watch.latest], watch.options.stacks);
    thread_stacks_compare(&stacks[watch.latest], &stacks[!watch.latest]);
}

static void report(enum stall_event event)
{
    struct buffers *b = watch.buffers;
    struct error err;
    if (event != STALL_ENDS)
        look_at_threads();
    live_note_look(&watch.look); /* with the ends that a flush has delivered meanwhile */
    if (live_view_of(watch.live, watch.live, LIVE_STATE_BYTES, &b->view, &err) != STATUS_OK)
        return;
    if (event != STALL_ENDS)
        note_lines(&b->stacks[watch.latest], &b->view);
    children_describe(&watch.children);
    bool has_gpus = watch.options.take_gpus(&b->hardware);
    watch.options.ask_gpus(); /* for the next report */
    struct hang_facts facts = {.event = event,
                               .stall = &watch.stall,
                               .now_ns = clock_monotonic_ns(),
                               .time_ns = clock_read_ns(CLOCK_REALTIME),
                               .view = &b->view,
                               .children = &watch.children,
                               .hardware = has_gpus ? &b->hardware : NULL,
                               .stacks = &b->stacks[watch.latest]};
    hang_report_make(&facts, HANG_BRIEF_BYTES, &b->brief);
    hang_report_make(&facts, HANG_FULL_BYTES, &b->full);
    if (event != STALL_REPEATS)
        (watch.stall.is_alarm ? log_warn : log_info)("%s", b->brief.body);
    watch.options.report(&b->brief.record, &b->full.record);
}

static void *run(void *unused)
{
    prctl(PR_SET_NAME, "cuspan/watch");
    cpu_time_start(OWN_CONTROL);
    live_file_open(&watch.file, watch.options.folders, watch.options.folder_count);
    bool is_over = false;
    while (!is_over) {
        struct stall_look look = take_look();
        enum stall_event event = stall_note(&watch.stall, &look);
        learn_more(&look);
        uint64_t since_ns = stall_since_ns(&watch.stall);
        bool is_still = since_ns && look.now_ns - since_ns >= watch.stall.after_ns;
        store(&look, watch.stall.reports ? LIVE_STALLED
                     : is_still          ? LIVE_STILL
                                         : LIVE_MOVING); /* first: a report may block */
        if (event != STALL_NOTHING)
            report(event);
        is_over = sleep_or_stop(stall_interval_ns(&watch.stall));
    }
    struct live_progress progress[LIVE_COMMUNICATORS];
    struct stall_look last = take_look();
    enum stall_event event = stall_note(&watch.stall, &last);
    bool is_stalled = watch.stall.reports > 0;
    if (event == STALL_ENDS)
        report(event);
    store(&last, is_stalled ? LIVE_STALLED : LIVE_OVER);
    live_file_close(&watch.file, is_stalled || live_get_progress(progress) > 0);
    return NULL;
}

static void *take_memory(void)
{
    void *made = mmap(NULL, sizeof(struct buffers), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return made == MAP_FAILED ? NULL : made;
}

enum status watch_start(const struct watch_options *options, struct error *err)
{
    static char folders[CONTROL_PLACES_MAX][CONTROL_PATH_BYTES];
    struct live_identity identity = {.pid = getpid(),
                                     .started_ticks = live_memory_started_ticks(),
                                     .rank = options->rank,
                                     .world_size = options->world_size};
    watch.options = *options;
    watch.options.folders = folders;
    if (watch.options.folder_count > CONTROL_PLACES_MAX)
        watch.options.folder_count = CONTROL_PLACES_MAX;
    memcpy(folders, options->folders, watch.options.folder_count * sizeof *folders);
    watch.stall = (struct stall){.after_ns = options->after_ns};
    watch.buffers = take_memory();
    watch.live = watch.buffers ? live_memory_begin(&identity, &watch.memory) : NULL;
    if (!watch.live)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the hang watch");
    agent_thread_init_cond(&watch.wake);
    if (agent_thread_start(&watch.thread, STACK_BYTES, run, NULL) != 0) {
        live_state_forget();
        guarded_fd_close(&watch.memory);
        return error_set(err, STATUS_UNAVAILABLE, "cannot start the thread of the hang watch");
    }
    watch.is_running = true;
    return STATUS_OK;
}

void watch_stop(void)
{
    if (!watch.is_running)
        return;
    watch.is_running = false;
    pthread_mutex_lock(&watch.lock);
    watch.is_stopping = true;
    pthread_cond_signal(&watch.wake);
    pthread_mutex_unlock(&watch.lock);
    (void)agent_thread_end(watch.thread, STOP_NS);
}

void watch_forget(void)
{
    live_state_forget();
    watch.is_running = false;
}
