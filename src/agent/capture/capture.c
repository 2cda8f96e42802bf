#include "agent/capture/capture.h"

#include "base/accounting/invariant.h"
#include "base/clock.h"
#include "base/accounting/counters.h"
#include "base/log/log.h"
#include "agent/capture/activity/buffers.h"
#include "agent/capture/activity/kernel_texts.h"
#include "agent/capture/callbacks/callbacks.h"
#include "agent/capture/callbacks/launch_names.h"
#include "agent/capture/cupti/cupti.h"
#include "agent/capture/activity/decode.h"
#include "agent/capture/hardware/gpu_counters.h"
#include "agent/abi/layouts.h"
#include "agent/capture/nccl/nccl_replay.h"
#include "agent/capture/sleep/mode.h"
#include "agent/capture/coexist/other_tools.h"
#include "agent/capture/hardware/pm_sampling.h"
#include "agent/capture/context/publish.h"
#include "agent/capture/context/sdk_context.h"
#include "agent/capture/context/steps.h"
#include "agent/capture/cupti/selection.h"
#include "agent/capture/coexist/buffer_stall.h"
#include "agent/capture/switches.h"
#include "agent/capture/threads/threads.h"
#include "agent/capture/stacks/launch_stacks.h"
#include "agent/capture/sleep_control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_INTERVAL_NS (5 * NS_PER_SECOND)
/* While another tool records, each of our flushes completes a buffer of that tool, 4 MiB with PyTorch's
 * profiler, however few records it holds. */
#define SHARED_FLUSH_INTERVAL_NS (1 * NS_PER_SECOND)
#define RECORD_BYTES_MIN         47                /* a kernel record with the fields of the default detail */
#define SDK_INTERVAL_NS          (200 * NS_PER_MS) /* between two scans for newly loaded libraries */

static struct cupti cupti;
static const struct settings *settings;
static _Atomic bool is_abandoned;
static bool (*_Atomic downstream_room)(void);

static struct {
    uint64_t flush_ns, names_ns, sdk_ns, resume_ns;
} due;
static uint64_t flush_count;

static _Atomic bool is_released; /* CUPTI is released to another tool */
static uint64_t released_since_ns;

static void note_release(void)
{
    sleep_control_suspend();
    released_since_ns = clock_monotonic_ns();
    due.resume_ns = released_since_ns + settings->cupti.others_retry_ms * NS_PER_MS;
    counter_add(COUNTER_releases, 1);
    atomic_store(&is_released, true);
}

/* Polled by a replay before each event. A host has the same limits, but a replay waits instead of
 * dropping. */
static int replay_room(void)
{
    const struct host_thread *self = thread_known();
    if (self && ring_used(&self->ring) > self->ring.bytes / 2)
        return 0;
    bool (*has_room)(void) = atomic_load(&downstream_room);
    return buffers_free() > settings->cupti.host_buffer_count / 4 && (!has_room || has_room());
}

static void connect_replay(void)
{
    if (cupti.replay_clock)
        clock_source = cupti.replay_clock;
    if (cupti.replay_thread)
        threads_set_identity(cupti.replay_thread);
    if (cupti.replay_room)
        *cupti.replay_room = replay_room;
    if (cupti.replay_nccl)
        *cupti.replay_nccl = nccl_replay_call;
}

#define NAMES_KEPT_NS (10 * NS_PER_SECOND) /* longer than a GPU record waits, except for its call */

/* Sets up copying of kernels' names, where CUPTI does not keep them. */
static enum status take_names(struct error *err)
{
    uint64_t kept_ns = NAMES_KEPT_NS + settings->correlation.wait_ms * NS_PER_MS;
    if (cupti.version >= CUPTI_VERSION_KEEPS_NAMES || !selection_has_activity(settings, ACTIVITY_KERNEL))
        return STATUS_OK;
    decode_name = kernel_texts_find;
    bool has_counters =
        settings->counters.metrics.count > 0 || cupti.replay_clock; /* a recording may have them */
    return kernel_texts_create(kept_ns, has_counters) == STATUS_OK
               ? STATUS_OK
               : error_set(err, STATUS_NO_MEMORY, "cannot allocate memory for the names of kernels");
}

static enum status take_memory(struct error *err)
{
    const struct activity_layout *kernel = layout_classic(cupti.version, ACTIVITY_KERNEL);
    uint32_t discarded_bytes = cupti.version < CUPTI_VERSION_12_9 && kernel ? kernel->bytes : 0;
    if (threads_init(settings->rings.bytes, settings->rings.total_bytes) != STATUS_OK ||
        buffers_init(settings->cupti.host_buffer_bytes, settings->cupti.host_buffer_count, discarded_bytes) !=
            STATUS_OK ||
        callbacks_init(settings->capture.parameters && settings->detail != DETAIL_SUMMARY) != STATUS_OK)
        return error_set(err, STATUS_NO_MEMORY, "cannot allocate rings and activity buffers");
    return take_names(err);
}

