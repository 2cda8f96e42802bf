#include "agent/lifecycle/report.h"

#include "agent/metrics/agent_overhead.h"
#include "agent/lifecycle/shutdown.h"
#include "base/accounting/balance.h"
#include "base/accounting/counters.h"
#include "base/files.h"
#include "base/log.h"
#include "base/text/sanitize.h"
#include "base/trace_context.h"
#include "export/last_error.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* `given`, or the current counters: at the end nothing is held or in transit. */
static const struct balance *balance_of(const struct balance *given, struct balance *own, size_t output_count)
{
    if (given)
        return given;
    *own = (struct balance){.held = 0};
    balance_take(own, output_count);
    return own;
}

/* Lost notes are not spans, but spans may lack what they said. */
static void log_notes_lost(const struct balance *balance)
{
    uint64_t notes = balance->counters[COUNTER_notes_lost];
    if (notes)
        log_warn(
            "%llu contexts, range ends, names or modules found a full ring, so spans may lack attributes; "
            "raise distribution.cuspan.rings.bytes",
            (unsigned long long)notes);
}

void report_log_imbalance(size_t output_count)
{
    struct balance own;
    const struct balance *balance = balance_of(NULL, &own, output_count);
    int64_t worst = balance_unaccounted(balance);
    for (size_t i = 0; i < output_count && worst == 0; i++)
        worst = balance_output_unaccounted(balance, i);
    if (worst)
        log_warn("%lld records or spans cannot be accounted for; this is a bug in cuspan, please report it",
                 (long long)worst);
}

/* Spans in the spool are not lost. */
static void log_spooled(const struct balance *balance, const char *trouble)
{
    static const struct {
        enum counter counter;
        const char *what;
    } kinds[] = {{COUNTER_spans_spooled_left, "spans"},
                 {COUNTER_points_spooled_left, "data points of metrics"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        uint64_t left = balance->counters[kinds[i].counter];
        if (left)
            log_warn("%llu %s are left in the spool: the next process with this spool.directory delivers "
                     "them, or `cuspan send`%s%s%s",
                     (unsigned long long)left, kinds[i].what, trouble ? " (" : "", trouble ? trouble : "",
                     trouble ? ")" : "");
        trouble = left ? NULL : trouble;
    }
}

void report_log_losses(const struct balance *given, const char *trouble)
{
    char text[800];
    size_t used = 0;
    struct balance own;
    const struct balance *balance = balance_of(given, &own, 0);
    uint64_t lost = balance_lost(balance);
    log_notes_lost(balance);
    log_spooled(balance, lost ? NULL : trouble);
    if (!lost)
        return;
    for (enum counter i = 0; i < COUNTER_COUNT && used < sizeof text; i++)
        if (counter_is_loss(i) && balance->counters[i])
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %llu", used ? ", " : "",
                                     counter_name(i), (unsigned long long)balance->counters[i]);
    log_warn("%llu of what was captured did not get through: %s%s%s%s", (unsigned long long)lost, text,
             trouble ? " (" : "", trouble ? trouble : "", trouble ? ")" : "");
}

void report_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(file, "\\%c", *c);
        else if (*c < 0x20)
            fprintf(file, "\\u%04x", *c);
        else
            fputc(*c, file);
    }
    fputc('"', file);
}

static void write_traces(FILE *file, const struct report *report)
{
    fprintf(file, ",\"trace_count\":%u,\"traces\":[", report->trace_total);
    for (uint32_t i = 0; i < report->trace_count; i++) {
        char hex[33];
        hex_format(report->traces[i], 16, hex);
        fprintf(file, "%s\"%s\"", i ? "," : "", hex);
    }
    fputc(']', file);
}

