#include "agent/core/lifecycle/agent.h"

#include "agent/core/control/control_socket.h"
#include "agent/core/hang/hang_watch.h"
#include "agent/core/resource/detect.h"
#include "agent/core/lifecycle/nvtx_entry.h"
#include "agent/core/resource/self_env.h"
#include "agent/core/resource/process_resource.h"
#include "agent/core/resource/training_job.h"
#include "agent/core/pipeline/pipeline.h"
#include "agent/core/lifecycle/python_end.h"
#include "agent/core/report/report.h"
#include "agent/core/lifecycle/signals.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/log/log.h"
#include "base/process/cpu_time.h"
#include "base/process/host_call.h"
#include "base/process/variables.h"
#include "agent/capture/hardware/pm_sampling.h"
#include "agent/capture/nvtx/nvtx.h"
#include "agent/capture/context/collective_steps.h"
#include "agent/capture/context/publish.h"
#include "agent/capture/context/steps.h"
#include "agent/capture/threads/threads.h"
#include "agent/config/config.h"
#include "agent/correlate/trace/sampler.h"
#include "agent/capture/coexist/other_tools.h"
#include "agent/capture/sleep/mode.h"
#include "agent/capture/sleep_control.h"
#include "agent/watch/watch.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define START_WAIT_NS (10 * NS_PER_SECOND)
#define LOOK_NS       (1 * NS_PER_MS)

/* NONE: not started. DORMANT: the settings are read and nothing is loaded, because nothing would be sampled
 * or start_on is control; a request, the program or its user can still start it. OFF: it cannot run, and has
 * logged why. */
enum agent_state { AGENT_NONE, AGENT_BEGINNING, AGENT_DORMANT, AGENT_RUNNING, AGENT_OFF };

static struct settings settings;
static struct trace_context parent;
static bool has_parent;
static struct step_rules step_rules;
static _Atomic int state = AGENT_NONE;
static char why[ERROR_TEXT_MAX]; /* of DORMANT or OFF; written before the state */
static uint64_t begun_ns;
static const char *program = "";
static struct capture_info info;
static bool is_attached;      /* to a program that was running; written once, before the settings are read */
static _Atomic pid_t starter; /* the process that at_exit() is for */
static _Atomic pid_t owner;   /* the process that runs the agent, not its forked children; 0: none */

/* An error is one line; each warning has a line. */
static bool read_settings(void)
{
    const struct config_report *report;
    enum status status = self_env_settings(&settings, &report);
    log_set_level(status == STATUS_OK ? settings.log_level : LOG_WARN);
    if (status != STATUS_OK) {
        const char *error = config_first_error(report);
        if (error)
            log_error("%s; this process is not traced (`cuspan check` shows all)", error);
        else
            log_error("cannot read the configuration: %s; this process is not traced", status_text(status));
        snprintf(why, sizeof why, "%s", error ? error : status_text(status));
        return false;
    }
    if (is_attached)
        settings.cupti.graph_records = GRAPH_RECORDS_IF_SAFE;
    for (uint32_t i = 0; i < report->count; i++)
        log_warn("%s", report->messages[i].text);
    /* The program may change its directory before the last report is written. */
    char *path = settings.accounts_file ? files_absolute(settings.accounts_file) : NULL;
    if (path) {
        free(settings.accounts_file);
        settings.accounts_file = path;
    }
    return true;
}

/* The reason why nothing would be sampled, or NULL if something may be. */
static const char *reason_to_wait(void)
{
    if (settings.start_on == START_ON_CONTROL)
        return "it waits for `cuspan start` (start_on: control)";
    if (settings.record_file || settings.metrics.is_on || settings.profiles.enabled)
        return NULL; /* metrics and profiles also count what is not sampled */
    if (has_parent && settings.sampler_parent_based && !(parent.flags & TRACE_FLAG_SAMPLED))
        return "TRACEPARENT says that its trace is not sampled";
    if (settings.sampler == SAMPLER_ALWAYS_OFF && !(has_parent && settings.sampler_parent_based))
        return "the sampler is always_off";
    return NULL;
}

