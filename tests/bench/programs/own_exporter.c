/* Measures the cost per span of our encoder and exporter, with the spans that the programs in
 * tests/bench/rivals give to OpenTelemetry's own exporters: filled, encoded, compressed and sent, with
 * default settings and a flush after each block.
 *
 *   own_exporter URL COMPRESSION SPANS     prints one line of JSON; COMPRESSION is a word of that setting
 *   own_exporter --kernels                 prints the table of kernels for the other programs
 */
#include "agent/core/outputs/outputs.h"
#include "base/clock.h"
#include "base/accounting/counters.h"
#include "agent/config/config.h"
#include "measured.h"
#include "spans.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define FLUSH_MS 30000

static struct settings settings;

/* Of the whole process, all threads. */
static double process_ns(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e9 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e3;
}

_Noreturn static void fail(const char *why)
{
    fprintf(stderr, "own_exporter: %s\n", why);
    exit(1);
}

static int print_kernels(void)
{
    for (size_t i = 0; i < BENCH_KERNELS; i++)
        printf("%s\t%s\t%s\n", bench_kernels[i][0], bench_kernels[i][1], bench_kernels[i][2]);
    return 0;
}

/* The user's settings must not affect the measurement. */
static const char *no_variable(const char *name, void *context)
{
    return NULL;
}

static void read_settings(const char *url, const char *compression)
{
    static struct config_report report;
    char overrides[512];
    snprintf(overrides, sizeof overrides, "endpoint=%s;compression=%s;service_name=bench", url, compression);
    struct config_input input = {.getenv = no_variable, .overrides = overrides};
    enum status status = config_load(&input, &settings, &report);
    if (status != STATUS_OK)
        fail(config_first_error(&report) ? config_first_error(&report) : status_text(status));
    if (report.count > 0) /* such as an unknown word, which would be measured as another */
        fail(report.messages[0].text);
}

/* The cost of making only the numbers, which no exporter causes. */
static uint64_t empty_loop(uint64_t count)
{
    uint64_t state = 42, sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t id = random_next(&state), bits = random_next(&state);
        sum += id ^ bits ^ bits % BENCH_KERNELS;
    }
    return sum;
}

static struct outputs *create_outputs(char *program)
{
    struct outputs *outputs;
    struct error err;
    char *slash = strrchr(program, '/');
    if (slash)
        *slash = '\0';
    if (outputs_create(&settings, slash ? program : ".", &outputs, &err) != STATUS_OK)
        fail(err.text);
    outputs_set_resource(outputs, RESOURCE_PROCESS, &settings.resource);
    return outputs;
}

static void flush(struct outputs *outputs)
{
    uint64_t sent[OUTPUT_NUMBERS];
    outputs_send(outputs);
    outputs_sent(outputs, sent);
    if (outputs_wait(outputs, sent, clock_monotonic_ns() + FLUSH_MS * NS_PER_MS) != STATUS_OK)
        fail("a flush took too long");
}

/* Like the agent's IDs: counted up from a random number. The SDKs of the others draw each at random. */
static void number_span(struct span *span, uint64_t id)
{
    uint64_t big_endian = __builtin_bswap64(id);
    memcpy(span->span_id, &big_endian, sizeof big_endian);
}

static void export_spans(struct outputs *outputs, uint64_t count)
{
    static struct span span;
    uint64_t state = 42, first_id = 0x5af10c39d2b4e687u;
    for (uint64_t i = 0; i < count;) {
        uint64_t end = i + BENCH_BLOCK < count ? i + BENCH_BLOCK : count;
        for (; i < end; i++) {
            fill_kernel(&span, i, &state);
            number_span(&span, first_id + i);
            outputs_add(outputs, &span);
        }
        flush(outputs);
    }
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--kernels") == 0)
        return print_kernels();
    uint64_t count = argc == 4 ? strtoull(argv[3], NULL, 10) : 0;
    if (count == 0) {
        fprintf(stderr, "usage: own_exporter URL COMPRESSION SPANS | own_exporter --kernels\n");
        return 2;
    }
    read_settings(argv[1], argv[2]);
    double began_ns = process_ns();
    uint64_t sum = empty_loop(count);
    double empty_ns = process_ns() - began_ns;

    began_ns = process_ns();
    double thread_began_ns = thread_ns();
    struct outputs *outputs = create_outputs(argv[0]);
    export_spans(outputs, count);
    double thread_taken_ns = thread_ns() - thread_began_ns;
    outputs_destroy(outputs, clock_monotonic_ns() + FLUSH_MS * NS_PER_MS);
    double taken_ns = process_ns() - began_ns;
    if (counter_get(COUNTER_spans_delivered) != count || counters_lost() > 0)
        fail("spans were lost");
    printf("{\"version\":\"%s\",\"spans\":%" PRIu64 ",\"checksum\":\"%" PRIu64
           "\",\"cpu_ns\":%.1f,\"empty_ns\":%.1f,\"making_thread_ns\":%.1f}\n",
           CUSPAN_VERSION, count, sum, (taken_ns - empty_ns) / (double)count, empty_ns / (double)count,
           (thread_taken_ns - empty_ns) / (double)count);
    settings_deinit(&settings);
    return 0;
}
