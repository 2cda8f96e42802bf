#include "agent/share/share.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>

#define NS_PER_SECOND 1000000000ull
#define TURN_WAIT_MS  1000 /* after a longer wait for a flush, the tool gets some records one flush later */
#define KIND_KERNEL   10   /* CONCURRENT_KERNEL, the kind that tools use */

struct tool tool;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int way = -1;     /* enum share_way; -1: undecided */
static _Atomic bool is_agent_in; /* GIVES_WAY: the agent uses CUPTI, as far as known */
static const struct share_agent *_Atomic agent;
static struct real_calls own_calls, agents_calls; /* the tool's library; the agent's library */
static char agents_path[512];
static pthread_mutex_t resolving = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool has_own; /* own_calls is known */
static _Atomic bool has_agents_calls;
static __thread bool is_busy
    __attribute__((tls_model("initial-exec"))); /* the agent is working inside this thread's call */

void share_lock(void)
{
    pthread_mutex_lock(&lock);
}

void share_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

/* A setuid program must not follow its caller's environment. */
static const char *variable(const char *name)
{
    const char *value = getauxval(AT_SECURE) ? NULL : getenv(name);
    return value ? value : "";
}

/* `handle` is where to search. For a tool linked with CUPTI, search as the loader would have: after this
 * library, or by the name the tool was linked with. */
static void resolve(void *handle, struct real_calls *calls)
{
#define RESOLVE(name, params) calls->name = (name##_fn *)dlsym(handle, #name);
    CUPTI_CLASSIC_CALLS(RESOLVE)
    CUPTI_NAMED_SUBSCRIBER_CALLS(RESOLVE)
    CUPTI_SUBSCRIBER_CALLS(RESOLVE)
    CUPTI_TOOL_CALLS(RESOLVE)
    CUPTI_SWITCH_CALLS(RESOLVE)
    CUPTI_TOOL_SUBSCRIBER_CALLS(RESOLVE)
#undef RESOLVE
}

/* Once a tool has subscribed through one CUPTI library, every other one is refused even after it unsubscribes
 * (13.5 beside 13.0: MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED). With GIVES_WAY, both must use the same library. */
static void *agents_own(void)
{
    const char *path = *agents_path ? agents_path : variable(SHARE_CUPTI_VARIABLE);
    bool gives_way = atomic_load(&way) == SHARE_GIVES_WAY;
    return gives_way && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

static void find_own(void)
{
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
    void *handle = agents_own();
    if (!handle && dlsym(RTLD_NEXT, "cuptiGetVersion"))
        handle = RTLD_NEXT;
    for (size_t i = 0; i < sizeof names / sizeof *names && !handle; i++)
        handle = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (handle)
        resolve(handle, &own_calls);
}

/* The library the tool is linked with is loaded by now, because the tool is calling. */
static const struct real_calls *own_library(void)
{
    if (atomic_load(&has_own))
        return &own_calls;
    pthread_mutex_lock(&resolving);
    if (!atomic_load(&has_own))
        find_own();
    atomic_store(&has_own, true);
    pthread_mutex_unlock(&resolving);
    return &own_calls;
}

/* Opens the library that the agent uses or will use: both must subscribe to the same one. */
static bool open_agents_locked(const char *path)
{
    uint32_t version = 0;
    if (atomic_load(&has_agents_calls))
        return true;
    void *handle = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!handle)
        return false;
    snprintf(agents_path, sizeof agents_path, "%s", path);
    resolve(handle, &agents_calls);
    bool is_new_enough = agents_calls.cuptiGetVersion && agents_calls.cuptiGetVersion(&version) == CUPTI_OK &&
                         version >= CUPTI_VERSION_SUBSCRIBER_API && agents_calls.cuptiActivityEnable_v2;
    atomic_store(&has_agents_calls, is_new_enough);
    return is_new_enough;
}

const struct real_calls *share_real(void)
{
    return atomic_load(&way) == SHARE_BESIDE ? &agents_calls : own_library();
}

/* The tool came before the agent: guess from the environment whether an agent will start, and how. */
static enum share_way foreseen_locked(void)
{
    const char *named = variable(SHARE_WAY_VARIABLE);
    if (!strstr(variable("CUDA_INJECTION64_PATH"), "libcuspan"))
        return SHARE_PASSES;
    if (strcmp(named, "share") == 0 && open_agents_locked(variable(SHARE_CUPTI_VARIABLE)))
        return SHARE_BESIDE;
    return strcmp(named, "give-way") == 0 ? SHARE_GIVES_WAY : SHARE_PASSES;
}