static void write_counters(FILE *file, const struct balance *balance, const char *key, bool losses)
{
    bool first = true;
    fprintf(file, ",\"%s\":{", key);
    for (enum counter i = 0; i < COUNTER_COUNT; i++) {
        if (losses && (!counter_is_loss(i) || !balance->counters[i]))
            continue;
        fprintf(file, "%s\"%s\":%llu", first ? "" : ",", counter_name(i),
                (unsigned long long)balance->counters[i]);
        first = false;
    }
    fputc('}', file);
}

static void write_endpoint(FILE *file, const struct exporter_settings *exporter)
{
    char url[1024];
    bool is_path = exporter->kind == EXPORTER_FILE || exporter->kind == EXPORTER_CONSOLE;
    report_string(file, is_path ? exporter->endpoint : sanitize_url(url, sizeof url, exporter->endpoint));
}

static void write_outputs(FILE *file, const struct settings *settings, const struct balance *balance)
{
    static const char *const kinds[] = {"otlp_http", "otlp_grpc", "file", "console"};
    char trouble[512];
    fputs(",\"outputs\":[", file);
    for (size_t i = 0; i < settings->output_count; i++) {
        const struct exporter_settings *exporter = &settings->outputs[i].exporter;
        fprintf(file, "%s{\"kind\":\"%s\"", i ? "," : "", kinds[exporter->kind]);
        if (exporter->endpoint) {
            fputs(",\"endpoint\":", file);
            write_endpoint(file, exporter);
        }
        if (last_error_get((unsigned)i, trouble, sizeof trouble)) {
            fputs(",\"trouble\":", file);
            report_string(file, trouble);
        }
        fprintf(file, ",\"delivered\":%llu,\"lost\":%llu,\"on_way\":%llu,\"unaccounted\":%lld",
                (unsigned long long)balance->outputs[i].delivered,
                (unsigned long long)balance->outputs[i].lost, (unsigned long long)balance->on_way[i],
                (long long)(balance->output_count ? balance_output_unaccounted(balance, i) : 0));
        if (settings->spool.directory)
            fprintf(file, ",\"spooled\":%llu", (unsigned long long)balance->outputs[i].spooled);
        fputc('}', file);
    }
    fputc(']', file);
}

/* Data points are not spans and are accounted for separately. */
static void write_metrics(FILE *file, const struct settings *settings, const struct balance *balance)
{
    char trouble[512];
    fprintf(file, ",\"metrics\":{\"interval_ms\":%u,\"made\":%llu,\"delivered\":%llu,\"lost\":%llu",
            settings->metrics.interval_ms, (unsigned long long)balance->counters[COUNTER_points_made],
            (unsigned long long)balance->counters[COUNTER_points_delivered],
            (unsigned long long)balance->counters[COUNTER_lost_points]);
    if (settings->spool.directory)
        fprintf(file, ",\"spooled\":%llu",
                (unsigned long long)balance->counters[COUNTER_points_spooled_left]);
    if (settings->metrics.output.exporter.endpoint) {
        fputs(",\"endpoint\":", file);
        write_endpoint(file, &settings->metrics.output.exporter);
    }
    if (last_error_get(METRICS_OUTPUT, trouble, sizeof trouble)) {
        fputs(",\"trouble\":", file);
        report_string(file, trouble);
    }
    fputc('}', file);
}

/* The number of spans that every output got. */
static uint64_t delivered_everywhere(const struct balance *balance)
{
    uint64_t fewest = balance->counters[COUNTER_spans_delivered];
    for (unsigned i = 0; i < balance->output_count; i++)
        fewest = balance->outputs[i].delivered < fewest ? balance->outputs[i].delivered : fewest;
    return fewest;
}

/* Memory that CUPTI allocates. It does not report how many of its buffers are in use. */
static void write_gpu_memory(FILE *file, const struct settings *settings, const struct balance *balance)
{
    uint64_t bytes = settings->cupti.device_buffer_bytes;
    fprintf(file,
            ",\"gpu_memory\":{\"where\":\"%s\",\"bytes_a_context\":%llu,\"bytes_a_context_max\":%llu,"
            "\"contexts\":%llu}",
            settings->cupti.device_buffers_pinned ? "pinned host memory" : "device memory",
            (unsigned long long)bytes * settings->cupti.device_buffer_preallocate,
            (unsigned long long)bytes * settings->cupti.device_buffer_limit,
            (unsigned long long)balance->counters[COUNTER_contexts]);
}