bool capture_is_on(void)
{
    return atomic_load_explicit(&mode_now, memory_order_acquire) == MODE_ON;
}

const char *capture_recorded_links(const char *uuid)
{
    return cupti.replay_links ? cupti.replay_links(uuid) : NULL;
}

static void describe(struct capture_info *info)
{
    cupti_version_text(cupti.version, info->cupti_version);
    info->cupti_version_number = cupti.version;
    snprintf(info->cupti_path, sizeof info->cupti_path, "%s", cupti.path);
    info->api = switches_use_subscriber_api() ? "subscriber" : "classic";
    info->driver_version = cupti.driver_version;
    info->is_patient = cupti.replay_waits && cupti.replay_waits();
}

/* Turns capture off, on the thread that found the broken invariant. */
static void turn_off(void)
{
    mode_off();
}

/* Starts as released, because another tool was subscribed first: capture waits until that tool is gone. */
static void start_released(const struct error *why)
{
    log_warn("%s; cuspan traces nothing until CUPTI is free", why->text);
    other_tools_wait(cupti.path);
    note_release();
}

enum status capture_start(const struct settings *frozen, const char *self_env_folder,
                          struct capture_info *info, struct error *err)
{
    settings = frozen;
    const char *shared = other_tools_cupti_path();
    enum status status = cupti_load(shared ? shared : settings->cupti.library, self_env_folder, &cupti, err);
    if (status == STATUS_OK)
        status = take_memory(err);
    if (status != STATUS_OK)
        return status;
    connect_replay();
    clock_init();
    gpu_counters_start(settings, &cupti);
    pm_sampling_start(settings, &cupti);
    other_tools_join(settings, cupti.path, switches_can_share(&cupti, settings), switches_pause);
    status = switches_on(&cupti, settings, err);
    bool waits = status != STATUS_OK && switches_are_held() && other_tools_may_release();
    if (status != STATUS_OK && !waits) {
        other_tools_leave();
        return status;
    }
    invariant_on_failure(turn_off);
    describe(info);
    sleep_control_start(settings, cupti.replay_clock != NULL);
    if (waits)
        start_released(err);
    else
        other_tools_redirect(cupti.path);
    return STATUS_OK;
}

/* Decoding two buffers takes less than a millisecond; small rings fill in two milliseconds. */
#define BUFFERS_BETWEEN_DRAINS 2

/* About a millisecond. Rings are drained in slices of this time, so that a range that starts on one thread
 * and ends on another is not seen as open for as long as this thread was late. */
#define SLICE_TICKS (UINT64_C(1) << 21)

struct round {
    const struct capture_sink *sink;
    uint64_t until, next; /* end of the slice, and time of the first record after it; UINT64_MAX: none */
    size_t records;
    uint32_t fullest_percent; /* fill level of the fullest ring before the drain */
    uint32_t busy_count;
    struct host_thread *busy[THREADS_MAX]; /* threads with records that are not drained yet */
};

/* Passes a record to the sink, with its ticks converted to nanoseconds. False: the sink takes the record
 * later. */
static bool hand_over(const struct capture_sink *sink, const struct thread_info *thread,
                      struct record_head *head)
{
    if (head->type == RECORD_CALL || head->type == RECORD_CALL_ASLEEP) {
        bool is_asleep = head->type == RECORD_CALL_ASLEEP;
        counter_add_alone(COUNTER_calls_captured, !is_asleep);
        struct call_record *call = (struct call_record *)head;
        call->start_ns = clock_ticks_to_ns(call->start_ns);
        call->end_ns = clock_ticks_to_ns(call->end_ns);
        if (!is_asleep)
            sink->on_call(sink->context, thread, call);
        else if (sink->on_call_asleep)
            sink->on_call_asleep(sink->context, thread, call);
        return true;
    }
    if (head->type == RECORD_KERNEL_NAME) {
        kernel_texts_note((const struct kernel_name_record *)head);
        return true;
    }
    if (head->type == RECORD_CODE)
        return !sink->on_code || sink->on_code(sink->context, (const struct code_record *)head);
    /* All other records have a single time after the head. */
    struct resource_record *record = (struct resource_record *)head;
    record->time_ns = clock_ticks_to_ns(record->time_ns);
    switch (head->type) {
    case RECORD_RESOURCE:
        if (head->cbid == CUPTI_RESOURCE_CONTEXT_CREATED)
            counter_add_alone(COUNTER_contexts, 1);
        if (sink->on_resource)
            sink->on_resource(sink->context, thread, record);
        break;
    case RECORD_CONTEXT:
        if (sink->on_context)
            sink->on_context(sink->context, thread, (const struct context_record *)head);
        break;
    case RECORD_RANGE_BEGIN:
    case RECORD_RANGE_END:
    case RECORD_MARK:
        sink->on_range(sink->context, thread, (const struct range_record *)head);
        break;
    case RECORD_GPU_COUNTERS:
        if (sink->on_gpu_counters)
            sink->on_gpu_counters(sink->context, thread, (const struct gpu_counters_record *)head);
        break;
    case RECORD_NAME:
        if (sink->on_name)
            sink->on_name(sink->context, thread, (const struct name_record *)head);
        break;
    default:
        break;
    }
    return true;
}

