#include "agent/report.h"

#include "base/counters.h"
#include "base/files.h"
#include "base/log.h"
#include "base/shown.h"
#include "base/trace_context.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void report_log_losses(const char *trouble)
{
    char text[800];
    size_t used = 0;
    if (!counters_lost())
        return;
    for (enum counter i = 0; i < COUNTER_COUNT && used < sizeof text; i++)
        if (counter_is_loss(i) && counter_get(i))
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %llu", used ? ", " : "",
                                     counter_name(i), (unsigned long long)counter_get(i));
    log_warn("%llu of what was captured did not get through: %s%s%s%s", (unsigned long long)counters_lost(),
             text, trouble ? " (" : "", trouble ? trouble : "", trouble ? ")" : "");
}

static void write_string(FILE *file, const char *text)
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

static void write_counters(FILE *file, const char *key, bool losses)
{
    bool first = true;
    fprintf(file, ",\"%s\":{", key);
    for (enum counter i = 0; i < COUNTER_COUNT; i++) {
        if (losses && (!counter_is_loss(i) || !counter_get(i)))
            continue;
        fprintf(file, "%s\"%s\":%llu", first ? "" : ",", counter_name(i), (unsigned long long)counter_get(i));
        first = false;
    }
    fputc('}', file);
}

static void write_endpoint(FILE *file, const struct exporter_settings *exporter)
{
    char url[1024];
    bool is_path = exporter->kind == EXPORTER_FILE || exporter->kind == EXPORTER_CONSOLE;
    write_string(file, is_path ? exporter->endpoint : shown_url(url, sizeof url, exporter->endpoint));
}

static void write_outputs(FILE *file, const struct settings *settings)
{
    static const char *const kinds[] = {"otlp_http", "otlp_grpc", "file", "console"};
    fputs(",\"outputs\":[", file);
    for (size_t i = 0; i < settings->output_count; i++) {
        const struct exporter_settings *exporter = &settings->outputs[i].exporter;
        fprintf(file, "%s{\"kind\":\"%s\"", i ? "," : "", kinds[exporter->kind]);
        if (exporter->endpoint) {
            fputs(",\"endpoint\":", file);
            write_endpoint(file, exporter);
        }
        struct output_fates fates = counter_output_get((unsigned)i);
        fprintf(file, ",\"delivered\":%llu,\"lost\":%llu}", (unsigned long long)fates.delivered,
                (unsigned long long)fates.lost);
    }
    fputc(']', file);
}

/* Of several outputs, what each of them got at least. */
static uint64_t delivered_everywhere(const struct settings *settings)
{
    uint64_t fewest = counter_get(COUNTER_spans_delivered);
    for (unsigned i = 0; i < settings->output_count; i++) {
        uint64_t delivered = counter_output_get(i).delivered;
        fewest = delivered < fewest ? delivered : fewest;
    }
    return fewest;
}

/* What CUPTI takes for itself; it tells nobody how many of its buffers there are at a time. */
static void write_gpu_memory(FILE *file, const struct settings *settings)
{
    uint64_t bytes = settings->cupti.device_buffer_bytes;
    fprintf(file,
            ",\"gpu_memory\":{\"where\":\"%s\",\"bytes_a_context\":%llu,\"bytes_a_context_max\":%llu,"
            "\"contexts\":%llu}",
            settings->cupti.device_buffers_pinned ? "pinned host memory" : "device memory",
            (unsigned long long)(bytes * settings->cupti.device_buffer_preallocate),
            (unsigned long long)(bytes * settings->cupti.device_buffer_limit),
            (unsigned long long)counter_get(COUNTER_contexts));
}

static void write_body(FILE *file, const struct report *report)
{
    fputs("{\"version\":1,\"program\":", file);
    write_string(file, report->program);
    fprintf(file, ",\"pid\":%d", (int)getpid());
    write_traces(file, report);
    fprintf(file, ",\"spans\":%llu,\"delivered\":%llu",
            (unsigned long long)counter_get(COUNTER_spans_created),
            (unsigned long long)delivered_everywhere(report->settings));
    write_counters(file, "counters", false);
    write_counters(file, "losses", true);
    write_outputs(file, report->settings);
    write_gpu_memory(file, report->settings);
    if (report->recording) {
        fprintf(file, ",\"events\":%llu,\"recording\":", (unsigned long long)report->recording_events);
        write_string(file, report->recording);
    }
    fputs("}\n", file);
}

void report_write(const struct report *report)
{
    char path[1024], temporary[1040];
    if (!report->settings->report_file)
        return;
    snprintf(path, sizeof path, "%s.%d", report->settings->report_file, (int)getpid());
    snprintf(temporary, sizeof temporary, "%s.part", path);
    int descriptor = files_create(temporary);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    if (!file) {
        log_warn("can't write the report %s: %s", temporary, strerror(errno));
        if (descriptor >= 0)
            close(descriptor);
        return;
    }
    write_body(file, report);
    bool failed = ferror(file);
    if (fclose(file) != 0 || failed || rename(temporary, path) != 0) {
        log_warn("can't write the report %s: %s", path, strerror(errno));
        unlink(temporary);
    }
}
