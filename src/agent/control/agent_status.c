#include "agent/control/agent_status.h"

#include "agent/lifecycle/agent.h"
#include "agent/pipeline/pipeline.h"
#include "agent/lifecycle/report.h"
#include "base/accounting/balance.h"
#include "base/clock.h"
#include "capture/activity/buffers.h"
#include "capture/sleep/sleep_control.h"

#include <inttypes.h>
#include <unistd.h>

#define LOOK_NS (1 * NS_PER_SECOND)

void agent_status_string(FILE *to, const char *text)
{
    report_string(to, text);
}

static void write_text(FILE *to, const char *key, const char *text)
{
    fprintf(to, ",\"%s\":", key);
    report_string(to, text);
}

static void write_head(FILE *to, const struct agent_view *view)
{
    fprintf(to, "{\"version\":1,\"cuspan\":\"%s\",\"pid\":%d,\"user\":%u", CUSPAN_VERSION, (int)getpid(),
            (unsigned)geteuid());
    write_text(to, "program", view->program);
    write_text(to, "state", view->state);
    write_text(to, "why", view->why);
    fprintf(to, ",\"since_ms\":%llu", (unsigned long long)(view->begun_ns / NS_PER_MS));
}

void agent_status_describe(FILE *to)
{
    struct agent_view view;
    agent_get_view(&view);
    write_head(to, &view);
    fprintf(to, ",\"spans\":%" PRIu64 ",\"lost\":%" PRIu64 "}", counter_get(COUNTER_spans_created),
            counters_lost());
}

static void write_cupti(FILE *to, const struct agent_view *view)
{
    const struct capture_info *info = view->info;
    fputs(",\"cupti\":{\"version\":", to);
    report_string(to, info->cupti_version);
    write_text(to, "path", info->cupti_path);
    write_text(to, "api", info->api);
    fprintf(to, ",\"driver\":%d,\"calls_under_way\":%u}", info->driver_version, capture_calls_under_way());
}

static void write_memory(FILE *to, const struct settings *settings, const struct pipeline_snapshot *view)
{
    fprintf(to,
            ",\"memory\":{\"bound\":%" PRIu64 ",\"rings\":%u,\"buffers\":%" PRIu64 ",\"buffer_count\":%u,"
            "\"buffers_free\":%u,\"queues\":%" PRIu64 ",\"queues_free\":%" PRIu64
            ",\"device_buffer_bytes\":%" PRIu64 ",\"device_buffers_first\":%u,\"device_buffers_max\":%u}",
            settings->memory_bytes_max, settings->rings.total_bytes,
            (uint64_t)settings->cupti.host_buffer_bytes * settings->cupti.host_buffer_count,
            settings->cupti.host_buffer_count, buffers_free(), view->queue_bytes, view->queue_free_bytes,
            settings->cupti.device_buffer_bytes, settings->cupti.device_buffer_preallocate,
            settings->cupti.device_buffer_limit);
}

void agent_status_write(FILE *to)
{
    static struct pipeline_snapshot pipeline; /* only the control thread calls this */
    struct agent_view view;
    agent_get_view(&view);
    bool is_exact = view.info && pipeline_snapshot(&pipeline, clock_monotonic_ns() + LOOK_NS) == STATUS_OK;
    if (!is_exact) {
        pipeline = (struct pipeline_snapshot){.queue_bytes = 0};
        balance_take(&pipeline.balance, view.info ? view.settings->output_count : 0);
    }
    pipeline.balance.counters[COUNTER_asleep_ns] += sleep_control_asleep_ns();
    write_head(to, &view);
    fprintf(to, ",\"exact\":%s,\"detail\":\"%s\"", is_exact || !view.info ? "true" : "false",
            detail_name(view.settings->detail));
    report_accounts(to, view.settings, &pipeline.balance);
    if (view.info) {
        write_cupti(to, &view);
        write_memory(to, view.settings, &pipeline);
    }
    fputc('}', to);
}