/* Whether the caller ends the agent. Async-signal-safe. */
static bool take_end(void)
{
    pid_t self = getpid();
    if (!atomic_compare_exchange_strong(&owner, &self, 0))
        return false;
    capture_set_downstream_room(NULL); /* no replay waits for room any more */
    return true;
}

static bool finish(const char *occasion)
{
    if (!take_end())
        return false;
    control_socket_close();
    pipeline_stop(occasion);
    signals_end();
    return true;
}

bool agent_finish(void)
{
    return finish("cuspan_finish");
}

/* For a signal handler. Also waits for an end that another thread has started. */
static bool finish_by_signal(int signal_number)
{
    if (take_end()) {
        control_socket_hide();
        pipeline_ask_to_stop(signal_number);
    }
    return atomic_load(&state) == AGENT_RUNNING;
}

/* Waits while CUDA or a thread of ours starts the agent. */
static int settled_state(uint64_t wait_ns)
{
    uint64_t deadline_ns = clock_monotonic_ns() + wait_ns;
    while (atomic_load(&state) == AGENT_BEGINNING && clock_monotonic_ns() < deadline_ns)
        nanosleep(&(struct timespec){0, (long)NS_PER_MS}, NULL);
    return atomic_load(&state);
}

static void end_process(const char *occasion)
{
    struct host_call call = host_call_begin();
    control_socket_close();
    if (getpid() == atomic_load(&starter) &&
        settled_state(settings.exit_deadline_ms * NS_PER_MS) == AGENT_RUNNING && !finish(occasion))
        pipeline_wait(); /* another thread ends the agent */
    host_call_end(call);
}

static void at_exit(void)
{
    end_process("exit");
}

/* The process may end itself right after this, or continue without Python, or with another interpreter. */
static void at_end_of_python(void)
{
    struct host_call call = host_call_begin();
    if (atomic_load(&state) == AGENT_RUNNING && getpid() == atomic_load(&owner) &&
        pipeline_checkpoint() != STATUS_OK)
        log_warn(
            "Python has ended, and not everything is delivered yet: it is lost if the process ends by Ctrl-C "
            "now; raise distribution.cuspan.exit_deadline_ms");
    host_call_end(call);
}

static void at_fast_exit(void)
{
    end_process("quick_exit");
}

/* Called more than once if the agent starts late or samples counters: the first handlers serve an exit during
 * the start, later ones run before the exit handlers of libraries that were loaded or initialized meanwhile.
 */
static void follow_exits(void)
{
    atomic_store(&starter, getpid());
    atexit(at_exit);
    at_quick_exit(at_fast_exit);
}

/* A forked child of a process that uses CUDA, or is about to, never calls CUPTI. */
static void in_child(void)
{
    publish_forget();
    if (atomic_load(&state) != AGENT_NONE) {
        capture_abandon();
        control_socket_forget();
        cpu_time_forget();
        watch_forget();
        atomic_store(&state, AGENT_OFF);
    }
}

