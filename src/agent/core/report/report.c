#include "agent/core/report/report.h"

#include "agent/core/metrics/agent_overhead.h"
#include "agent/core/report/shutdown.h"
#include "base/accounting/balance.h"
#include "base/accounting/counters.h"
#include "base/files.h"
#include "base/log/log.h"
#include "base/log/write_signals.h"
#include "base/text/json_writer.h"
#include "base/text/sanitize.h"
#include "base/trace_context.h"
#include "agent/export/delivery/last_error.h"

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
    uint64_t ends = balance->counters[COUNTER_range_ends_lost];
    if (ends)
        log_warn("the ends of %llu ranges were lost, so their spans are marked cuda.range.unended or "
                 "missing; raise "
                 "distribution.cuspan.rings.bytes",
                 (unsigned long long)ends);
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
    log_warn("%llu captured %s lost: %s%s%s%s", (unsigned long long)lost,
             lost == 1 ? "record was" : "records were", text, trouble ? " (" : "", trouble ? trouble : "",
             trouble ? ")" : "");
}

static void write_traces(struct json_writer *json, const struct report *report)
{
    json_write_unsigned(json, "trace_count", report->trace_total);
    json_write_array(json, "traces");
    for (uint32_t i = 0; i < report->trace_count; i++) {
        char hex[33];
        hex_format(report->traces[i], 16, hex);
        json_write_text(json, NULL, hex);
    }
    json_write_array_end(json);
}

static void write_counters(struct json_writer *json, const struct balance *balance, const char *key,
                           bool losses)
{
    json_write_object(json, key);
    for (enum counter i = 0; i < COUNTER_COUNT; i++)
        if (!losses || (counter_is_loss(i) && balance->counters[i]))
            json_write_unsigned(json, counter_name(i), balance->counters[i]);
    json_write_object_end(json);
}

static void write_endpoint(struct json_writer *json, const struct exporter_settings *exporter)
{
    char url[1024];
    bool is_path = exporter->kind == EXPORTER_FILE || exporter->kind == EXPORTER_CONSOLE;
    if (exporter->endpoint)
        json_write_text(json, "endpoint",
                        is_path ? exporter->endpoint : sanitize_url(url, sizeof url, exporter->endpoint));
}

static void write_last_error(struct json_writer *json, unsigned output)
{
    char text[512];
    if (last_error_get(output, text, sizeof text))
        json_write_text(json, "trouble", text);
}

static void write_outputs(struct json_writer *json, const struct settings *settings,
                          const struct balance *balance)
{
    static const char *const kinds[] = {"otlp_http", "otlp_grpc", "file", "console"};
    json_write_array(json, "outputs");
    for (size_t i = 0; i < settings->output_count; i++) {
        const struct exporter_settings *exporter = &settings->outputs[i].exporter;
        json_write_object(json, NULL);
        json_write_text(json, "kind", kinds[exporter->kind]);
        write_endpoint(json, exporter);
        write_last_error(json, (unsigned)i);
        json_write_unsigned(json, "delivered", balance->outputs[i].delivered);
        json_write_unsigned(json, "lost", balance->outputs[i].lost);
        json_write_unsigned(json, "on_way", balance->on_way[i]);
        json_write_signed(json, "unaccounted",
                          balance->output_count ? balance_output_unaccounted(balance, i) : 0);
        if (settings->spool.directory)
            json_write_unsigned(json, "spooled", balance->outputs[i].spooled);
        json_write_object_end(json);
    }
    json_write_array_end(json);
}