static void take_steps(const struct capture_sink *sink)
{
    struct step_boundary boundary;
    uint64_t missed = 0, all_missed = 0;
    while (steps_take(&boundary, &missed)) {
        all_missed += missed;
        boundary.time = boundary.time ? clock_ticks_to_ns(boundary.time) : 0;
        if (cupti.replay_nonce)
            boundary.nonce = cupti.replay_nonce(boundary.time);
        if (sink->on_step)
            sink->on_step(sink->context, &boundary);
        free(boundary.event);
    }
    counter_add(COUNTER_steps_missed, all_missed + missed);
}

/* Returns when a record was written, in ticks. A stack of code has no time and must be delivered right before
 * the next record: for it, returns `until`. */
static uint64_t written_at(const struct record_head *head, uint64_t until)
{
    if (head->type == RECORD_CODE)
        return until;
    if (head->type == RECORD_CALL || head->type == RECORD_CALL_ASLEEP)
        return ((const struct call_record *)head)->end_ns;
    return ((const struct resource_record *)head)->time_ns;
}

static void note_next(struct round *round, uint64_t ticks)
{
    round->next = ticks < round->next ? ticks : round->next;
}

/* Drains the thread's records up to the end of the slice. False: this round is done with the thread, because
 * none of the records at its start is left, or the sink takes the next one later. */
static bool drain_slice(struct host_thread *thread, struct round *round)
{
    struct record_head *head;
    bool follows_code = false;
    while ((head = ring_peek(&thread->ring, thread->drain_end)) != NULL) {
        uint64_t ticks = written_at(head, round->until);
        if (ticks > round->until && !follows_code) {
            note_next(round, ticks);
            return true;
        }
        follows_code = head->type == RECORD_CODE;
        round->records++; /* also a record that the sink takes later, so that rounds follow sooner */
        if (!hand_over(round->sink, &thread->info, head))
            return false;
        ring_release(&thread->ring);
    }
    return false;
}

static void drain_slices(struct round *round)
{
    while (round->busy_count > 0) {
        uint32_t left = 0;
        round->until = round->next < UINT64_MAX - SLICE_TICKS ? round->next + SLICE_TICKS : UINT64_MAX;
        round->next = UINT64_MAX;
        for (uint32_t i = 0; i < round->busy_count; i++)
            if (drain_slice(round->busy[i], round))
                round->busy[left++] = round->busy[i];
        round->busy_count = left;
    }
}

static void begin_drain(struct host_thread *thread, void *context)
{
    struct round *round = context;
    thread->drain_end = ring_published(&thread->ring);
    uint32_t percent = (uint32_t)(ring_used(&thread->ring) * 100 / thread->ring.bytes);
    round->fullest_percent = percent > round->fullest_percent ? percent : round->fullest_percent;
    const struct record_head *head = ring_peek(&thread->ring, thread->drain_end);
    if (head) {
        note_next(round, written_at(head, 0));
        round->busy[round->busy_count++] = thread;
    }
    uint64_t lost = atomic_load_explicit(&thread->lost, memory_order_relaxed);
    counter_add(COUNTER_lost_ring_full, lost - thread->lost_seen);
    thread->lost_seen = lost;
    uint64_t notes = atomic_load_explicit(&thread->notes_lost, memory_order_relaxed);
    counter_add(COUNTER_notes_lost, notes - thread->notes_lost_seen);
    thread->notes_lost_seen = notes;
}

static bool last_round_was_full;
static uint32_t fullest_percent;

uint32_t capture_fullest_ring(void)
{
    return fullest_percent;
}

