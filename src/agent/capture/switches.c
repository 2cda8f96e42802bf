#include "agent/capture/switches.h"

#include "base/accounting/counters.h"
#include "base/clock.h"
#include "base/log/log.h"
#include "base/process/host_call.h"
#include "base/process/host_mutex.h"
#include "agent/capture/activity/buffers.h"
#include "agent/capture/callbacks/callbacks.h"
#include "agent/capture/activity/decode.h"
#include "agent/capture/hardware/gpu_counters.h"
#include "agent/capture/callbacks/graph_nodes.h"
#include "agent/capture/coexist/other_tools.h"
#include "agent/capture/cupti/selection.h"
#include "agent/capture/stacks/launch_stacks.h"
#include "agent/capture/activity/unified_memory.h"
#include "agent/capture/threads/threads.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#define FLUSH_WAIT_MS  1000 /* wait for another tool's flush, in a flush of everything */
#define GRAPHS_WAIT_MS 2000 /* wait for another thread that enables graph records, once, with the turn */
#define TURN_WAIT_MS   1000 /* wait for a flush or a switch that does not end, once */
#define SLICE_NS       1000000

static const struct cupti *cupti;
static const struct settings *settings;
static cupti_subscriber_handle subscriber;
static bool uses_subscriber_api;
static bool is_held_by_another;
static bool is_paused;                  /* guarded by `switching`, which the pausing thread holds */
static atomic_bool graphs_are_due;      /* enable graph records once the program starts to make a graph */
static _Atomic uint32_t graphs_refusal; /* CUPTI's result for enabling graph records, until it is logged */
static bool unified_memory_is_due; /* enable once CUDA is initialized, which the first captured call shows */

/* Held by a flush, and by a switch of records before it takes `switching`: a switch during a flush crashes
 * CUPTI or never returns (13.5; tests/gpu/programs/buffer_race.cu). Where CUPTI is shared,
 * other_tools_turn_begin() replaces this lock, and excludes the other tool's flushes, too. */
static pthread_mutex_t turns;
/* Serializes calls that enable and disable, as CUPTI requires. Held for microseconds, except when graph
 * records are enabled (0.2 to 0.4 ms). */
static pthread_mutex_t switching;
static atomic_bool is_turn_stuck; /* a wait took TURN_WAIT_MS: no further one until the turn ends */
static bool has_pause_turn;       /* guarded by `switching` */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool are_records_on;            /* guarded by `switching` */
static const char *_Atomic last_error; /* last reason for which CUPTI refused to flush or to be disabled */

static void make_mutexes(void)
{
    host_mutex_init(&switching);
    host_mutex_init(&turns);
}

/* Locks within SLICE_NS. pthread_mutex_timedlock(), unlike nanosleep(), is no cancellation point. False: not
 * locked. */
static bool lock_within_slice(pthread_mutex_t *mutex)
{
    struct timespec slice = clock_timespec(clock_read_ns(CLOCK_REALTIME) + SLICE_NS);
    return pthread_mutex_timedlock(mutex, &slice) == 0;
}

/* Takes a turn, which excludes flushes and switches by others. False: no turn. The caller then continues
 * without a turn, because a program that waits for CUPTI forever would be worse. */
static bool turn_begin(void)
{
    bool is_shared = other_tools_share();
    if (is_shared ? other_tools_turn_begin(0) : pthread_mutex_trylock(&turns) == 0)
        return true;
    uint64_t give_up_ns = clock_monotonic_ns() + TURN_WAIT_MS * NS_PER_MS;
    while (!atomic_load(&is_turn_stuck)) {
        if (is_shared ? other_tools_turn_begin(SLICE_NS / NS_PER_MS) : lock_within_slice(&turns))
            return true;
        if (clock_monotonic_ns() > give_up_ns)
            atomic_store(&is_turn_stuck, true);
    }
    return false;
}

