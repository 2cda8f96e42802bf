#include "agent/core/entry/control_verbs.h"

#include "agent/core/lifecycle/agent.h"
#include "agent/core/pipeline/pipeline.h"
#include "agent/core/report/report.h"
#include "base/accounting/balance.h"
#include "base/clock.h"
#include "agent/capture/activity/buffers.h"
#include "agent/capture/sleep_control.h"
#include "agent/capture/threads/threads.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#define TIMEOUT_MS     5000
#define TIMEOUT_MS_MAX 600000
#define SNAPSHOT_NS    (1 * NS_PER_SECOND)

static void write_head(struct json_writer *json, const struct agent_view *view)
{
    json_write_object(json, NULL);
    json_write_unsigned(json, "version", 1);
    json_write_text(json, "cuspan", CUSPAN_VERSION);
    json_write_signed(json, "pid", getpid());
    json_write_unsigned(json, "user", geteuid());
    json_write_text(json, "program", view->program);
    json_write_text(json, "state", view->state);
    json_write_text(json, "why", view->why);
    json_write_unsigned(json, "since_ms", view->begun_ns / NS_PER_MS);
}

/* Process and state. Does not wait. */
static void on_describe(FILE *to, const char *argument)
{
    struct json_writer json = JSON_WRITER(to);
    struct agent_view view;
    agent_get_view(&view);
    write_head(&json, &view);
    json_write_unsigned(&json, "spans", counter_get(COUNTER_spans_created));
    json_write_unsigned(&json, "lost", counters_lost());
    json_write_object_end(&json);
}

static void write_cupti(struct json_writer *json, const struct capture_info *info)
{
    json_write_object(json, "cupti");
    json_write_text(json, "version", info->cupti_version);
    json_write_text(json, "path", info->cupti_path);
    json_write_text(json, "api", info->api);
    json_write_signed(json, "driver", info->driver_version);
    json_write_unsigned(json, "calls_under_way", threads_in_call());
    json_write_object_end(json);
}

static void write_memory(struct json_writer *json, const struct settings *settings,
                         const struct pipeline_snapshot *snapshot)
{
    json_write_object(json, "memory");
    json_write_unsigned(json, "bound", settings->memory_bytes_max);
    json_write_unsigned(json, "rings", settings->rings.total_bytes);
    json_write_unsigned(json, "buffers",
                        (uint64_t)settings->cupti.host_buffer_bytes * settings->cupti.host_buffer_count);
    json_write_unsigned(json, "buffer_count", settings->cupti.host_buffer_count);
    json_write_unsigned(json, "buffers_free", buffers_free());
    json_write_unsigned(json, "queues", snapshot->queue_bytes);
    json_write_unsigned(json, "queues_free", snapshot->queue_free_bytes);
    json_write_unsigned(json, "device_buffer_bytes", settings->cupti.device_buffer_bytes);
    json_write_unsigned(json, "device_buffers_first", settings->cupti.device_buffer_preallocate);
    json_write_unsigned(json, "device_buffers_max", settings->cupti.device_buffer_limit);
    json_write_object_end(json);
}

/* The same, and all counters, sums, outputs, memory and CUPTI. Waits for the pipeline thread, for a second
 * at most; "exact" says whether it answered. */
static void on_status(FILE *to, const char *argument)
{
    static struct pipeline_snapshot snapshot; /* only the control thread calls this */
    struct json_writer json = JSON_WRITER(to);
    struct agent_view view;
    agent_get_view(&view);
    bool is_exact =
        view.info && pipeline_snapshot(&snapshot, clock_monotonic_ns() + SNAPSHOT_NS) == STATUS_OK;
    if (!is_exact) {
        snapshot = (struct pipeline_snapshot){.queue_bytes = 0};
        balance_take(&snapshot.balance, view.info ? view.settings->output_count : 0);
    }
    snapshot.balance.counters[COUNTER_asleep_ns] += sleep_control_asleep_ns();
    write_head(&json, &view);
    json_write_bool(&json, "exact", is_exact || !view.info);
    json_write_text(&json, "detail", detail_name(view.settings->detail));
    report_accounts(&json, view.settings, &snapshot.balance);
    if (view.info) {
        write_cupti(&json, view.info);
        write_memory(&json, view.settings, &snapshot);
    }
    json_write_object_end(&json);
}

static uint32_t timeout_of(const char *argument)
{
    unsigned long ms = strtoul(argument, NULL, 10);
    if (*argument < '0' || *argument > '9')
        return TIMEOUT_MS;
    return ms < TIMEOUT_MS_MAX ? (uint32_t)ms : TIMEOUT_MS_MAX;
}

/* `under_way`: NULL for verbs that don't stop. */
static void answer(FILE *to, enum agent_answer given, const char *failure, const uint32_t *under_way)
{
    struct json_writer json = JSON_WRITER(to);
    struct agent_view view;
    agent_get_view(&view);
    const char *why = failure ? failure : view.why;
    json_write_object(&json, NULL);
    json_write_text(&json, "answer",
                    given == AGENT_FAILED    ? "failed"
                    : given == AGENT_ALREADY ? "already"
                                             : "done");
    json_write_text(&json, "state", view.state);
    json_write_text(&json, "why", given == AGENT_FAILED ? why : "");
    if (under_way)
        json_write_unsigned(&json, "under_way", *under_way);
    json_write_object_end(&json);
}

/* Also resumes after a release. */
static void on_start(FILE *to, const char *argument)
{
    enum agent_answer given = agent_start();
    bool is_back = given != AGENT_ALREADY || (given = agent_resume()) != AGENT_FAILED;
    answer(to, given, is_back ? NULL : "another tool uses CUPTI", NULL);
}

static void on_release(FILE *to, const char *argument)
{
    answer(to, agent_release(), "it does not use CUPTI, or CUPTI does not respond", NULL);
}

static void on_stop(FILE *to, const char *argument)
{
    uint32_t under_way = 0;
    enum agent_answer given = agent_stop_within(timeout_of(argument), &under_way);
    answer(to, given, NULL, &under_way);
}

static void on_flush(FILE *to, const char *argument)
{
    struct agent_view view;
    agent_get_view(&view);
    answer(to, agent_flush(timeout_of(argument)),
           view.info ? "not all was delivered in time" : "it has captured nothing yet", NULL);
}

static const struct control_verb verbs[] = {{"describe", on_describe}, {"status", on_status},
                                            {"start", on_start},       {"stop", on_stop},
                                            {"release", on_release},   {"figures", live_stats_write_json},
                                            {"flush", on_flush}};

static void serve(void)
{
    control_socket_serve(verbs, sizeof verbs / sizeof *verbs);
}

void control_verbs_serve(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, serve);
}