/* Called before anything starts that a fork could interrupt. */
static void follow_forks(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

/* On the second subscriber's thread. */
static void on_other_tool(void)
{
    struct host_call call = host_call_begin();
    (void)agent_release();
    host_call_end(call);
}

static enum status start(struct error *err)
{
    const char *folder = self_env_folder();
    struct pipeline_options options = {.settings = &settings,
                                       .self_env_folder = folder,
                                       .program = settings.session.name ? settings.session.name : program,
                                       .parent = has_parent ? &parent : NULL,
                                       .steps = &step_rules};
    other_tools_on_use = on_other_tool;
    other_tools_set_built_in(cuspan_share_api);
    pm_sampling_follow_exit = follow_exits;
    step_rules = training_job_rules(&deployment_own, &settings);
    settings.steps.are_limited = step_rules.is_limited && settings.sampler != SAMPLER_ALWAYS_OFF;
    /* Capture starts first: if it fails, the host gets no thread and no TLS library. Until the pipeline
     * runs, rings and buffers hold what it captures. */
    enum status status = capture_start(&settings, folder, &info, err);
    if (status != STATUS_OK)
        return status;
    hang_watch_decide(&settings, &step_rules);
    steps_start(&step_rules, settings.steps.nvtx_pattern);
    collective_steps_start(step_rules.world_size > 1);
    if (process_resource_start(&settings.resource, info.driver_version, info.cupti_version,
                               settings.resource_ip) != STATUS_OK)
        log_warn(
            "the resource has too many attributes, and some are dropped; set fewer in resource.attributes");
    status = pipeline_prepare(&options, err);
    if (status == STATUS_OK)
        status = pipeline_start(&info, err);
    if (status != STATUS_OK) {
        collective_steps_start(false);
        capture_stop();
        pipeline_cancel();
        return status;
    }
    hang_watch_start(&settings, &step_rules);
    atomic_store(&owner, getpid());
    follow_exits();
    /* Python raises KeyboardInterrupt only if it finds SIGINT's default action when it is initialized. */
    signals_begin(&settings, (struct signals_finish){finish_by_signal, pipeline_has_ended},
                  python_may_begin() ? SIGINT : 0);
    if (signals_are_named(&settings, SIGINT))
        python_end_follow(at_end_of_python);
    return STATUS_OK;
}

static void begin_nvtx(void)
{
    if (!settings.capture.nvtx)
        return;
    bool is_ours = thread_is_ours;
    thread_is_ours = false; /* names from before this point go through this thread's ring */
    nvtx_begin();
    thread_is_ours = is_ours;
    nvtx_entry_check(variables_get("NVTX_INJECTION64_PATH"));
}

static enum agent_state refuse(enum agent_state refused, const char *reason)
{
    /* Without a report, `cuspan run` would say that the agent was never started. */
    const struct report report = {
        .state = REPORT_NOT_TRACED, .why = why, .program = program, .settings = &settings};
    snprintf(why, sizeof why, "%s", reason);
    (void)report_write(&report);
    return refused;
}

static enum agent_state run(void)
{
    struct error err = {""};
    if (start(&err) != STATUS_OK) {
        log_error("%s; this process is not traced", err.text);
        return refuse(AGENT_OFF, err.text);
    }
    begin_nvtx();
    return AGENT_RUNNING;
}

/* Opens the control socket even if the agent then cannot run, so that it can report why. */
static void begin_control(void)
{
    struct error err = {""};
    if (!settings.control.enabled)
        return;
    follow_exits(); /* the socket is removed at exit even if nothing else starts */
    if (control_socket_open(settings.control.directory, &err) != STATUS_OK)
        log_info("%s: cuspan ps will not find this process", err.text);
}

/* Waits for `cuspan start` or a sampled request. */
static enum agent_state lie_dormant(const char *reason)
{
    bool is_request = settings.start_on != START_ON_CONTROL && settings.sampler_parent_based;
    log_info("%s: this process is not traced%s", reason,
             is_request ? " before a sampled context is attached" : "");
    return refuse(AGENT_DORMANT, reason);
}

/* `is_asked_for`: the program called cuspan_start(), so the sampler doesn't keep the agent dormant. */
static enum agent_state begin(bool is_asked_for)
{
    variables_take();
    if (!read_settings())
        return AGENT_OFF;
    program = detect_program();
    if (settings.disabled) {
        /* A program that calls cuspan_start() expects to be traced. */
        (is_asked_for ? log_error
                      : log_info)("cuspan is disabled by its configuration: this process is not traced");
        return refuse(AGENT_OFF, "cuspan is disabled by its configuration");
    }
    if (!settings.record_file && !settings_have_output(&settings)) {
        log_info("no exporter is configured: this process is not traced"); /* reading it logged a warning */
        return refuse(AGENT_OFF, "no exporter is configured");
    }
    char tool[96];
    if (nvidia_tools_present(tool, sizeof tool)) {
        log_warn("this process was started under %s, which needs CUPTI for itself: it is not traced", tool);
        return refuse(AGENT_OFF, "the program was started under another tool that needs CUPTI");
    }
    nvtx_switch(settings.capture.nvtx);
    if (settings.steps.collectives)
        collective_steps_observe();
    has_parent = trace_context_parse(variables_get("TRACEPARENT"), variables_get("TRACESTATE"), &parent);
    struct error err = {""};
    if (settings.publish_thread_context && publish_begin(self_env_folder(), &err) != STATUS_OK)
        log_warn("%s: distribution.cuspan.publish_thread_context has no effect", err.text);
    begun_ns = clock_now_ns();
    begin_control();
    const char *reason = reason_to_wait();
    return !reason || is_asked_for ? run() : lie_dormant(reason);
}

/* Moves from `from` to BEGINNING; false if the state is another. */
static bool take_state(int from)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, follow_forks);
    return atomic_compare_exchange_strong(&state, &from, AGENT_BEGINNING);
}