static void turn_end(bool had_turn)
{
    if (!had_turn)
        return;
    atomic_store(&is_turn_stuck, false);
    if (other_tools_share())
        other_tools_turn_end();
    else
        pthread_mutex_unlock(&turns);
}

static bool switching_begin(void)
{
    bool has_turn = turn_begin();
    pthread_mutex_lock(&switching);
    return has_turn;
}

static void switching_end(bool had_turn)
{
    pthread_mutex_unlock(&switching);
    turn_end(had_turn);
}

static enum status fail(struct error *err, const char *what, uint32_t result)
{
    return error_set(err, STATUS_UNAVAILABLE, "CUPTI refused %s: %s; run `cuspan doctor` to find the cause",
                     what, cupti_result_text(cupti, result));
}

static bool shares(void)
{
    return uses_subscriber_api && other_tools_share();
}

/* Returns the size of the struct's version in this CUPTI, which rejects a larger one. */
static size_t params_bytes(void)
{
    return cupti->version >= CUPTI_VERSION_13_2
               ? sizeof(struct cupti_subscriber_params)
               : offsetof(struct cupti_subscriber_params, allowMultipleSubscribers);
}

static enum status subscribe(struct error *err)
{
    char holder[CUPTI_OLD_SUBSCRIBER_NAME_BYTES] = "";
    uint32_t result;
    if (cupti->cuptiSubscribe_v2) {
        struct cupti_subscriber_params params = {.structSize = params_bytes(),
                                                 .subscriberName = "cuspan",
                                                 .oldSubscriberName = holder,
                                                 .oldSubscriberSize = sizeof holder,
                                                 .allowMultipleSubscribers = shares()};
        result = cupti->cuptiSubscribe_v2(&subscriber, callbacks_handle, NULL, &params);
    } else {
        result = cupti->cuptiSubscribe(&subscriber, callbacks_handle, NULL);
    }
    is_held_by_another = result == CUPTI_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    if (is_held_by_another)
        return error_set(
            err, STATUS_UNAVAILABLE,
            "another tool (%s) already uses CUPTI in this process; run the program without it to trace it",
            *holder ? holder : "unnamed");
    return result == CUPTI_OK ? STATUS_OK : fail(err, "a subscription", result);
}

static uint32_t set_attribute(enum cupti_attr attribute, size_t size, void *value)
{
    if (uses_subscriber_api)
        return cupti->cuptiActivitySetAttribute_v2(subscriber, attribute, &size, value);
    return cupti->cuptiActivitySetAttribute(attribute, &size, value);
}

static void log_if_rejected(uint32_t result, const char *name)
{
    if (result != CUPTI_OK)
        log_debug("CUPTI rejected %s: %s", name, cupti_result_text(cupti, result));
}

static void set_size(enum cupti_attr attribute, const char *name, size_t value)
{
    log_if_rejected(set_attribute(attribute, sizeof value, &value), name);
}

static void set_flag(enum cupti_attr attribute, const char *name, bool value)
{
    uint8_t flag = value;
    log_if_rejected(set_attribute(attribute, sizeof flag, &flag), name);
}

/* Makes CUPTI use kernel thread IDs, as calls have, instead of pthread handles. */
static void set_thread_ids(void)
{
    uint32_t type = CUPTI_THREAD_ID_SYSTEM;
    log_if_rejected(uses_subscriber_api ? set_attribute(CUPTI_ATTR_THREAD_ID_TYPE, sizeof type, &type)
                                        : cupti->cuptiSetThreadIdType(type),
                    "the thread ID type");
}