/* The pipeline may wait below these limits. Half of a small ring fills in a millisecond. */
#define WAIT_RING_PERCENT  50
#define WAIT_BUFFERS_SHARE 8

bool capture_can_wait(void)
{
    return threads_fullest_ring() < WAIT_RING_PERCENT &&
           buffers_free() > settings->cupti.host_buffer_count / WAIT_BUFFERS_SHARE;
}

bool capture_has_more_buffers(void)
{
    return last_round_was_full;
}

static void drain_rings(struct round *round)
{
    clock_calibrate();
    round->next = UINT64_MAX;
    round->busy_count = 0;
    threads_visit(begin_drain, round);
    take_steps(round->sink); /* after reading the rings' heads, so that no call before them misses its step */
    drain_slices(round);
    take_steps(round->sink); /* for the records of the buffers that were taken before */
}

static uint64_t buffers_taken;

void capture_watch_buffers(uint32_t waiting)
{
    static struct buffer_stall buffer_stall;
    uint64_t events =
        counter_get(COUNTER_buffers_lent) + counter_get(COUNTER_buffers_refused) + buffers_taken;
    uint64_t lent = counter_get(COUNTER_buffers_lent) - buffers_taken;
    uint64_t room = lent * (settings->cupti.host_buffer_bytes / RECORD_BYTES_MIN);
    uint64_t room_max = settings->correlation.pending_max / 4; /* the limit of calls that can wait */
    if (!buffer_stall_check(&buffer_stall, events, flush_count, waiting,
                            (uint32_t)(room < room_max ? room : room_max)))
        return;
    counter_add(COUNTER_silences, 1);
    log_warn("CUPTI returns no more buffers while %u calls wait for their GPU work; another tool probably "
             "registered its own activity buffers (PyTorch's profiler does), so GPU spans are missing from "
             "now on; start the program with cuspan run --share to get both",
             waiting);
}

size_t capture_pump(const struct capture_sink *sink)
{
    struct activity_buffer *finished[CAPTURE_BUFFERS_A_ROUND];
    size_t count = 0;
    while (count < CAPTURE_BUFFERS_A_ROUND && (finished[count] = buffers_take_finished()) != NULL)
        count++;
    buffers_taken += count;
    last_round_was_full = count == CAPTURE_BUFFERS_A_ROUND;
    struct round round;
    round.sink = sink;
    round.records = round.fullest_percent = 0;
    drain_rings(&round);
    gpu_counters_take(sink->on_gpu_counters, sink->context);
    size_t activities = 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && i % BUFFERS_BETWEEN_DRAINS == 0)
            drain_rings(&round);
        activities +=
            decode_buffer(&cupti, finished[i]->data, finished[i]->valid, sink->on_activity, sink->context);
        buffers_give_back(finished[i]);
    }
    fullest_percent = round.fullest_percent;
    counter_add(COUNTER_activities_captured, activities);
    switches_count_dropped();
    return round.records + activities + count;
}

void capture_flush_soon(void)
{
    callbacks_flush_soon();
}

const char *capture_failure(void)
{
    return atomic_load_explicit(&callbacks_signals.fatal, memory_order_acquire)
               ? callbacks_signals.fatal_message
               : NULL;
}

static bool is_cupti_usable(void)
{
    return !atomic_load(&is_abandoned) && !capture_failure();
}

void capture_service(uint64_t now_ns)
{
    if (!is_cupti_usable() || atomic_load(&is_released))
        return;
    switches_follow();
    launch_stacks_service();
    gpu_counters_service(now_ns);
    pm_sampling_follow(atomic_load(&mode_now) == MODE_ON);
    bool has_fallen_asleep = sleep_control_service();
    bool hurry = callbacks_take_flush_soon() || has_fallen_asleep;
    if (now_ns >= due.flush_ns || hurry) {
        uint64_t interval_ns = settings->cupti.flush_interval_ms * NS_PER_MS;
        if (other_tools_are_recording() && interval_ns < SHARED_FLUSH_INTERVAL_NS)
            interval_ns = SHARED_FLUSH_INTERVAL_NS;
        switches_flush(false);
        flush_count++;
        due.flush_ns = now_ns + interval_ns;
    }
    if (now_ns >= due.sdk_ns) {
        if (sdk_context_poll(publish_variable))
            publish_give_way();
        other_tools_follow();
        due.sdk_ns = now_ns + SDK_INTERVAL_NS;
    }
    if (now_ns >= due.names_ns) {
        threads_refresh_names();
        launch_stacks_look();
        due.names_ns = now_ns + NAMES_INTERVAL_NS;
    }
}

