#include "agent/replay/state/replay_state.h"

#include "base/clock.h"
#include "agent/recording/recording.h"
#include "agent/recording/replay_seam.h"

#include "agent/replay/state/faults.h"
#include "agent/replay/state/host_watch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REPEAT_GAP_NS NS_PER_MS

_Thread_local uint32_t replay_call;
_Thread_local const struct resource_record *replay_nodes;

struct replay_state replay = {.version = 130500};

static uint64_t first_correlation;
static uint64_t base_ns;              /* added to all times */
static atomic_bool is_patient = true; /* waits for the agent */

REPLAY_EXPORT extern cuspan_replay_room_fn *cuspan_replay_room;
cuspan_replay_room_fn *cuspan_replay_room;

REPLAY_EXPORT cuspan_replay_load_fn cuspan_replay_load;
REPLAY_EXPORT cuspan_replay_waits_fn cuspan_replay_waits;
REPLAY_EXPORT cuspan_replay_late_graphs_fn cuspan_replay_late_graphs;
REPLAY_EXPORT cuspan_replay_info_fn cuspan_replay_info;
REPLAY_EXPORT cuspan_replay_nonce_fn cuspan_replay_nonce;
REPLAY_EXPORT cuspan_replay_links_fn cuspan_replay_links;
REPLAY_EXPORT cuspan_replay_code_fn cuspan_replay_code;

/* cuptiGetVersion's result in each release. */
static const struct {
    const char *release;
    uint32_t version;
} versions[] = {
    {"12.0", 18},     {"12.1", 18},     {"12.2", 20},     {"12.3", 21},     {"12.4", 22},
    {"12.5", 23},     {"12.6", 24},     {"12.8", 26},     {"12.9", 28},     {"13.0", 130001},
    {"13.1", 130101}, {"13.2", 130202}, {"13.3", 130301}, {"13.4", 130401}, {"13.5", 130500},
};

static enum status read_version(struct error *err)
{
    const char *release = getenv("CUSPAN_REPLAY_VERSION");
    if (!release || !*release)
        return STATUS_OK;
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        if (strcmp(versions[i].release, release) == 0) {
            replay.version = versions[i].version;
            return STATUS_OK;
        }
    }
    return error_set(err, STATUS_INVALID,
                     "cannot imitate the CUPTI of CUDA %s; use 12.0 to 12.6, 12.8, 12.9 or 13.0 to 13.5",
                     release);
}

static enum status read_first_correlation(struct error *err)
{
    const char *text = getenv("CUSPAN_REPLAY_FIRST_CORRELATION");
    char *end = NULL;
    first_correlation = replay.timeline.correlation_min;
    if (!text || !*text)
        return STATUS_OK;
    first_correlation = strtoull(text, &end, 0);
    if (*end != '\0' || first_correlation == 0 || first_correlation > UINT32_MAX)
        return error_set(err, STATUS_INVALID,
                         "CUSPAN_REPLAY_FIRST_CORRELATION: \"%s\" is not an ID from 1 to %u", text,
                         UINT32_MAX);
    return STATUS_OK;
}

/* For viewers that show the last hour. A recording of the future keeps its times. */
static void read_base(void)
{
    const char *repetitions = getenv("CUSPAN_REPLAY_ENDS_NOW");
    uint64_t count = repetitions ? strtoull(repetitions, NULL, 10) : 0;
    uint64_t now_ns = clock_read_ns(CLOCK_REALTIME), last_ns = replay.timeline.last_ns;
    for (uint64_t i = 1; i < count && last_ns < now_ns; i++)
        last_ns += replay_length_ns();
    base_ns = count && last_ns < now_ns ? now_ns - last_ns : 0;
}

enum status cuspan_replay_load(const char *path, struct error *err)
{
    if (replay.is_loaded)
        return error_set(err, STATUS_INVALID, "%s: a recording is already loaded", path);
    enum status status = faults_parse(getenv("CUSPAN_REPLAY_FAIL"), err);
    host_watch_init();
    if (status == STATUS_OK)
        status = read_version(err);
    if (status == STATUS_OK)
        status = timeline_load(path, (uint32_t)fault(FAULT_OUT_OF_ORDER), &replay.timeline, err);
    if (status == STATUS_OK)
        status = read_first_correlation(err);
    if (status != STATUS_OK)
        return status;
    read_base();
    replay_repeat(0);
    atomic_store(&replay.latest_ns, replay_time(replay.timeline.first_ns));
    pthread_atfork(NULL, NULL, host_watch_forked_child);
    replay.is_loaded = true;
    return STATUS_OK;
}

void replay_repeat(uint32_t number)
{
    const struct timeline *timeline = &replay.timeline;
    uint64_t span = (uint64_t)timeline->correlation_max - timeline->correlation_min + 1;
    replay.shift.time_ns = base_ns + number * replay_length_ns();
    replay.shift.correlation = first_correlation + number * span;
}