static void set_state(enum agent_state now)
{
    if (now == AGENT_OFF)
        nvtx_switch(false);
    atomic_store(&state, now);
}

void agent_inject(void)
{
    struct host_call call = host_call_begin();
    if (take_state(AGENT_NONE))
        set_state(begin(false));
    host_call_end(call);
}

/* Called by the program through cuspan.h. */

enum agent_answer agent_start(void)
{
    if (take_state(AGENT_NONE)) {
        set_state(begin(true));
    } else if (take_state(AGENT_DORMANT)) {
        set_state(run());
    } else {
        if (settled_state(START_WAIT_NS) != AGENT_RUNNING || getpid() != owner)
            return AGENT_FAILED;
        return sleep_control_begin_tracing() ? AGENT_DONE : AGENT_ALREADY;
    }
    if (atomic_load(&state) != AGENT_RUNNING)
        return AGENT_FAILED;
    (void)sleep_control_begin_tracing(); /* even with capture.cuda_profiler */
    return AGENT_DONE;
}

enum agent_answer agent_attach(const char *lines)
{
    if (!take_state(AGENT_NONE))
        return AGENT_ALREADY;
    variables_take();
    is_attached = true;
    if (variables_lay_over(lines)) {
        set_state(begin(true));
    } else {
        snprintf(why, sizeof why, "%s", status_text(STATUS_NO_MEMORY));
        set_state(AGENT_OFF);
    }
    if (atomic_load(&state) != AGENT_RUNNING)
        return AGENT_FAILED;
    (void)sleep_control_begin_tracing();
    return AGENT_DONE;
}

enum agent_answer agent_stop(void)
{
    if (settled_state(START_WAIT_NS) != AGENT_RUNNING || getpid() != owner)
        return AGENT_ALREADY;
    return sleep_control_end_tracing() ? AGENT_DONE : AGENT_ALREADY;
}

/* Waits until the calls in progress have returned and the session's span is made: the pipeline thread has
 * completed a round in which no call could start. */
enum agent_answer agent_stop_within(uint32_t timeout_ms, uint32_t *under_way)
{
    static struct pipeline_snapshot view; /* only the control thread calls this */
    uint64_t deadline_ns = clock_monotonic_ns() + timeout_ms * NS_PER_MS;
    *under_way = 0;
    sleep_control_set_ending(timeout_ms);
    enum agent_answer answer = agent_stop();
    if (answer != AGENT_DONE)
        return answer;
    while (mode_is_ending() && clock_monotonic_ns() < deadline_ns) {
        *under_way = threads_in_call();
        nanosleep(&(struct timespec){0, LOOK_NS}, NULL);
    }
    if (clock_monotonic_ns() < deadline_ns)
        *under_way = 0;
    for (int look = 0; look < 2; look++) /* the second snapshot is of a round that started after the end */
        (void)!pipeline_snapshot(&view, deadline_ns + NS_PER_SECOND);
    return AGENT_DONE;
}