static void find_open_call(struct host_thread *thread, void *found)
{
    *(bool *)found |= thread_calls(thread) != 0;
}

/* Forgets the thread's open calls, which would look like calls in progress after capture resumes. The thread
 * no longer writes these members. */
static void forget_open_call(struct host_thread *thread, void *context)
{
    atomic_store_explicit(&thread->runtime_correlation, 0, memory_order_relaxed);
    atomic_store_explicit(&thread->is_in_driver_call, false, memory_order_relaxed);
}

static void count_open_calls(struct host_thread *thread, void *context)
{
    counter_add(COUNTER_lost_in_flight, thread_calls(thread));
}

/* Whether callbacks track calls in this mode. In others, the threads' call state is stale. */
static bool follows_calls(uint8_t mode)
{
    return mode == MODE_ON || mode == MODE_ENDING;
}

bool capture_quiet(bool at_once)
{
    bool has_open_calls = false;
    if (!is_cupti_usable())
        return true;
    bool is_on = follows_calls(atomic_load(&mode_now));
    if (is_on && !at_once)
        threads_visit(find_open_call, &has_open_calls);
    if (has_open_calls)
        return false;
    sleep_control_suspend();
    switches_quiet();
    if (is_on)
        threads_visit(count_open_calls, NULL);
    threads_visit(forget_open_call, NULL);
    return true;
}

void capture_release(void)
{
    if (!is_cupti_usable())
        return;
    gpu_counters_stop(false);
    pm_sampling_stop(false);
    switches_flush(true);
    note_release();
    switches_off();
}

bool capture_is_released(void)
{
    return atomic_load(&is_released);
}

bool capture_may_resume(uint64_t now_ns)
{
    uint64_t retry_ns = settings->cupti.others_retry_ms * NS_PER_MS;
    if (!retry_ns || !other_tools_may_release() || now_ns < due.resume_ns)
        return false;
    due.resume_ns = now_ns + retry_ns;
    return other_tools_take_back(retry_ns);
}

enum status capture_resume(struct error *err)
{
    if (!is_cupti_usable())
        return error_set(err, STATUS_UNAVAILABLE, "CUPTI is no longer usable in this process");
    if (!other_tools_take_back(0))
        return error_set(err, STATUS_UNAVAILABLE, "another tool is using CUPTI");
    launch_names_forget(); /* modules were unloaded meanwhile */
    mode_set_on_since(cupti.replay_clock ? 0 : clock_ticks());
    enum status status = switches_on_again(err);
    if (status != STATUS_OK)
        return status;
    other_tools_redirect(cupti.path);
    gpu_counters_start(settings, &cupti);
    pm_sampling_start(settings, &cupti);
    sleep_control_resume();
    atomic_store(&is_released, false);
    counter_add(COUNTER_released_ns, clock_monotonic_ns() - released_since_ns);
    return STATUS_OK;
}

bool capture_flush(bool everything)
{
    return is_cupti_usable() && !atomic_load(&is_released) && switches_flush(everything);
}

static void ignore_record(void *context, const struct activity_record *record)
{
    (void)context, (void)record;
}

/* Counts the records of a buffer that completes after capture_end(), on any thread. */
static void count_late(uint8_t *data, size_t valid)
{
    static atomic_flag is_counting = ATOMIC_FLAG_INIT;
    while (atomic_flag_test_and_set_explicit(&is_counting, memory_order_acquire)) {
    }
    size_t records = decode_buffer(&cupti, data, valid, ignore_record, NULL);
    counter_add(COUNTER_lost_late, records);
    if (records)
        log_once(log_warn, "CUPTI delivered %zu records after shutdown; they are lost", records);
    atomic_flag_clear_explicit(&is_counting, memory_order_release);
}

static bool was_on; /* capture was on at capture_stop() */

void capture_end(void)
{
    if (was_on)
        threads_visit(count_open_calls, NULL);
    decode_name = NULL; /* late records are only counted */
    buffers_end(count_late);
}

void capture_stop(void)
{
    if (atomic_load(&is_released))
        counter_add(COUNTER_released_ns, clock_monotonic_ns() - released_since_ns);
    sleep_control_finish();
    gpu_counters_stop(true);
    pm_sampling_stop(true);
    was_on = follows_calls(mode_off());
    if (is_cupti_usable())
        switches_off();
    other_tools_leave();
}

void capture_abandon(void)
{
    atomic_store(&is_abandoned, true);
    other_tools_leave();
    sleep_control_stop();
    mode_off();
}

void capture_set_downstream_room(bool (*downstream)(void))
{
    atomic_store(&downstream_room, downstream);
}