static enum status set_attributes(struct error *err)
{
    if (uses_subscriber_api) {
        uint8_t yes = 1;
        uint32_t result = set_attribute(CUPTI_ATTR_USER_DEFINED_RECORDS, sizeof yes, &yes);
        if (result != CUPTI_OK)
            return fail(err, "user-defined records", result);
    }
    set_size(CUPTI_ATTR_DEVICE_BUFFER_SIZE, "device_buffer_bytes", settings->cupti.device_buffer_bytes);
    set_size(CUPTI_ATTR_DEVICE_BUFFER_POOL_LIMIT, "device_buffer_limit", settings->cupti.device_buffer_limit);
    set_size(CUPTI_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE, "device_buffer_preallocate",
             settings->cupti.device_buffer_preallocate);
    if (settings->cupti.device_buffers_pinned)
        set_flag(CUPTI_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED, "device_buffers_pinned", true);
    set_flag(CUPTI_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, "zeroed buffers", true);
    set_flag(CUPTI_ATTR_PER_THREAD_ACTIVITY_BUFFER, "per_thread_buffers", settings->cupti.per_thread_buffers);
    set_thread_ids();
    if (shares()) /* the first subscriber chooses for all, permanently: graphs show their nodes */
        set_flag(CUPTI_ATTR_ENABLE_MULTI_SUBSCRIBER_GRAPH_TRACE, "node-level tracing of graphs", false);
    return STATUS_OK;
}

static uint32_t enable_kind(uint16_t kind)
{
    if (!uses_subscriber_api)
        return cupti->cuptiActivityEnable(kind);
    uint64_t fields = selection_fields(settings, kind);
    int ids[ACTIVITY_FIELDS_MAX];
    size_t count = 0;
    for (int i = 0; i < ACTIVITY_FIELDS_MAX; i++)
        if (fields >> i & 1)
            ids[count++] = i;
    struct cupti_activity_config config = {
        .structSize =
            cupti->version >= 130400 ? sizeof config : offsetof(struct cupti_activity_config, pKindOptions),
        .fieldSelection = {.structSize = sizeof config.fieldSelection, .numFields = count, .pFieldIds = ids}};
    return cupti->cuptiActivityEnable_v2(subscriber, kind, &config);
}

/* Returns the kind at this place of the order of enabling; kinds are disabled in reverse. So kernels are
 * enabled first and disabled last: if kernel records are toggled while other kinds are enabled and threads
 * launch, none arrive from then on (12.9, 13.0, 13.5; tests/bench/programs/sleeping.cu, crew). */
static uint16_t kind_at(uint16_t place)
{
    return place == 0 ? ACTIVITY_KERNEL : place <= ACTIVITY_KERNEL ? place - 1 : place;
}

/* Whether CUPTI returns this result for calls or kinds that this CUPTI or GPU does not support. */
static bool is_foreseen(uint32_t result)
{
    switch (result) {
    case CUPTI_INVALID_PARAMETER:
    case CUPTI_NOT_IMPLEMENTED:
    case CUPTI_NOT_COMPATIBLE:
    case CUPTI_INVALID_KIND:
    case CUPTI_NOT_SUPPORTED:
    case CUPTI_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
    case CUPTI_INSUFFICIENT_PRIVILEGES:
    case CUPTI_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
        return true;
    default:
        return false;
    }
}

/* Enables the kinds that have fields. Skips those that this CUPTI or GPU does not support, with a warning if
 * the user named the kind. */
static enum status enable_kinds(const uint64_t fields[ACTIVITY_KINDS_MAX], struct error *err)
{
    for (uint16_t place = 0; place < ACTIVITY_KINDS_MAX; place++) {
        uint16_t kind = kind_at(place);
        if (!fields[kind])
            continue;
        uint32_t result = enable_kind(kind);
        if (result == CUPTI_OK)
            continue;
        if (kind == ACTIVITY_KERNEL)
            return fail(err, "kernel records", result);
        bool is_asked = settings->capture.activities.allow.count > 0;
        (is_asked || !is_foreseen(result) ? log_warn : log_debug)(
            "this CUPTI has no records of kind %s: %s%s", activity_table[kind].name,
            cupti_result_text(cupti, result), is_asked ? "; remove it from capture.activities.allow" : "");
    }
    return STATUS_OK;
}