enum share_way share_current_way(void)
{
    int now = atomic_load(&way);
    if (now >= 0)
        return (enum share_way)now;
    share_lock();
    if (atomic_load(&way) < 0)
        atomic_store(&way, (int)foreseen_locked());
    now = atomic_load(&way);
    share_unlock();
    return (enum share_way)now;
}

enum share_way share_touch(void)
{
    atomic_fetch_add(&tool.calls, 1); /* before reading whether the agent is in; see take_back() */
    atomic_store_explicit(&tool.was_ever, true, memory_order_relaxed);
    atomic_store_explicit(&tool.last_call_ns, clock_ns(CLOCK_MONOTONIC), memory_order_relaxed);
    return share_current_way();
}

void share_depart(const enum share_way *unused)
{
    atomic_store_explicit(&tool.last_call_ns, clock_ns(CLOCK_MONOTONIC), memory_order_relaxed);
    atomic_fetch_sub(&tool.calls, 1);
}

/* A second thread of the tool waits for the first. */
static void ask_agent_to_leave(void)
{
    static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&asking);
    const struct share_agent *there = atomic_load(&agent);
    if (there && atomic_exchange(&is_agent_in, false)) {
        is_busy = true;
        there->on_tool();
        is_busy = false;
    }
    pthread_mutex_unlock(&asking);
}

static void restore_locked(void);

enum share_way share_arrive(void)
{
    enum share_way now = share_touch();
    if (now != SHARE_GIVES_WAY)
        return now;
    if (!is_busy)
        ask_agent_to_leave();
    share_lock();
    restore_locked();
    share_unlock();
    return now;
}

static void on_callback(void *unused, uint32_t domain, uint32_t cbid, const void *data)
{
    cupti_callback_fn *callback = atomic_load_explicit(&tool.callback, memory_order_acquire);
    if (callback)
        callback(atomic_load_explicit(&tool.userdata, memory_order_relaxed), domain, cbid, data);
}

/* CUPTI keeps one clock function per subscription; the clock behind it may change. Its default is this
 * one. */
static uint64_t tool_clock(void)
{
    cupti_timestamp_fn *clock = atomic_load(&tool.clock);
    return clock ? clock() : clock_ns(CLOCK_REALTIME);
}

static uint32_t put_clock_locked(void)
{
    cupti_timestamp_fn *clock = tool_clock;
    size_t size = sizeof clock;
    uint32_t result =
        agents_calls.cuptiActivitySetAttribute_v2(tool.real, CUPTI_ATTR_TIMESTAMP_CALLBACK, &size, &clock);
    tool.has_clock = result == CUPTI_OK;
    return result;
}

/* The subscription is kept until the process ends, even if the tool comes and goes, so that what can be set
 * only while nobody records is set once. The agent's flush returns the tool's buffers, too, which can crash
 * the program if each thread has one of its own (docs/cupti.md). */
uint32_t share_open_locked(void)
{
    if (tool.real)
        return CUPTI_OK;
    struct cupti_subscriber_params params = {.structSize = sizeof params,
                                             .subscriberName = "the second CUPTI subscriber beside cuspan",
                                             .allowMultipleSubscribers = 1};
    cupti_subscriber_handle opened = NULL;
    uint32_t result = agents_calls.cuptiSubscribe_v2(&opened, on_callback, NULL, &params);
    if (result != CUPTI_OK)
        return result;
    uint8_t no = 0;
    size_t size = sizeof no;
    agents_calls.cuptiActivitySetAttribute_v2(opened, CUPTI_ATTR_PER_THREAD_ACTIVITY_BUFFER, &size, &no);
    tool.real = opened;
    return CUPTI_OK;
}

/* Kernels are enabled first and disabled last, as in switches.c. */
static uint32_t kind_at(uint32_t place)
{
    return place == 0 ? KIND_KERNEL : place <= KIND_KERNEL ? place - 1 : place;
}

/* Held by flushes and by switches of the tool's kinds, which CUPTI does not survive during a flush
 * (docs/cupti.md). Recursive because the tool's buffer function may flush. Waits are bounded because the tool
 * may hold a lock that this function needs. */
