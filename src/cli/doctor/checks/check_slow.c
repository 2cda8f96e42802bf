/* What makes a traced program, or its traces, slow. The prices are those of docs/performance.md and of
 * docs/architecture.md, of an H200; the evidence is this machine's. */
#include "cli/doctor/checks.h"
#include "cli/doctor/collector.h"
#include "cli/doctor/doctor_facts.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

#define SLOW_ANSWER_NS  (250 * NS_PER_MS)
#define QUEUE_BYTES_FEW (4ull * 1024 * 1024)

void check_slow_processors(struct doctor *doctor)
{
    double quota;
    unsigned count = doctor_facts_processors(doctor, &quota);
    char *smt = doctor_facts_read(doctor, "/sys/devices/system/cpu/smt/active");
    bool has_smt = smt && strcmp(smt, "1") == 0;
    if (quota > 0 && quota < 2) {
        doctor_say(doctor, FOUND_WARNING,
                   "the cgroup leaves %.2g of %u processors: once it is used up, the program's "
                   "threads wait, too",
                   quota, count);
        doctor_mend(doctor,
                    "raise the quota (Kubernetes: resources.limits.cpu; docker: --cpus) to the program's own "
                    "need and one more");
    } else if (count < 2) {
        doctor_say(doctor, FOUND_WARNING,
                   "one processor: cuspan's threads and CUPTI's take their time from the program");
        doctor_mend(doctor, "give it two (taskset -c, --cpuset-cpus)");
    } else if (count < 4 && has_smt) {
        doctor_say(doctor, FOUND_WARNING,
                   "%u processors, which may be halves of cores (SMT is on): a thread beside a "
                   "busy one takes 1.5 times as long",
                   count);
        doctor_mend(doctor, "give it whole cores: lscpu -e shows which processors are one");
    } else {
        doctor_say(doctor, FOUND_OK, "%u%s", count, has_smt ? ", with SMT" : "");
    }
    free(smt);
}

static bool has_settings(struct doctor *doctor)
{
    if (!doctor->has_settings)
        doctor_say(doctor, FOUND_UNKNOWN, "the configuration is wrong (configuration.check)");
    return doctor->has_settings;
}

void check_slow_detail(struct doctor *doctor)
{
    if (!has_settings(doctor))
        return;
    if (doctor->settings.detail == DETAIL_FULL) {
        doctor_say(doctor, FOUND_WARNING,
                   "detail full traces every call: cudaGetDevice takes 12 times as long, "
                   "cudaStreamQuery 6 times, a launch 1.8 times (default: 1.5)");
        doctor_mend(doctor, "set detail: default, and name the further calls by capture.calls.allow");
    } else {
        doctor_say(doctor, FOUND_OK, "detail %s", detail_name(doctor->settings.detail));
    }
}

void check_slow_graphs(struct doctor *doctor)
{
    const struct settings *settings = &doctor->settings;
    if (!has_settings(doctor))
        return;
    if (settings_have_graph_nodes(settings)) {
        doctor_say(doctor, FOUND_WARNING,
                   "detail %s shows the nodes of CUDA graphs: a graph takes 1.7 times as long to "
                   "launch",
                   detail_name(settings->detail));
        doctor_mend(doctor, "set detail: default, where a graph is one span");
    } else if (settings->cupti.graph_records == GRAPH_RECORDS_ALWAYS) {
        doctor_say(doctor, FOUND_WARNING,
                   "cupti.graph_records is always: every CUDA call takes 0.11 us more, traced or "
                   "not, and a step bound by launches a fifth more");
        doctor_mend(doctor, "set cupti.graph_records: when-used");
    } else if (doctor->cuptis && doctor->cuptis->has_one && !doctor->cuptis->has_subscriber_api) {
        doctor_say(doctor, FOUND_WARNING,
                   "this CUPTI (cupti.library) has graph records on from the start: every CUDA "
                   "call takes 0.11 us more, traced or not");
        doctor_mend(doctor, "install a CUPTI of 13.3 or later, where the driver takes it");
    } else {
        doctor_say(doctor, FOUND_OK, "one span for each execution");
    }
}

void check_slow_rings(struct doctor *doctor)
{
    const struct settings *settings = &doctor->settings;
    double quota;
    unsigned processors = doctor_facts_processors(doctor, &quota);
    size_t before = doctor->line_count;
    if (!has_settings(doctor))
        return;
    if (settings->rings.bytes < 64 * 1024) {
        doctor_say(doctor, FOUND_WARNING,
                   "rings.bytes is %u: a thread that launches without pause fills that between "
                   "two rounds of cuspan's, and calls are lost",
                   settings->rings.bytes);
        doctor_mend(doctor, "set rings.bytes: 262144, the default");
    }
    if (settings->cupti.host_buffer_bytes < 64 * 1024) {
        doctor_say(doctor, FOUND_WARNING,
                   "cupti.host_buffer_bytes is %u: of 32 KiB, a launch took 578 ns more than of "
                   "64 KiB",
                   settings->cupti.host_buffer_bytes);
        doctor_mend(doctor, "set cupti.host_buffer_bytes: 65536, the default");
    }
    if (settings->cupti.host_buffer_count < 2 * processors) {
        doctor_say(doctor, FOUND_WARNING,
                   "cupti.host_buffer_count is %u for %u processors: each thread that calls CUDA "
                   "needs up to two, and records are lost without",
                   settings->cupti.host_buffer_count, processors);
        doctor_mend(doctor, "set cupti.host_buffer_count: 256, the default");
    }
    if (!settings->cupti.per_thread_buffers) {
        doctor_say(doctor, FOUND_WARNING,
                   "cupti.per_thread_buffers is false: threads that launch wait for each other");
        doctor_mend(doctor, "set cupti.per_thread_buffers: true, the default");
    }
    if (doctor->line_count == before)
        doctor_say(doctor, FOUND_OK, "rings of %u KiB, %u buffers of %u KiB", settings->rings.bytes / 1024,
                   settings->cupti.host_buffer_count, settings->cupti.host_buffer_bytes / 1024);
}