static uint32_t disable_kind(uint16_t kind)
{
    return uses_subscriber_api ? cupti->cuptiActivityDisable_v2(subscriber, kind, NULL)
                               : cupti->cuptiActivityDisable(kind);
}

static bool is_enabled(uint16_t kind)
{
    return selection_has_activity(settings, kind) &&
           !(kind == ACTIVITY_UNIFIED_MEMORY && unified_memory_is_due);
}

static bool has_driver_calls(void)
{
    uint32_t cbid = 1;
    while (cbid < call_count_driver && !selection_has_call(settings, CALL_DRIVER, cbid))
        cbid++;
    return cbid < call_count_driver;
}

/* Whether the call enables graph records (see graphs_start_late()), and so needs a callback even if it has no
 * span. If runtime calls are not captured, callbacks of driver calls suffice, because runtime calls make
 * driver calls. */
static bool announces_graphs(enum call_domain domain, uint32_t cbid)
{
    bool is_needed = domain == CALL_DRIVER || settings->capture.runtime;
    return atomic_load(&graphs_are_due) && is_needed && callbacks_flags(domain, cbid) & PLAN_MAKES_GRAPH;
}

/* Returns the plan's flags of cudaProfilerStart and cudaProfilerStop, if they start and stop tracing; 0:
 * another call. They need callbacks even if they have no span. */
static uint8_t bound_flags(enum call_domain domain, uint32_t cbid)
{
    return settings->capture.cuda_profiler ? callbacks_bound_flags(domain, cbid) : 0;
}

struct refusals {
    unsigned wanted, refused;
    uint32_t news; /* an unexpected result, or CUPTI_OK */
};

static void enable_call(enum call_domain domain, uint32_t cbid, struct refusals *refusals)
{
    uint32_t result = cupti->cuptiEnableCallback(1, subscriber, domain, cbid);
    refusals->wanted++;
    refusals->refused += result != CUPTI_OK;
    if (result != CUPTI_OK && !is_foreseen(result))
        refusals->news = result;
}

/* Returns the plan's flags for stacks. With launch_stacks, calls that launch GPU work, wait for it, or
 * allocate memory have stacks. With allocation_stacks, each call that allocates memory has one, without
 * sampling. */
static uint8_t code_flags(uint8_t group)
{
    bool has_all = settings_have_launch_stacks(settings);
    if (group == CALL_GROUP_ALLOC && settings->capture.allocation_stacks)
        return PLAN_TAKES_CODE | PLAN_TAKES_EACH;
    bool is_one = group == CALL_GROUP_LAUNCH || group == CALL_GROUP_COPY || group == CALL_GROUP_FILL ||
                  group == CALL_GROUP_SYNC || group == CALL_GROUP_ALLOC;
    return has_all && is_one ? PLAN_TAKES_CODE : 0;
}

/* Whether the call launches one kernel whose name must be copied, where CUPTI does not keep names. Such a
 * call needs a callback even if it has no span. Callbacks of other calls have no name, but CUPTI may pass
 * another value than NULL for it. */
static bool takes_name(enum call_domain domain, uint32_t cbid)
{
    const struct call_info *info = call_info(domain, cbid);
    if (!decode_name || !info || info->group != CALL_GROUP_LAUNCH)
        return false;
    const char *name = call_name(info);
    return strstr(name, "Launch") && !strstr(name, "Graph") && !strstr(name, "HostFunc") &&
           !strstr(name, "MultiDevice");
}

static bool can_take_code(void)
{
    if (!settings_have_stacks(settings))
        return false;
    if (launch_stacks_start(settings, cupti->replay_code) == STATUS_OK)
        return true;
    log_warn("no call stacks: no memory");
    return false;
}