static pthread_mutex_t flushing = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static bool turn_begin(uint32_t wait_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += wait_ms % 1000 * 1000000;
    until.tv_sec += wait_ms / 1000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return pthread_mutex_timedlock(&flushing, &until) == 0;
}

static void turn_end(bool had_turn)
{
    if (had_turn)
        pthread_mutex_unlock(&flushing);
}

uint32_t share_switch_locked(cuptiActivityEnable_v2_fn *call, uint32_t kind)
{
    bool has_turn = turn_begin(TURN_WAIT_MS);
    uint32_t result = call(tool.real, kind, NULL);
    turn_end(has_turn);
    return result;
}

static void switch_kinds(uint64_t kinds, bool on)
{
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t kind = kind_at(on ? i : 63 - i);
        if (!(kinds >> kind & 1))
            continue;
        (void)share_switch_locked(
            on ? agents_calls.cuptiActivityEnable_v2 : agents_calls.cuptiActivityDisable_v2, kind);
    }
}

/* CUPTI accepts a clock only while no activity is enabled by anyone (NOT_COMPATIBLE; 13.5), so both ours and
 * the tool's are disabled meanwhile. Nor may it change behind CUPTI's back, which reads it between two
 * recordings, too: the times of the next one would be wrong. */
uint32_t share_set_clock_locked(cupti_timestamp_fn *clock)
{
    const struct share_agent *there = atomic_load(&agent);
    uint64_t on = atomic_load(&tool.kinds_on);
    tool.is_clock_old = false;
    if (tool.has_clock && atomic_load(&tool.clock) == clock)
        return CUPTI_OK;
    bool has_turn = turn_begin(TURN_WAIT_MS); /* before the agent's, as in its flush */
    if (there && there->on_pause)
        there->on_pause(true);
    switch_kinds(on, false);
    atomic_store(&tool.clock, clock);
    uint32_t result = put_clock_locked();
    switch_kinds(on, true);
    if (there && there->on_pause)
        there->on_pause(false);
    turn_end(has_turn);
    return result;
}

static uint32_t open_for_tool_locked(void)
{
    if (atomic_load(&way) == SHARE_BESIDE)
        return share_open_locked();
    cupti_subscriber_handle opened = NULL;
    uint32_t result = own_calls.cuptiSubscribe ? own_calls.cuptiSubscribe(&opened, on_callback, NULL)
                                               : (uint32_t)CUPTI_NOT_INITIALIZED;
    tool.real = result == CUPTI_OK ? opened : NULL;
    return result;
}

uint32_t share_subscribe_locked(cupti_callback_fn *callback, void *userdata)
{
    if (tool.is_subscribed)
        return CUPTI_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    uint32_t result = open_for_tool_locked();
    if (result != CUPTI_OK)
        return result;
    tool.is_subscribed = true;
    atomic_store(&tool.userdata, userdata);
    atomic_store_explicit(&tool.callback, callback, memory_order_release);
    return CUPTI_OK;
}

uint32_t share_unsubscribe_locked(void)
{
    if (!tool.is_subscribed)
        return CUPTI_INVALID_PARAMETER;
    uint32_t result = CUPTI_OK;
    bool stays = atomic_load(&way) == SHARE_BESIDE;
    atomic_store(&tool.callback, NULL);
    tool.is_subscribed = tool.has_too_many = false;
    tool.callback_count = 0;
    if (tool.real)
        result =
            stays ? agents_calls.cuptiEnableAllDomains(0, tool.real) : own_calls.cuptiUnsubscribe(tool.real);
    if (!stays)
        tool.real = NULL;
    return result;
}

void share_note_callback_locked(bool on, uint32_t domain, uint32_t cbid)
{
    uint32_t noted = domain << 16 | cbid, kept = 0;
    for (uint32_t i = 0; i < tool.callback_count; i++) {
        bool is_covered = tool.callbacks[i] == noted || (cbid == 0 && tool.callbacks[i] >> 16 == domain);
        if (!is_covered)
            tool.callbacks[kept++] = tool.callbacks[i];
    }
    tool.callback_count = kept;
    if (on && kept == TOOL_CALLBACKS_MAX)
        tool.has_too_many = true;
    else if (on)
        tool.callbacks[tool.callback_count++] = noted;
}

