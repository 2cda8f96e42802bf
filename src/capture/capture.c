#include "capture/capture.h"

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "capture/buffers.h"
#include "capture/callbacks.h"
#include "capture/cupti.h"
#include "capture/decode.h"
#include "capture/layouts.h"
#include "capture/sdk_context.h"
#include "capture/selection.h"
#include "capture/switches.h"
#include "capture/threads.h"
#include "capture/wake.h"

#include <stdio.h>
#include <string.h>

#define NAMES_INTERVAL_NS (5 * NS_PER_SECOND)
#define SDK_INTERVAL_NS   (200 * NS_PER_MS) /* between two looks at whether libraries have come */

static struct cupti cupti;
static const struct settings *settings;
static _Atomic bool is_abandoned;
static bool (*downstream_room)(void);

static struct {
    uint64_t flush_ns, names_ns, sdk_ns;
} due;

/* --- starting
 * ------------------------------------------------------------------------------------------------------ */

/* What a player of a recording asks before each event: the same bounds as a host has, but it waits for them.
 */
static int replay_room(void)
{
    const struct host_thread *self = thread_self;
    if (self && ring_used(&self->ring) > self->ring.bytes / 2)
        return 0;
    return buffers_free() > settings->cupti.host_buffer_count / 4 && (!downstream_room || downstream_room());
}

static void connect_replay(void)
{
    if (cupti.replay_clock)
        clock_source = cupti.replay_clock;
    if (cupti.replay_thread)
        threads_set_identity(cupti.replay_thread);
    if (cupti.replay_room)
        *cupti.replay_room = replay_room;
}

static enum status take_memory(struct error *err)
{
    const struct activity_layout *kernel = layout_classic(cupti.version, ACTIVITY_KERNEL);
    uint32_t discarded_bytes = cupti.version < CUPTI_VERSION_12_9 && kernel ? kernel->bytes : 0;
    if (threads_init(settings->rings.bytes, settings->rings.total_bytes) != STATUS_OK ||
        buffers_init(settings->cupti.host_buffer_bytes, settings->cupti.host_buffer_count, discarded_bytes) !=
            STATUS_OK ||
        callbacks_init(settings->capture.parameters && settings->detail != DETAIL_SUMMARY) != STATUS_OK)
        return error_set(err, STATUS_NO_MEMORY, "no memory for rings and activity buffers");
    return STATUS_OK;
}

bool capture_is_on(void)
{
    return atomic_load_explicit(&mode_now, memory_order_relaxed) == MODE_ON;
}

bool capture_is_tracing(void)
{
    return wake_is_tracing();
}

bool capture_begin_tracing(void)
{
    return wake_begin_tracing();
}

bool capture_end_tracing(void)
{
    return wake_end_tracing();
}

bool capture_is_ending(void)
{
    return wake_is_ending();
}

void capture_set_ending(uint32_t wait_ms)
{
    wake_set_ending(wait_ms);
}

uint32_t capture_calls_under_way(void)
{
    return threads_in_call();
}

bool capture_slept_at(uint64_t time_ns)
{
    return wake_slept_at(time_ns);
}

void capture_set_session(bool is_sampled)
{
    wake_set_session(is_sampled);
}

bool capture_expects_calls(const struct settings *wanted)
{
    return selection_has_all_launches(wanted);
}