void replay_set_patient(bool waits)
{
    atomic_store(&is_patient, waits);
}

void replay_finish(void)
{
    atomic_store(&replay.is_finished, true);
}

void replay_leave(void)
{
    atomic_store(&replay.is_gone, true);
}

void replay_raise(_Atomic uint64_t *at, uint64_t value)
{
    uint64_t now = atomic_load_explicit(at, memory_order_relaxed);
    while (now < value && !atomic_compare_exchange_weak(at, &now, value)) {
    }
}

void replay_reach(uint64_t time_ns)
{
    replay_raise(&replay.latest_ns, time_ns);
}

void replay_sleep_ns(uint64_t ns)
{
    struct timespec time = {.tv_sec = (time_t)(ns / NS_PER_SECOND), .tv_nsec = (long)(ns % NS_PER_SECOND)};
    if (ns)
        nanosleep(&time, NULL);
}

uint32_t replay_correlation(uint32_t recorded)
{
    if (recorded == 0)
        return 0;
    uint64_t id = replay.shift.correlation + (recorded - replay.timeline.correlation_min);
    return (uint32_t)(1 + (id - 1) % UINT32_MAX);
}

static _Atomic uint32_t first_failed; /* the first call that returned the error; 0: none */

bool replay_call_fails(uint32_t recorded, bool waits)
{
    uint32_t id = replay_correlation(recorded), first = atomic_load(&first_failed);
    if (!fault(FAULT_ASSERT) || !id)
        return false;
    if (!first && waits && id > fault(FAULT_ASSERT))
        atomic_store(&first_failed, first = id);
    return first && id >= first;
}

static atomic_bool is_failure_known;

void replay_note_failure(void)
{
    atomic_store(&is_failure_known, true);
}

bool replay_is_failure_known(void)
{
    return atomic_load(&is_failure_known);
}

bool replay_work_never_comes(uint32_t recorded)
{
    uint32_t first = atomic_load(&first_failed);
    return first && replay_correlation(recorded) > first;
}

bool replay_work_is_stopped(uint32_t recorded)
{
    return fault(FAULT_ASSERT) && replay_correlation(recorded) >= fault(FAULT_ASSERT);
}

uint64_t replay_time(uint64_t recorded)
{
    return recorded ? recorded + replay.shift.time_ns : 0;
}

bool replay_has_room(void)
{
    return !is_patient || !cuspan_replay_room || cuspan_replay_room();
}

int cuspan_replay_waits(void)
{
    return is_patient && !fault(FAULT_NO_PATIENCE);
}

int cuspan_replay_late_graphs(void)
{
    return fault(FAULT_LATE_GRAPHS) != 0;
}

const char *cuspan_replay_links(const char *uuid)
{
    return timeline_info(&replay.timeline, RECORDING_INFO_LINKS, uuid);
}

const struct code_record *cuspan_replay_code(void)
{
    return replay_nodes ? timeline_stack(&replay.timeline, replay_nodes->code)
                        : timeline_of_call(&replay.timeline.codes, replay_call);
}

static const char *list_counters(void)
{
    static char list[sizeof replay.timeline.counters + GPU_COUNTERS_MAX];
    size_t length = 0;
    for (size_t i = 0; i < replay.timeline.counter_count; i++)
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%s", i ? "," : "",
                                   replay.timeline.counters[i]);
    return length ? list : NULL;
}

const char *cuspan_replay_info(const char *key)
{
    return strcmp(key, RECORDING_INFO_GPU_COUNTER) == 0 ? list_counters()
                                                        : timeline_info(&replay.timeline, key, NULL);
}

/* The same in each repetition. */
uint64_t cuspan_replay_nonce(uint64_t time_ns)
{
    uint64_t first_ns = replay.timeline.first_ns;
    time_ns -= time_ns > base_ns ? base_ns : 0;
    if (time_ns > first_ns)
        time_ns = first_ns + (time_ns - first_ns) % replay_length_ns();
    return timeline_nonce(&replay.timeline, time_ns);
}

/* Never 0, whatever times the file has. */
uint64_t replay_length_ns(void)
{
    uint64_t length_ns = replay.timeline.last_ns - replay.timeline.first_ns;
    return length_ns < UINT64_MAX - REPEAT_GAP_NS ? length_ns + REPEAT_GAP_NS : UINT64_MAX;
}

/* For a client that only lists the chip's counters and never plays. */
__attribute__((constructor)) static void load_named(void)
{
    struct error err;
    const char *path = getenv("CUSPAN_REPLAY_CHIP");
    if (path && cuspan_replay_load(path, &err) != STATUS_OK)
        fprintf(stderr, "%s\n", err.text);
}