uint32_t share_note_kind(uint32_t result, uint32_t kind, bool on)
{
    uint64_t bit = kind < 64 ? 1ull << kind : 0;
    if (result == CUPTI_OK && on)
        atomic_fetch_or(&tool.kinds_on, bit);
    else if (result == CUPTI_OK)
        atomic_fetch_and(&tool.kinds_on, ~bit);
    return result;
}

void share_note_clock(cupti_timestamp_fn *clock)
{
    atomic_store(&tool.clock, clock);
}

uint32_t share_register_locked(cupti_request_fn *request, cupti_complete_fn *complete)
{
    uint32_t result = CUPTI_OK;
    if (!request || !complete)
        return CUPTI_INVALID_PARAMETER;
    atomic_store(&tool.request, request);
    atomic_store(&tool.complete, complete);
    if (!tool.has_buffers)
        result = share_real()->cuptiActivityRegisterCallbacks_v2(tool.real, share_request, share_complete);
    tool.has_buffers = result == CUPTI_OK;
    return result;
}

/* A flush returns the records of all subscribers, and a forced one also takes those of the agent that are not
 * complete. So nothing is flushed if CUPTI has nothing of the tool: PyTorch's profiler forces a flush after
 * its end, before it ends CUPTI. */
uint32_t share_flush(uint32_t flag)
{
    if (!atomic_load(&tool.kinds_on) && !share_has_lent()) {
        share_give_held();
        return CUPTI_OK;
    }
    bool is_alone = turn_begin(TURN_WAIT_MS);
    uint32_t result = agents_calls.cuptiActivityFlushAll(flag);
    share_give_held();
    turn_end(is_alone);
    return result;
}

/* Often called in a callback, as CUPTI recommends. The agent's records and callbacks stay enabled. */
uint32_t share_finalize(void)
{
    share_lock();
    bool was_open = tool.real != NULL;
    if (was_open)
        switch_kinds(atomic_exchange(&tool.kinds_on, 0), false);
    share_unlock();
    if (was_open) /* this may call the tool's functions on this thread, which must not find the lock held */
        (void)share_flush(CUPTI_FLUSH_DEFAULT);
    share_lock();
    if (tool.is_subscribed)
        (void)share_unsubscribe_locked();
    atomic_store(&tool.request, NULL);
    atomic_store(&tool.complete, NULL);
    tool.is_clock_old = tool.has_clock;
    share_unlock();
    return CUPTI_OK;
}

void share_forget_tool(void)
{
    atomic_store(&tool.kinds_on, 0);
    share_lock();
    if (tool.is_subscribed) {
        atomic_store(&tool.callback, NULL);
        tool.is_subscribed = false;
        tool.callback_count = 0;
        tool.real = NULL;
    }
    share_unlock();
}

/* CUPTI's default. A library's clock outlives the subscription, so without this the agent's GPU work would
 * have the tool's timestamps (seen with PyTorch's profiler, which counts ticks). */
static uint64_t default_clock(void)
{
    return clock_ns(CLOCK_REALTIME);
}

static void lend_clock_locked(bool to_tool)
{
    cupti_timestamp_fn *clock = atomic_load(&tool.clock);
    bool may_have_set = clock || !tool.was_ever; /* a tool that we have not seen may have one, too */
    if ((to_tool ? clock != NULL : may_have_set) && own_library()->cuptiActivityRegisterTimestampCallback)
        (void)own_calls.cuptiActivityRegisterTimestampCallback(to_tool ? clock : default_clock);
}

static void restore_locked(void)
{
    lend_clock_locked(true);
    if (!tool.is_subscribed || tool.real || open_for_tool_locked() != CUPTI_OK)
        return;
    for (uint32_t i = 0; i < tool.callback_count; i++) {
        uint32_t domain = tool.callbacks[i] >> 16, cbid = tool.callbacks[i] & 0xffff;
        if (cbid)
            (void)own_calls.cuptiEnableCallback(1, tool.real, domain, cbid);
        else
            (void)own_calls.cuptiEnableDomain(1, tool.real, domain);
    }
}

/* A tool with callbacks enabled is waiting for a call; PyTorch's profiler finalizes CUPTI in one. */
static bool waits_for_calls_locked(void)
{
    for (uint32_t i = 0; i < tool.callback_count; i++) {
        uint32_t domain = tool.callbacks[i] >> 16;
        if (domain == CUPTI_DOMAIN_RUNTIME || domain == CUPTI_DOMAIN_DRIVER)
            return true;
    }
    return false;
}