static void enable_calls(void)
{
    struct refusals refusals = {0, 0, CUPTI_OK};
    bool may_hide = has_driver_calls();
    bool takes_code = can_take_code();
    graph_nodes_have_code = takes_code && settings_have_launch_stacks(settings);
    for (enum call_domain domain = CALL_DRIVER; domain <= CALL_RUNTIME; domain++) {
        uint32_t count = domain == CALL_RUNTIME ? call_count_runtime : call_count_driver;
        for (uint32_t cbid = 1; cbid < count; cbid++) {
            bool is_wanted = selection_has_call(settings, domain, cbid);
            uint16_t flags = bound_flags(domain, cbid) | (takes_name(domain, cbid) ? PLAN_TAKES_NAME : 0);
            if (!is_wanted && !(may_hide && selection_hides_call(settings, domain, cbid)) &&
                !announces_graphs(domain, cbid) && !flags)
                continue;
            if (!is_wanted)
                flags |= PLAN_NO_SPAN;
            if (gpu_counters_concern(domain, cbid))
                flags |= PLAN_COUNTS;
            if (takes_code && is_wanted)
                flags |= code_flags(call_info(domain, cbid)->group);
            if (flags) /* a write to the plan of a call in progress would be a data race */
                callbacks_add_flags(domain, cbid, flags);
            enable_call(domain, cbid, &refusals);
        }
    }
    /* A CUPTI older than the tables supports fewer calls, and a program linked with it makes no others.
     * Unsupported and other refused calls have the same result, but no CUPTI lacks that many. */
    if (refusals.refused * 2 > refusals.wanted || refusals.news)
        log_warn("CUPTI refused callbacks for %u of %u calls (%s), which have no spans; name another CUPTI "
                 "in distribution.cuspan.cupti.library",
                 refusals.refused, refusals.wanted,
                 cupti_result_text(cupti, refusals.news ? refusals.news : CUPTI_INVALID_PARAMETER));
    else if (refusals.refused)
        log_debug("this CUPTI does not support %u of the calls", refusals.refused);
}

static void enable_resource(enum cupti_resource_cbid cbid)
{
    cupti->cuptiEnableCallback(1, subscriber, CUPTI_DOMAIN_RESOURCE, cbid);
}

/* Enables the callbacks about graphs. Counting nodes costs one callback per node when a graph is
 * instantiated, and nothing later. */
static void enable_graphs(void)
{
    bool nodes = settings_have_graph_nodes(settings);
    graph_nodes_id_source = nodes ? cupti->cuptiGetGraphNodeId : NULL;
    /* In later versions, the records of nodes name their launch (agent/correlate/join/graph_runs.h). */
    graph_nodes_exec_id_source =
        nodes && cupti->version < CUPTI_VERSION_13_2 ? cupti->cuptiGetGraphExecId : NULL;
    enable_resource(CUPTI_RESOURCE_GRAPHNODE_CLONED);
    enable_resource(CUPTI_RESOURCE_GRAPHEXEC_CREATED);
    if (graph_nodes_id_source)
        enable_resource(CUPTI_RESOURCE_GRAPHNODE_CREATED);
}

static void enable_callbacks(void)
{
    enable_calls();
    if (decode_name)
        enable_resource(CUPTI_RESOURCE_MODULE_UNLOAD_STARTING);
    if (settings->capture.resource) {
        enable_resource(CUPTI_RESOURCE_CONTEXT_CREATED);
        enable_resource(CUPTI_RESOURCE_CONTEXT_DESTROY_STARTING);
        enable_resource(CUPTI_RESOURCE_MODULE_LOADED);
        enable_graphs();
    }
}

static enum status register_buffers(struct error *err)
{
    uint32_t result =
        uses_subscriber_api
            ? cupti->cuptiActivityRegisterCallbacks_v2(subscriber, buffers_request_v2, buffers_complete_v2)
            : cupti->cuptiActivityRegisterCallbacks(buffers_request, buffers_complete);
    return result == CUPTI_OK ? STATUS_OK : fail(err, "activity buffers", result);
}