/* The state can change meanwhile: the answer is of one moment or the next. */
void agent_get_view(struct agent_view *view)
{
    int now = atomic_load(&state);
    const char *failure = now == AGENT_RUNNING ? capture_failure() : NULL;
    *view = (struct agent_view){.settings = &settings,
                                .program = program,
                                .begun_ns = begun_ns,
                                .info = now == AGENT_RUNNING ? &info : NULL,
                                .why = ""};
    if (failure || now == AGENT_OFF || now == AGENT_NONE) {
        view->state = "off";
        view->why = failure ? failure : why;
    } else if (now != AGENT_RUNNING) {
        view->state = now == AGENT_BEGINNING ? "starting" : "waiting";
        view->why = now == AGENT_BEGINNING ? "" : why;
    } else if (capture_is_released()) {
        view->state = "released";
        view->why = "CUPTI is released to other tools";
    } else if (mode_is_ending()) {
        view->state = "stopping";
    } else if (!capture_is_on()) {
        view->state = "asleep";
        view->why = sleep_control_is_tracing() ? "no sampled request is in flight" : "it was stopped";
    } else {
        view->state = "tracing";
    }
}

enum agent_answer agent_flush(uint32_t timeout_ms)
{
    if (atomic_load(&state) != AGENT_RUNNING || getpid() != owner)
        return AGENT_FAILED;
    uint64_t deadline_ns = clock_monotonic_ns() + timeout_ms * NS_PER_MS;
    return pipeline_flush(deadline_ns) == STATUS_OK ? AGENT_DONE : AGENT_FAILED;
}

#define RELEASE_GRACE_NS (2 * NS_PER_SECOND) /* for slow calls into CUPTI */

static enum agent_answer change_hold(bool releases, uint64_t wait_ns)
{
    if (atomic_load(&state) != AGENT_RUNNING || getpid() != owner)
        return AGENT_FAILED;
    /* Asks in any case: the pipeline thread may be about to resume. */
    bool is_already = capture_is_released() == releases;
    enum status status = pipeline_set_released(releases, clock_monotonic_ns() + wait_ns + RELEASE_GRACE_NS);
    if (status != STATUS_OK)
        return AGENT_FAILED;
    return is_already ? AGENT_ALREADY : AGENT_DONE;
}

enum agent_answer agent_release(void)
{
    return change_hold(true, settings.cupti.others_wait_ms * NS_PER_MS);
}

enum agent_answer agent_resume(void)
{
    return change_hold(false, 0);
}

/* Started by a request. */

static void *run_on_own_thread(void *unused)
{
    thread_is_ours = true;
    prctl(PR_SET_NAME, "cuspan/start");
    cpu_time_start(OWN_CONTROL);
    set_state(run());
    return NULL;
}

/* CUPTI takes some milliseconds to start, and no request may wait for that. */
static void start_in_background(void)
{
    pthread_t thread;
    if (!take_state(AGENT_DORMANT))
        return;
    follow_exits();
    if (self_env_thread(&thread, run_on_own_thread) == 0)
        pthread_detach(thread);
    else
        atomic_store(&state, AGENT_DORMANT);
}

static char engine_headers[REQUEST_HEADERS_MAX * HEADER_NAME_BYTES];

static void read_engine_headers(void)
{
    struct settings now = {0};
    size_t at = 0;
    if (self_env_look(&now) == STATUS_OK)
        for (size_t i = 0; i < now.engine.headers.count && i < REQUEST_HEADERS_MAX; i++) {
            if (i)
                engine_headers[at++] = ',';
            header_write_name(engine_headers + at, now.engine.headers.patterns[i]);
            at += strlen(engine_headers + at);
        }
    settings_deinit(&now);
}

const char *agent_engine_headers(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_engine_headers);
    return engine_headers;
}

bool agent_may_sample(const struct trace_context *context)
{
    int now = atomic_load_explicit(&state, memory_order_acquire);
    if (now == AGENT_RUNNING)
        return sampler_may_sample(&settings, context);
    bool waits = settings.start_on == START_ON_CONTROL;
    if (now == AGENT_DORMANT && !waits && settings.sampler_parent_based &&
        context->flags & TRACE_FLAG_SAMPLED)
        start_in_background();
    return true;
}