static bool is_idle_locked(uint64_t idle_ns)
{
    return atomic_load(&tool.calls) == 0 && atomic_load(&tool.kinds_on) == 0 && !tool.has_too_many &&
           !waits_for_calls_locked() &&
           clock_ns(CLOCK_MONOTONIC) - atomic_load(&tool.last_call_ns) >= idle_ns;
}

/* The agent first announces itself and then checks: a call that started before is seen here, and a call that
 * starts later sees the agent and asks it to leave. */
static bool take_back(uint64_t idle_ns)
{
    share_lock();
    atomic_store(&is_agent_in, true);
    bool is_free = is_idle_locked(idle_ns);
    if (!is_free) {
        atomic_store(&is_agent_in, false);
    } else {
        if (tool.real)
            (void)own_calls.cuptiUnsubscribe(tool.real);
        tool.real = NULL;
        lend_clock_locked(false);
    }
    share_unlock();
    return is_free;
}

static void leave(void)
{
    atomic_store(&agent, NULL);
    atomic_store(&is_agent_in, false);
}

/* A forked child has no agent, and what its parent's second tool did is not our concern. */
static void in_child(void)
{
    lock = resolving = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    flushing = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    share_forget_held();
    leave();
}

static void register_child(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

void share_follow_forks(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_child);
}

static enum share_way join(const struct share_agent *joining, enum share_way wanted, const char *path)
{
    share_follow_forks();
    share_lock();
    int now = atomic_load(&way);
    bool has_passed = now == SHARE_PASSES && tool.was_ever;
    if (wanted == SHARE_BESIDE && !open_agents_locked(path))
        wanted = SHARE_PASSES;
    if (wanted == SHARE_GIVES_WAY && path)
        snprintf(agents_path, sizeof agents_path, "%s", path);
    if (now < 0 || (!has_passed && !tool.was_ever))
        now = (int)wanted;
    if (!tool.was_ever)
        atomic_store(&has_own, false); /* expect() may have found another one than the agent's */
    atomic_store(&way, now);
    atomic_store(&agent, joining);
    atomic_store(&is_agent_in, true);
    share_unlock();
    return (enum share_way)now;
}

static const char *cupti_path(void)
{
    Dl_info library;
    if (atomic_load(&way) == SHARE_BESIDE)
        return tool.real ? agents_path : NULL;
    bool is_used = atomic_load(&way) == SHARE_GIVES_WAY && tool.was_ever;
    any_cupti_fn *in_library = is_used ? (any_cupti_fn *)own_library()->cuptiSubscribe : NULL;
    return in_library && dladdr(*(void **)&in_library, &library) ? library.dli_fname : NULL;
}

static bool expect(void)
{
    share_lock();
    if (atomic_load(&way) < 0 && strstr(variable("CUDA_INJECTION64_PATH"), "libcuspan"))
        atomic_store(&way, foreseen_locked() == SHARE_BESIDE ? SHARE_BESIDE : SHARE_GIVES_WAY);
    share_unlock();
    return atomic_load(&way) > SHARE_PASSES && share_real()->cuptiSubscribe;
}

static void pause_tool(bool begins)
{
    if (begins)
        share_lock();
    if (tool.real && atomic_load(&way) == SHARE_BESIDE)
        switch_kinds(atomic_load(&tool.kinds_on), !begins);
    if (!begins)
        share_unlock();
}

static bool is_tool_recording(void)
{
    return atomic_load_explicit(&tool.kinds_on, memory_order_relaxed) != 0;
}

static bool agents_flush_begin(uint32_t wait_ms)
{
    share_note_agents_flush();
    return turn_begin(wait_ms);
}

__attribute__((visibility("default"))) const struct share_api *cuspan_share_api(void)
{
    static const struct share_api api = {.bytes = sizeof api,
                                         .join = join,
                                         .cupti_path = cupti_path,
                                         .expect = expect,
                                         .leave = leave,
                                         .is_tool_recording = is_tool_recording,
                                         .pause = pause_tool,
                                         .flush_begin = agents_flush_begin,
                                         .turn_begin = turn_begin,
                                         .turn_end = turn_end,
                                         .take_back = take_back,
                                         .redirect = share_redirect};
    return &api;
}