/* Whether graph records are enabled only with the program's first graph. They add 0.1 us to every CUDA call
 * of the process, traced or not (H200, CUPTI 13.5: cudaGetDevice 26 -> 135 ns). They therefore stay disabled
 * until the program starts to make its first graph, and stay enabled from then on.
 *
 * A graph that is instantiated before they are enabled gives no record at all from then on (13.5). Whether an
 * execution has a span of its own must not depend on timing, so the call that starts the first capture or
 * creates the first graph enables them in its callback, before CUDA proceeds, and such calls of other threads
 * wait meanwhile. This takes CUPTI 0.2 to 0.4 ms, once.
 *
 * Before 13.5, enabling late with the classic API crashes CUPTI (12.9, 13.0), so they are enabled from the
 * start. So they are for recordings, which should be complete, and for replays, because a recording may lack
 * the calls that make graphs. docs/cupti.md has the measurements. */
static bool graphs_start_late(void)
{
    bool is_replay = cupti->replay_clock && !(cupti->replay_late_graphs && cupti->replay_late_graphs());
    bool is_safe = uses_subscriber_api || cupti->version >= CUPTI_VERSION_13_5;
    return is_safe && !is_replay && !settings->record_file &&
           settings->cupti.graph_records != GRAPH_RECORDS_ALWAYS &&
           (settings->capture.runtime || settings->capture.driver);
}

/* Enables graph records. The caller holds `switching`. */
static void start_graphs(void)
{
    if (!atomic_load(&graphs_are_due) || !subscriber || atomic_load(&mode_now) == MODE_OFF)
        return;
    thread_is_ours = true; /* CUDA calls that CUPTI makes meanwhile are not the program's */
    atomic_store(&graphs_refusal, enable_kind(ACTIVITY_GRAPH_TRACE));
    thread_is_ours = false;
    atomic_store(&graphs_are_due, false); /* last: other threads need not wait any more */
}

/* Locks `switching` on a host thread, in slices, because a stop of the agent may hold the lock and wait for
 * this thread. False: not locked. */
static bool lock_for_graphs(uint64_t give_up_ns)
{
    while (atomic_load(&graphs_are_due) && atomic_load(&mode_now) != MODE_OFF) {
        if (lock_within_slice(&switching))
            return true;
        if (clock_monotonic_ns() > give_up_ns)
            atomic_store(&graphs_are_due, false); /* CUPTI hangs; executions without records are counted */
    }
    return false;
}

static void on_graph(void)
{
    if (!atomic_load_explicit(&graphs_are_due, memory_order_acquire))
        return;
    struct host_call call = host_call_begin();
    uint64_t give_up_ns = clock_monotonic_ns() + GRAPHS_WAIT_MS * NS_PER_MS;
    bool has_turn = turn_begin(); /* takes part of that time */
    if (lock_for_graphs(give_up_ns)) {
        start_graphs();
        pthread_mutex_unlock(&switching);
    }
    turn_end(has_turn);
    host_call_end(call);
}

static void log_refused_graphs(void)
{
    if (atomic_load_explicit(&graphs_refusal, memory_order_relaxed) == CUPTI_OK)
        return;
    log_warn("CUPTI has no graph records (%s); graphs show their nodes",
             cupti_result_text(cupti, atomic_exchange(&graphs_refusal, CUPTI_OK)));
}

static void start_unified_memory(void)
{
    bool has_turn = switching_begin();
    unified_memory_is_due = false;
    if (unified_memory_configure(cupti) && are_records_on)
        enable_kind(ACTIVITY_UNIFIED_MEMORY);
    switching_end(has_turn);
}

bool switches_can_share(const struct cupti *loaded, const struct settings *frozen)
{
    return loaded->has_subscriber_api && frozen->cupti.api != CUPTI_API_CLASSIC;
}