void check_slow_queues(struct doctor *doctor)
{
    const struct settings *settings = &doctor->settings;
    size_t before = doctor->line_count;
    char bytes[TEXT_NUMBER_BYTES];
    if (!has_settings(doctor))
        return;
    uint64_t queue_bytes = settings_queue_bytes(settings);
    if (queue_bytes < QUEUE_BYTES_FEW) {
        doctor_say(doctor, FOUND_WARNING, "memory_bytes_max leaves %s for spans on their way",
                   text_bytes(bytes, queue_bytes));
        doctor_mend(doctor, "raise memory_bytes_max (now %llu)",
                    (unsigned long long)settings->memory_bytes_max);
    }
    for (size_t i = 0; i < settings->output_count; i++) {
        const struct output_settings *output = &settings->outputs[i];
        if (output->queue_spans_max < 4 * output->batch_spans_max) {
            doctor_say(doctor, FOUND_WARNING,
                       "max_queue_size is %u for batches of %u: while one is sent, others find "
                       "no place, and are lost",
                       output->queue_spans_max, output->batch_spans_max);
            doctor_mend(doctor, "raise max_queue_size (262144 is the default)");
        }
        if (output->batch_spans_max < 512) {
            doctor_say(doctor, FOUND_WARNING,
                       "max_export_batch_size is %u: so many spans go in one request, one request "
                       "after the other",
                       output->batch_spans_max);
            doctor_mend(doctor, "raise max_export_batch_size (8192 is the default)");
        }
    }
    if (doctor->line_count == before)
        doctor_say(doctor, FOUND_OK, "%s for spans on their way", text_bytes(bytes, queue_bytes));
}

void check_slow_collector(struct doctor *doctor)
{
    const struct collector *collector;
    size_t index = 0, before = doctor->line_count;
    char took[TEXT_NUMBER_BYTES];
    while ((collector = collector_next(doctor, &index))) {
        const struct doctor_answer *answer = &collector->answer;
        if (!collector->has_answer || !answer->is_answered)
            continue;
        text_duration(took, answer->took_ns, doctor->is_utf8);
        if (answer->took_ns > SLOW_ANSWER_NS) {
            doctor_say(doctor, FOUND_WARNING,
                       "%s took %s for an empty request: batches go one after the other, so at "
                       "most %.3g spans a second, and the exit waits",
                       collector->url, took,
                       (double)doctor->settings.outputs[index - 1].batch_spans_max * 1e9 /
                           (double)answer->took_ns);
            doctor_mend(doctor,
                        "have a collector near the program (one on each machine), which hands on from there");
        } else {
            doctor_say(doctor, FOUND_OK, "%s took %s for an empty request", collector->url, took);
        }
    }
    if (doctor->line_count == before)
        doctor_say(doctor, FOUND_NOT_HERE, "no answer of a collector to measure");
}

void check_slow_compression(struct doctor *doctor)
{
    const struct collector *collector;
    size_t index = 0, before = doctor->line_count;
    while ((collector = collector_next(doctor, &index))) {
        bool is_near =
            strncmp(collector->reach.address, "127.", 4) == 0 || strcmp(collector->reach.address, "::1") == 0;
        if (collector->exporter->compression == COMPRESSION_NONE && !is_near) {
            doctor_say(doctor, FOUND_WARNING,
                       "%s is not on this machine, and compression is none: some 420 bytes a span "
                       "in place of 31",
                       collector->host);
            doctor_mend(doctor, "OTEL_EXPORTER_OTLP_COMPRESSION=gzip, 0.2 us of processor time a span");
        } else {
            doctor_say(doctor, FOUND_OK, "%s",
                       collector->exporter->compression == COMPRESSION_NONE ? "none, to this machine itself"
                       : collector->exporter->compression == COMPRESSION_GZIP
                           ? "gzip, 0.2 us of processor time a span"
                           : "zstd, 0.2 us of processor time a span");
        }
    }
    if (doctor->line_count == before)
        doctor_say(doctor, FOUND_NOT_HERE, "no output goes over the network");
}

void check_slow_clock(struct doctor *doctor)
{
    char *current =
        doctor_facts_read(doctor, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    char *available =
        doctor_facts_read(doctor, "/sys/devices/system/clocksource/clocksource0/available_clocksource");
    if (!current) {
        doctor_say(doctor, FOUND_UNKNOWN, "/sys has no clocksource");
    } else if (strcmp(current, "tsc") == 0 || strcmp(current, "arch_sys_counter") == 0) {
        doctor_say(doctor, FOUND_OK, "the kernel goes by the processor's counter (%s)", current);
    } else {
        doctor_say(doctor, FOUND_WARNING,
                   "the kernel goes by %s: cuspan asks it for the time, at 21 to 58 ns in place "
                   "of 12 to 22, and by a call of the system where that isn't mapped",
                   current);
        doctor_mend(
            doctor, "%s",
            available && strstr(available, "tsc")
                ? "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource"
                : "boot with clocksource=tsc, if the kernel's log doesn't call the counter unstable (dmesg | "
                  "grep -i tsc)");
    }
    free(current);
    free(available);
}