void report_accounts(FILE *file, const struct settings *settings, const struct balance *balance)
{
    fprintf(file, ",\"spans\":%llu,\"delivered\":%llu",
            (unsigned long long)balance->counters[COUNTER_spans_created],
            (unsigned long long)delivered_everywhere(balance));
    write_counters(file, balance, "counters", false);
    write_counters(file, balance, "losses", true);
    write_outputs(file, settings, balance);
    if (settings->metrics.is_on)
        write_metrics(file, settings, balance);
    write_gpu_memory(file, settings, balance);
    if (!settings->record_file) /* a recording contains records, not spans */
        fprintf(file, ",\"captured\":%llu,\"held\":%llu,\"unaccounted\":%lld",
                (unsigned long long)balance_captured(balance), (unsigned long long)balance->held,
                (long long)balance_unaccounted(balance));
    struct agent_overhead own;
    agent_overhead_take(&own);
    fputs(",\"own\":", file);
    agent_overhead_write(file, &own, balance);
}

static void write_state(FILE *file, const struct report *report)
{
    static const char *const names[] = {"ended", "exiting", "running", "not traced"};
    fprintf(file, ",\"pid\":%d,\"state\":\"%s\"", (int)getpid(), names[report->state]);
    if (report->state == REPORT_NOT_TRACED) {
        fputs(",\"why\":", file);
        report_string(file, report->why);
    }
    if (report->start_ns)
        fprintf(file, ",\"start_ns\":%llu", (unsigned long long)report->start_ns);
    if (report->last_delivery_ns)
        fprintf(file, ",\"last_delivery_ns\":%llu", (unsigned long long)report->last_delivery_ns);
}

static void write_body(FILE *file, const struct report *report, const struct balance *balance)
{
    fputs("{\"version\":1,\"program\":", file);
    report_string(file, report->program);
    write_state(file, report);
    write_traces(file, report);
    report_accounts(file, report->settings, balance);
    if (report->recording) {
        fprintf(file, ",\"events\":%llu,\"recording\":", (unsigned long long)report->recording_events);
        report_string(file, report->recording);
    }
    shutdown_write_json(file);
    fputs("}\n", file);
}

static bool write_file(const struct report *report, const char *path)
{
    struct balance own;
    int descriptor = files_create(path);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    if (!file && descriptor >= 0)
        close(descriptor);
    if (!file)
        return false;
    write_body(file, report, balance_of(report->balance, &own, report->settings->output_count));
    bool failed = ferror(file);
    return fclose(file) == 0 && !failed;
}

/* The host's thread writes the last one when the deadline at exit has passed, perhaps while the pipeline's
 * thread writes another: each has a temporary file of its own. A process that is killed may leave one,
 * hidden. */
bool report_write(const struct report *report)
{
    static atomic_bool has_ended;
    char path[1024], temporary[1040];
    bool is_last = report->state == REPORT_ENDED;
    if (!report->settings->report_file)
        return false;
    if (is_last)
        atomic_store(&has_ended, true);
    snprintf(path, sizeof path, "%s.%d", report->settings->report_file, (int)getpid());
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash + 1 - path) : 0;
    snprintf(temporary, sizeof temporary, "%.*s.%s.%s", folder, path, path + folder,
             is_last ? "last" : "next");
    bool is_written = write_file(report, temporary) && (is_last || !atomic_load(&has_ended)) &&
                      rename(temporary, path) == 0;
    if (is_written)
        return true;
    if (is_last)
        log_warn("cannot write the report %s: %s", path, strerror(errno));
    unlink(temporary);
    return false;
}