/* Data points of metrics and samples of profiles are not spans and are accounted for separately. */
static void write_own_output(struct json_writer *json, const char *key, unsigned output,
                             const struct output_settings *settings, uint32_t interval_ms,
                             const uint64_t *made, const uint64_t *delivered, const uint64_t *lost,
                             const uint64_t *spooled)
{
    json_write_object(json, key);
    json_write_unsigned(json, "interval_ms", interval_ms);
    json_write_unsigned(json, "made", *made);
    json_write_unsigned(json, "delivered", *delivered);
    json_write_unsigned(json, "lost", *lost);
    if (spooled)
        json_write_unsigned(json, "spooled", *spooled);
    write_endpoint(json, &settings->exporter);
    write_last_error(json, output);
    json_write_object_end(json);
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
static void write_gpu_memory(struct json_writer *json, const struct settings *settings,
                             const struct balance *balance)
{
    uint64_t bytes = settings->cupti.device_buffer_bytes;
    json_write_object(json, "gpu_memory");
    json_write_text(json, "where",
                    settings->cupti.device_buffers_pinned ? "pinned host memory" : "device memory");
    json_write_unsigned(json, "bytes_a_context", bytes * settings->cupti.device_buffer_preallocate);
    json_write_unsigned(json, "bytes_a_context_max", bytes * settings->cupti.device_buffer_limit);
    json_write_unsigned(json, "contexts", balance->counters[COUNTER_contexts]);
    json_write_object_end(json);
}

void report_accounts(struct json_writer *json, const struct settings *settings, const struct balance *balance)
{
    const uint64_t *counters = balance->counters;
    json_write_unsigned(json, "spans", counters[COUNTER_spans_created]);
    json_write_unsigned(json, "delivered", delivered_everywhere(balance));
    write_counters(json, balance, "counters", false);
    write_counters(json, balance, "losses", true);
    write_outputs(json, settings, balance);
    if (settings->metrics.is_on)
        write_own_output(json, "metrics", METRICS_OUTPUT, &settings->metrics.output,
                         settings->metrics.interval_ms, &counters[COUNTER_points_made],
                         &counters[COUNTER_points_delivered], &counters[COUNTER_lost_points],
                         settings->spool.directory ? &counters[COUNTER_points_spooled_left] : NULL);
    if (settings->profiles.enabled)
        write_own_output(json, "profiles", PROFILES_OUTPUT, &settings->profiles.output,
                         settings->profiles.interval_ms, &counters[COUNTER_profile_samples_made],
                         &counters[COUNTER_profile_samples_delivered],
                         &counters[COUNTER_lost_profile_samples], NULL);
    write_gpu_memory(json, settings, balance);
    if (!settings->record_file) { /* a recording contains records, not spans */
        json_write_unsigned(json, "captured", balance_captured(balance));
        json_write_unsigned(json, "held", balance->held);
        json_write_signed(json, "unaccounted", balance_unaccounted(balance));
    }
    agent_overhead_write(json, "own", balance);
}

static void write_state(struct json_writer *json, const struct report *report)
{
    static const char *const names[] = {"ended", "exiting", "running", "not traced", "ended"};
    json_write_text(json, "state", names[report->state]);
    if (report->state == REPORT_NOT_TRACED)
        json_write_text(json, "why", report->why);
    if (report->start_ns)
        json_write_unsigned(json, "start_ns", report->start_ns);
    if (report->last_delivery_ns)
        json_write_unsigned(json, "last_delivery_ns", report->last_delivery_ns);
}

static void write_body(FILE *file, const struct report *report, const struct balance *balance)
{
    struct json_writer json = JSON_WRITER(file);
    json_write_object(&json, NULL);
    json_write_unsigned(&json, "version", 1);
    json_write_text(&json, "program", report->program);
    json_write_signed(&json, "pid", getpid());
    write_state(&json, report);
    write_traces(&json, report);
    report_accounts(&json, report->settings, balance);
    if (report->recording) {
        json_write_unsigned(&json, "events", report->recording_events);
        json_write_text(&json, "recording", report->recording);
    }
    shutdown_write_json(&json);
    json_write_object_end(&json);
    fputc('\n', file);
}

static bool write_file(const struct report *report, const char *path)
{
    struct balance own;
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    if (!memory)
        return false;
    write_body(memory, report, balance_of(report->balance, &own, report->settings->output_count));
    bool is_complete = !ferror(memory);
    is_complete &= fclose(memory) == 0;
    int file = is_complete ? files_create(path) : -1;
    /* Not through a stream: exit() writes what the streams of all threads still hold, on the host's thread,
     * where SIGXFSZ would end the host. */
    struct write_signals signals;
    write_signals_hold(&signals);
    bool is_written = file >= 0 && files_write(file, text, bytes);
    write_signals_release(&signals);
    if (file >= 0)
        close(file);
    free(text);
    return is_written;
}

static char chosen[1024];
static _Atomic pid_t chooser; /* a forked child has a report of its own */

/* Replaces our earlier report, and none of another process with this ID: in a container or on a host that
 * shares the folder, or one that has ended. */
static bool name_report(const char *temporary, const char *name, char path[sizeof chosen])
{
    if (atomic_load(&chooser) == getpid()) {
        memcpy(path, chosen, sizeof chosen);
        return rename(temporary, path) == 0;
    }
    if (!files_name_numbered(temporary, name, path, sizeof chosen))
        return false;
    memcpy(chosen, path, sizeof chosen);
    atomic_store(&chooser, getpid());
    return true;
}

/* The host's thread writes the last one when the deadline at exit has passed, perhaps while the pipeline's
 * thread writes another: each has a temporary file of its own. A process that is killed may leave one,
 * hidden. */
bool report_write(const struct report *report)
{
    static atomic_bool has_ended;
    const char *name = report->settings->accounts_file;
    char path[sizeof chosen], temporary[sizeof path + 32];
    bool is_last = report->state == REPORT_ENDED;
    if (!name)
        return false;
    if (is_last)
        atomic_store(&has_ended, true);
    snprintf(path, sizeof path, "%s.%d", name, (int)getpid());
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash + 1 - path) : 0;
    snprintf(temporary, sizeof temporary, "%.*s.%s.%08x", folder, path, path + folder, files_random());
    bool is_written = write_file(report, temporary) && (is_last || !atomic_load(&has_ended)) &&
                      name_report(temporary, name, path);
    if (is_written)
        return true;
    if (is_last)
        log_warn("cannot write the report %s: %s", path, strerror(errno));
    unlink(temporary);
    return false;
}
