/* Causes of slow programs and late traces. Costs are from docs/performance.md and docs/cupti.md, measured on
 * an H200; the rest is from this machine. */
#include "agent/operate/doctor/checks.h"
#include "agent/operate/doctor/collector.h"
#include "agent/operate/doctor/doctor_facts.h"

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
        doctor_result(
            doctor, RESULT_WARNING,
            "the cgroup's CPU limit is %.2g of %u processors: at the limit, the program's threads wait, too",
            quota, count);
        doctor_fix(doctor, "raise the limit (Kubernetes: resources.limits.cpu; docker: --cpus) to what the "
                           "program needs plus one");
    } else if (count < 2) {
        doctor_result(doctor, RESULT_WARNING,
                      "one processor: the threads of cuspan and CUPTI compete with the program");
        doctor_fix(doctor, "assign at least two (taskset -c, --cpuset-cpus)");
    } else if (count < 4 && has_smt) {
        doctor_result(doctor, RESULT_WARNING,
                      "%u processors, which may share cores (SMT is on): a thread next to a busy sibling "
                      "takes 1.5 times as long",
                      count);
        doctor_fix(doctor, "assign whole cores: lscpu -e shows which processors share one");
    } else {
        doctor_result(doctor, RESULT_OK, "%u processors%s", count, has_smt ? ", with SMT" : "");
    }
    free(smt);
}

void check_slow_detail(struct doctor *doctor)
{
    if (doctor->settings.detail == DETAIL_FULL) {
        doctor_result(doctor, RESULT_WARNING,
                      "detail is full, which traces every call: cudaGetDevice takes 12 times as long, "
                      "cudaStreamQuery 6 times, a launch 1.8 times (default: 1.5)");
        doctor_fix(doctor, "set detail: default, and list further calls in capture.calls.allow");
    } else {
        doctor_result(doctor, RESULT_OK, "detail is %s", detail_name(doctor->settings.detail));
    }
}

void check_slow_graphs(struct doctor *doctor)
{
    const struct settings *settings = &doctor->settings;
    if (settings_have_graph_nodes(settings)) {
        doctor_result(doctor, RESULT_WARNING,
                      "detail is %s, which traces the nodes of CUDA graphs: a graph of 100 kernels takes 2.5 "
                      "times as long",
                      detail_name(settings->detail));
        doctor_fix(doctor, "set detail: default, which makes one span per graph launch");
    } else if (settings->cupti.graph_records == GRAPH_RECORDS_ALWAYS) {
        doctor_result(doctor, RESULT_WARNING,
                      "cupti.graph_records is always: every CUDA call takes 0.11 us longer, even if not "
                      "traced, and a launch-bound step a fifth longer");
        doctor_fix(doctor, "set cupti.graph_records: when-used");
    } else if (doctor->cuptis && doctor->cuptis->has_one && !doctor->cuptis->has_subscriber_api) {
        doctor_result(doctor, RESULT_WARNING,
                      "this CUPTI (cupti.library) has graph records enabled from the start: every CUDA call "
                      "takes 0.11 us longer, even if not traced");
        doctor_fix(doctor, "install CUPTI 13.3 or later, if the driver supports it");
    } else {
        doctor_result(doctor, RESULT_OK, "one span per graph launch");
    }
}

void check_slow_rings(struct doctor *doctor)
{
    const struct settings *settings = &doctor->settings;
    size_t before = doctor->line_count;
    if (settings->rings.bytes < 64 * 1024) {
        doctor_result(doctor, RESULT_WARNING,
                      "rings.bytes is %u: a thread that launches continuously fills it faster than cuspan "
                      "reads it, and calls are lost",
                      settings->rings.bytes);
        doctor_fix(doctor, "set rings.bytes: 262144, the default");
    }
    if (settings->cupti.host_buffer_bytes < 64 * 1024) {
        doctor_result(
            doctor, RESULT_WARNING,
            "cupti.host_buffer_bytes is %u: with 32 KiB, a launch took 578 ns longer than with 64 KiB",
            settings->cupti.host_buffer_bytes);
        doctor_fix(doctor, "set cupti.host_buffer_bytes: 65536, the default");
    }
    if (settings->cupti.host_buffer_count < 16) {
        doctor_result(doctor, RESULT_WARNING,
                      "cupti.host_buffer_count is %u: while all are in use, records are lost",
                      settings->cupti.host_buffer_count);
        doctor_fix(doctor, "set cupti.host_buffer_count: 256, the default");
    }
    if (settings->cupti.per_thread_buffers) {
        doctor_result(doctor, RESULT_WARNING,
                      "cupti.per_thread_buffers is true: a program that calls CUDA from several threads can "
                      "crash inside CUPTI");
        doctor_fix(doctor, "set cupti.per_thread_buffers: false, the default");
    }
    if (doctor->line_count == before)
        doctor_result(doctor, RESULT_OK, "rings have %u KiB; %u buffers have %u KiB each",
                      settings->rings.bytes / 1024, settings->cupti.host_buffer_count,
                      settings->cupti.host_buffer_bytes / 1024);
}