static enum status choose_api(struct error *err)
{
    /* give-way disables and enables records as other tools come and go, which is best with the classic API.
     * auto has the same API as hold, because most programs have no other tool. */
    bool prefers_classic = settings->cupti.others == OTHERS_GIVE_WAY;
    uses_subscriber_api = switches_can_share(cupti, settings) &&
                          (settings->cupti.api == CUPTI_API_SUBSCRIBER || !prefers_classic);
    if (settings->cupti.api == CUPTI_API_SUBSCRIBER && !uses_subscriber_api)
        return error_set(err, STATUS_UNSUPPORTED,
                         "distribution.cuspan.cupti.api is subscriber, which %s does not support; name CUPTI "
                         "13.3 or later in distribution.cuspan.cupti.library",
                         cupti->path);
    return STATUS_OK;
}

static bool is_attached(void)
{
    return settings->cupti.graph_records == GRAPH_RECORDS_IF_SAFE;
}

/* An agent that is attached to a running program cannot know whether it has made graphs. */
static bool graphs_came_first(void)
{
    return is_attached() && cupti_late_start(cupti_late_starts, cupti->version) != LATE_WHOLE;
}

static enum status enable(bool is_again, struct error *err)
{
    uint64_t fields[ACTIVITY_KINDS_MAX] = {0};
    for (uint16_t kind = 1; kind < ACTIVITY_KINDS_MAX; kind++)
        if (selection_has_activity(settings, kind))
            fields[kind] = selection_fields(settings, kind);
    if (uses_subscriber_api)
        buffers_on_layouts = decode_learn_layouts;
    else
        decode_init_classic(cupti->version, fields);
    if (fields[ACTIVITY_UNIFIED_MEMORY] && !cupti->replay_clock) {
        fields[ACTIVITY_UNIFIED_MEMORY] = 0;
        unified_memory_is_due = true;
    }
    if (is_again || graphs_came_first()) { /* too late: graphs may have been instantiated meanwhile */
        fields[ACTIVITY_GRAPH_TRACE] = 0;
        atomic_store(&graphs_are_due, false);
    }
    if (fields[ACTIVITY_GRAPH_TRACE] && graphs_start_late()) {
        fields[ACTIVITY_GRAPH_TRACE] = 0;
        atomic_store(&graphs_are_due, true);
        callbacks_on_graph = on_graph;
    }
    other_tools_pause(true); /* some attributes can be set only while nobody records */
    enum status status = set_attributes(err);
    other_tools_pause(false);
    if (status == STATUS_OK)
        status = register_buffers(err);
    if (status != STATUS_OK)
        return status;
    bool has_turn = switching_begin();
    status = enable_kinds(fields, err);
    are_records_on = status == STATUS_OK;
    switching_end(has_turn);
    if (status != STATUS_OK)
        return status;
    enable_callbacks();
    mode_on(); /* last: a program that waits for cuspan_is_on() then loses no call */
    cupti->cuptiEnableCallback(1, subscriber, CUPTI_DOMAIN_STATE, CUPTI_STATE_FATAL_ERROR); /* ends MODE_ON */
    return STATUS_OK;
}

static enum status subscribe_and_enable(bool is_again, struct error *err)
{
    enum status status = subscribe(err);
    if (status == STATUS_OK)
        status = enable(is_again, err);
    if (status != STATUS_OK)
        switches_off();
    return status;
}

enum status switches_on(const struct cupti *loaded, const struct settings *frozen, struct error *err)
{
    pthread_once(&once, make_mutexes);
    cupti = loaded;
    settings = frozen;
    enum status status = choose_api(err);
    if (status == STATUS_OK && is_attached())
        status = cupti_check_late_start(cupti_late_starts, cupti, err);
    return status == STATUS_OK ? subscribe_and_enable(false, err) : status;
}

/* Falls back to the classic API: after another tool has recorded with that API, CUPTI refuses the subscriber
 * API (NOT_COMPATIBLE; seen with 13.5). */
enum status switches_on_again(struct error *err)
{
    enum status status = subscribe_and_enable(true, err);
    if (status == STATUS_OK || is_held_by_another || !uses_subscriber_api)
        return status;
    uses_subscriber_api = false;
    return subscribe_and_enable(true, err);
}

bool switches_are_held(void)
{
    return is_held_by_another;
}