bool capture_expects_graphs(const struct settings *wanted)
{
    return selection_has_activity(wanted, ACTIVITY_GRAPH_TRACE);
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

enum status capture_start(const struct settings *frozen, const char *own_folder, bool by_program,
                          struct capture_info *info, struct error *err)
{
    settings = frozen;
    enum status status = cupti_load(settings->cupti.library, own_folder, &cupti, err);
    if (status == STATUS_OK)
        status = take_memory(err);
    if (status != STATUS_OK)
        return status;
    connect_replay();
    clock_init();
    status = switches_on(&cupti, settings, wake_is_foreseen(settings, by_program), err);
    if (status != STATUS_OK)
        return status;
    describe(info);
    wake_start(settings, cupti.replay_clock != NULL);
    return STATUS_OK;
}

/* --- pumping
 * ------------------------------------------------------------------------------------------------------- */

/* Records of as many buffers take less than a millisecond; small rings fill in two. */
#define BUFFERS_BETWEEN_DRAINS 2

struct round {
    const struct capture_sink *sink;
    size_t records;
    uint32_t fullest_percent; /* of the rings, before they were drained */
};

/* The host's threads write ticks; from here on times are ns. */
static void hand_over(const struct capture_sink *sink, const struct thread_info *thread,
                      struct record_head *head)
{
    if (head->type == RECORD_CALL || head->type == RECORD_CALL_ASLEEP) {
        bool is_asleep = head->type == RECORD_CALL_ASLEEP;
        counter_add_alone(COUNTER_calls_captured, !is_asleep);
        struct call_record *call = (struct call_record *)head;
        call->start_ns = clock_ticks_to_ns(call->start_ns);
        call->end_ns = clock_ticks_to_ns(call->end_ns);
        (is_asleep ? sink->on_call_asleep : sink->on_call)(sink->context, thread, call);
        return;
    }
    /* All others have one time, behind the head. */
    struct resource_record *record = (struct resource_record *)head;
    record->time_ns = clock_ticks_to_ns(record->time_ns);
    switch (head->type) {
    case RECORD_RESOURCE:
        sink->on_resource(sink->context, thread, record);
        break;
    case RECORD_CONTEXT:
        sink->on_context(sink->context, thread, (const struct context_record *)head);
        break;
    case RECORD_RANGE_BEGIN:
    case RECORD_RANGE_END:
    case RECORD_MARK:
        sink->on_range(sink->context, thread, (const struct range_record *)head);
        break;
    case RECORD_NAME:
        sink->on_name(sink->context, thread, (const struct name_record *)head);
        break;
    default:
        break;
    }
}

static void drain_thread(struct host_thread *thread, void *context)
{
    struct round *round = context;
    uint64_t end = ring_published(&thread->ring), found = ring_used(&thread->ring);
    uint32_t percent = (uint32_t)(found * 100 / thread->ring.bytes);
    round->fullest_percent = percent > round->fullest_percent ? percent : round->fullest_percent;
    struct record_head *head;
    while ((head = ring_peek(&thread->ring, end)) != NULL) {
        hand_over(round->sink, &thread->info, head);
        ring_release(&thread->ring);
        round->records++;
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

bool capture_has_more_buffers(void)
{
    return last_round_was_full;
}

static void drain_rings(struct round *round)
{
    clock_calibrate();
    threads_visit(drain_thread, round);
}

size_t capture_pump(const struct capture_sink *sink)
{
    struct activity_buffer *finished[CAPTURE_BUFFERS_A_ROUND];
    size_t count = 0;
    while (count < CAPTURE_BUFFERS_A_ROUND && (finished[count] = buffers_take_finished()) != NULL)
        count++;
    last_round_was_full = count == CAPTURE_BUFFERS_A_ROUND;
    struct round round = {.sink = sink};
    drain_rings(&round);
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
    return round.records + activities + count;
}

/* --- service
 * ------------------------------------------------------------------------------------------------------- */

void capture_flush_soon(void)
{
    atomic_store_explicit(&callbacks_signals.flush_soon, true, memory_order_relaxed);
}

void capture_service(uint64_t now_ns)
{
    if (atomic_load_explicit(&is_abandoned, memory_order_relaxed) || capture_failure())
        return;
    switches_follow();
    bool has_fallen_asleep = wake_service();
    bool hurry = atomic_exchange_explicit(&callbacks_signals.flush_soon, false, memory_order_relaxed) ||
                 has_fallen_asleep;
    if (now_ns >= due.flush_ns || hurry) {
        switches_flush(false);
        due.flush_ns = now_ns + settings->cupti.flush_interval_ms * NS_PER_MS;
    }
    if (now_ns >= due.sdk_ns) {
        sdk_context_look();
        due.sdk_ns = now_ns + SDK_INTERVAL_NS;
    }
    if (now_ns >= due.names_ns) {
        threads_refresh_names();
        due.names_ns = now_ns + NAMES_INTERVAL_NS;
    }
}

const char *capture_failure(void)
{
    return atomic_load_explicit(&callbacks_signals.fatal, memory_order_acquire)
               ? callbacks_signals.fatal_message
               : NULL;
}

/* --- stopping
 * ------------------------------------------------------------------------------------------------------ */

void capture_flush_finished(void)
{
    if (!atomic_load(&is_abandoned) && !capture_failure())
        switches_flush(false);
}

void capture_flush_all(void)
{
    if (!atomic_load(&is_abandoned) && !capture_failure())
        switches_flush(true);
}

static void ignore_record(void *context, const struct activity_record *record)
{
    (void)context, (void)record;
}

/* A buffer that comes when nobody takes buffers any more, on any thread. */
static void count_late(uint8_t *data, size_t valid)
{
    static atomic_flag is_counting = ATOMIC_FLAG_INIT;
    static bool said;
    while (atomic_flag_test_and_set_explicit(&is_counting, memory_order_acquire)) {
    }
    size_t records = decode_buffer(&cupti, data, valid, ignore_record, NULL);
    counter_add(COUNTER_lost_late, records);
    if (records && !said)
        log_warn("CUPTI handed over %zu records after the end: they are lost", records);
    said = said || records;
    atomic_flag_clear_explicit(&is_counting, memory_order_release);
}

static bool was_on; /* when it stopped; else what threads say of their calls is old */

static void count_open_calls(struct host_thread *thread, void *context)
{
    (void)context;
    counter_add(COUNTER_lost_in_flight, thread_calls(thread));
}

void capture_end(void)
{
    if (was_on)
        threads_visit(count_open_calls, NULL);
    buffers_end(count_late);
}

void capture_stop(void)
{
    wake_finish();
    uint8_t mode = atomic_exchange(&mode_now, MODE_OFF);
    was_on = mode == MODE_ON || mode == MODE_ENDING;
    if (!atomic_load(&is_abandoned) && !capture_failure())
        switches_off();
}

void capture_abandon(void)
{
    atomic_store(&is_abandoned, true);
    wake_stop();
    atomic_store(&mode_now, MODE_OFF);
}

void capture_set_downstream_room(bool (*downstream)(void))
{
    downstream_room = downstream;
}