void check_slow_queues(struct doctor *doctor)
{
    const struct settings *settings = &doctor->settings;
    size_t before = doctor->line_count;
    char bytes[TEXT_NUMBER_BYTES];
    uint64_t queue_bytes = settings_queue_bytes(settings);
    if (queue_bytes < QUEUE_BYTES_FEW) {
        doctor_result(doctor, RESULT_WARNING, "memory_bytes_max leaves %s for queued spans",
                      text_bytes(bytes, queue_bytes));
        doctor_fix(doctor, "raise memory_bytes_max (now %llu)",
                   (unsigned long long)settings->memory_bytes_max);
    }
    for (size_t i = 0; i < settings->output_count; i++) {
        const struct output_settings *output = &settings->outputs[i];
        if (output->queue_spans_max < 4 * output->batch_spans_max) {
            doctor_result(doctor, RESULT_WARNING,
                          "max_queue_size is %u for batches of %u: while one batch is sent, the queue fills "
                          "and spans are lost",
                          output->queue_spans_max, output->batch_spans_max);
            doctor_fix(doctor, "raise max_queue_size (default: 262144)");
        }
        if (output->batch_spans_max < 512) {
            doctor_result(doctor, RESULT_WARNING,
                          "max_export_batch_size is %u: each request carries only so many spans, and "
                          "requests are sent one at a time",
                          output->batch_spans_max);
            doctor_fix(doctor, "raise max_export_batch_size (default: 8192)");
        }
    }
    if (doctor->line_count == before)
        doctor_result(doctor, RESULT_OK, "%s for queued spans", text_bytes(bytes, queue_bytes));
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
            doctor_result(doctor, RESULT_WARNING,
                          "%s took %s for an empty request: batches are sent one at a time, so at most %.3g "
                          "spans per second, and the exit waits",
                          collector->url, took,
                          (double)doctor->settings.outputs[index - 1].batch_spans_max * 1e9 /
                              (double)answer->took_ns);
            doctor_fix(doctor,
                       "run a collector near the program, such as one per machine, which forwards the data");
        } else {
            doctor_result(doctor, RESULT_OK, "%s took %s for an empty request", collector->url, took);
        }
    }
    if (doctor->line_count == before)
        doctor_result(doctor, RESULT_SKIPPED, "no collector responded");
}

void check_slow_compression(struct doctor *doctor)
{
    const struct collector *collector;
    size_t index = 0, before = doctor->line_count;
    while ((collector = collector_next(doctor, &index))) {
        bool is_near =
            strncmp(collector->reach.address, "127.", 4) == 0 || strcmp(collector->reach.address, "::1") == 0;
        if (collector->exporter->compression == COMPRESSION_NONE && !is_near) {
            doctor_result(
                doctor, RESULT_WARNING,
                "compression is none, and %s is another machine: about 420 bytes per span instead of 31",
                collector->host);
            doctor_fix(doctor,
                       "set OTEL_EXPORTER_OTLP_COMPRESSION=gzip, which takes 0.2 us of CPU time per span");
        } else {
            doctor_result(
                doctor, RESULT_OK, "%s",
                collector->exporter->compression == COMPRESSION_NONE   ? "no compression, to this machine"
                : collector->exporter->compression == COMPRESSION_GZIP ? "gzip, 0.2 us of CPU time per span"
                                                                       : "zstd, 0.2 us of CPU time per span");
        }
    }
    if (doctor->line_count == before)
        doctor_result(doctor, RESULT_SKIPPED, "no output uses the network");
}

void check_slow_clock(struct doctor *doctor)
{
    char *current =
        doctor_facts_read(doctor, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    char *available =
        doctor_facts_read(doctor, "/sys/devices/system/clocksource/clocksource0/available_clocksource");
    if (!current) {
        doctor_result(doctor, RESULT_UNKNOWN, "/sys does not name the clock source");
    } else if (strcmp(current, "tsc") == 0 || strcmp(current, "arch_sys_counter") == 0) {
        doctor_result(doctor, RESULT_OK, "the clock source is the processor's counter (%s)", current);
    } else {
        doctor_result(doctor, RESULT_WARNING,
                      "the clock source is %s: reading the time takes 21 to 58 ns instead of 12 to 22, or a "
                      "system call",
                      current);
        doctor_fix(
            doctor, "%s",
            available && strstr(available, "tsc")
                ? "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource"
                : "boot with clocksource=tsc, unless the kernel reports the counter as unstable (dmesg | "
                  "grep -i tsc)");
    }
    free(current);
    free(available);
}