bool switches_use_subscriber_api(void)
{
    return uses_subscriber_api;
}

void switches_follow(void)
{
    if (unified_memory_is_due && counter_get(COUNTER_calls_captured))
        start_unified_memory();
    log_refused_graphs();
}

static size_t dropped; /* records that CUPTI has dropped, not yet counted */

static void read_dropped(void)
{
    size_t count = 0;
    uint32_t result = uses_subscriber_api
                          ? cupti->cuptiActivityGetNumDroppedRecords_v2(subscriber, NULL, 0, &count)
                          : cupti->cuptiActivityGetNumDroppedRecords(NULL, 0, &count);
    if (result == CUPTI_OK)
        dropped += count;
}

void switches_count_dropped(void)
{
    /* After an illegal address, CUPTI 13.0 drops all records that it still has. */
    bool has_failed = counter_get(COUNTER_context_errors) != 0;
    if (dropped)
        counter_add(has_failed ? COUNTER_lost_after_error : COUNTER_lost_cupti_dropped, dropped);
    dropped = 0;
}

static void note_error(uint32_t result)
{
    if (result != CUPTI_OK)
        atomic_store(&last_error, cupti_result_text(cupti, result));
}

const char *switches_take_error(void)
{
    return atomic_exchange(&last_error, NULL);
}

/* Flushes CUPTI. A flush affects all subscribers, and a forced one would take another tool's unfinished
 * records, so it is not forced while such a tool records. */
static bool flush_all(bool everything)
{
    bool is_forced = everything && !other_tools_are_recording(), has_turn = turn_begin();
    uint32_t result = cupti->cuptiActivityFlushAll(is_forced ? CUPTI_FLUSH_FORCED : CUPTI_FLUSH_DEFAULT);
    turn_end(has_turn);
    note_error(result);
    if (result != CUPTI_OK) /* records kept inside CUPTI cannot be counted */
        log_once(log_warn, "CUPTI does not deliver its records (%s); GPU spans may be missing",
                 cupti_result_text(cupti, result));
    read_dropped();
    return is_forced == everything && result == CUPTI_OK;
}

bool switches_flush(bool everything)
{
    bool has_turn = other_tools_flush_begin(everything ? FLUSH_WAIT_MS : 0), has_flushed = false;
    if (has_turn || everything) /* otherwise the other tool's flush also delivers our records */
        has_flushed = flush_all(everything);
    other_tools_flush_end(has_turn);
    return has_flushed;
}

static void disable_kinds(void)
{
    for (uint16_t place = ACTIVITY_KINDS_MAX; place > 0; place--)
        if (selection_has_activity(settings, kind_at(place - 1)))
            disable_kind(kind_at(place - 1));
    are_records_on = false;
}

void switches_quiet(void)
{
    mode_off();
    bool has_turn = switching_begin();
    if (subscriber)
        disable_kinds();
    switching_end(has_turn);
}

void switches_pause(bool begins)
{
    if (begins) {
        bool has_turn = switching_begin();
        has_pause_turn = has_turn;
        is_paused = subscriber && are_records_on;
        if (is_paused) {
            disable_kinds();
            counter_add(COUNTER_pauses, 1);
        }
        return;
    }
    for (uint16_t place = 0; is_paused && place < ACTIVITY_KINDS_MAX; place++)
        if (is_enabled(kind_at(place)))
            (void)enable_kind(kind_at(place));
    are_records_on |= is_paused;
    is_paused = false;
    switching_end(has_pause_turn);
}

void switches_off(void)
{
    mode_off();
    if (!subscriber)
        return;
    log_refused_graphs();
    bool has_turn = switching_begin();
    cupti_subscriber_handle ended = subscriber;
    disable_kinds();
    subscriber = NULL;
    switching_end(has_turn);
    /* Called without the lock, because CUPTI may wait for a callback that waits for the lock. */
    note_error(cupti->cuptiUnsubscribe(ended));
}
