#include "command/table/command_table.h"

#include "cli/util/xalloc.h"
#include "cli/args/options.h"
#include "cli/util/text.h"

#include "base/text/sanitize.h"
#include "agent/config/config.h"
#include "model/semconv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_messages(const struct config_report *report)
{
    for (uint32_t i = 0; i < report->count; i++)
        fprintf(stderr, "%s: %s\n", report->messages[i].severity == CONFIG_ERROR ? "error" : "warning",
                report->messages[i].text);
    uint32_t found = report->errors + report->warnings;
    if (found > report->count)
        fprintf(stderr, "and %u more\n", found - report->count);
}

static void print_output(const struct output_settings *output)
{
    static const char *const kinds[] = {"OTLP/HTTP", "OTLP/gRPC", "a file", "the console"};
    const struct exporter_settings *exporter = &output->exporter;
    char url[1024];
    static const char *const signals[] = {"spans", "metrics", "profiles", "reports of hangs"};
    printf("  %s go to %s", signals[output->signal], kinds[exporter->kind]);
    if (exporter->endpoint) {
        bool is_path = exporter->kind == EXPORTER_FILE;
        printf(": %s", is_path ? exporter->endpoint : sanitize_url(url, sizeof url, exporter->endpoint));
    }
    if (exporter->kind == EXPORTER_OTLP_HTTP)
        printf(" (%s)", exporter->encoding == ENCODING_JSON ? "json" : "protobuf");
    if (exporter->compression != COMPRESSION_NONE)
        printf(" with %s", exporter->compression == COMPRESSION_GZIP ? "gzip" : "zstd");
    if (exporter->header_count)
        printf(" and %zu header%s", exporter->header_count, exporter->header_count == 1 ? "" : "s");
    putchar('\n');
}

static void print_sampler(const struct settings *settings)
{
    const char *parent = settings->sampler_parent_based ? ", unless a parent decides" : "";
    if (settings->sampler == SAMPLER_ALWAYS_OFF)
        printf("  sampled: nothing%s\n", parent);
    else if (settings->sampler == SAMPLER_TRACE_ID_RATIO)
        printf("  sampled: %g %% of traces%s\n", settings->sampler_ratio * 100, parent);
    if (settings->sampler != SAMPLER_ALWAYS_OFF && settings->sampling.traces_per_second > 0)
        printf("  sampled: at most %g traces a second\n", settings->sampling.traces_per_second);
}

static bool is_same_file(const char *a, const char *b)
{
    char *real_a = realpath(a, NULL), *real_b = realpath(b, NULL);
    bool is_same = strcmp(real_a ? real_a : a, real_b ? real_b : b) == 0;
    free(real_a);
    free(real_b);
    return is_same;
}

/* NVTX as this command's environment configures it; the program's may be the same. */
static void print_nvtx(const struct settings *settings)
{
    const char *cuda = getenv("CUDA_INJECTION64_PATH"), *nvtx = getenv("NVTX_INJECTION64_PATH");
    bool has_cuda = cuda && *cuda, has_nvtx = nvtx && *nvtx;
    if (!settings->capture.nvtx)
        puts("  NVTX ranges: off, by capture.nvtx");
    else if (!has_cuda && !has_nvtx)
        puts("  NVTX ranges: on under `cuspan run`; without it, set NVTX_INJECTION64_PATH in addition to "
             "CUDA_INJECTION64_PATH");
    else if (!has_nvtx)
        printf("  NVTX ranges: off, NVTX_INJECTION64_PATH is not set; set it to %s\n", cuda);
    else if (!has_cuda)
        printf("  NVTX ranges: off without CUDA_INJECTION64_PATH; set it to %s\n", nvtx);
    else if (!is_same_file(cuda, nvtx))
        printf("  NVTX ranges: off, NVTX_INJECTION64_PATH is another library: %s\n", nvtx);
    else
        puts("  NVTX ranges: on");
}

static void print_metrics(const struct settings *settings)
{
    printf("  metrics, every %g s:\n", settings->metrics.interval_ms / 1000.0);
    print_output(&settings->metrics.output);
    if (settings->metrics.view_count)
        printf("  %zu view%s them\n", settings->metrics.view_count,
               settings->metrics.view_count == 1 ? " changes" : "s change");
    puts("  they include unsampled work, and keep the agent awake, except between a training job's sampled "
         "steps");
}

static void print_profiles(const struct settings *settings)
{
    printf("  profiles of GPU time, every %g s:\n", settings->profiles.interval_ms / 1000.0);
    print_output(&settings->profiles.output);
    puts("  they include unsampled work, and keep the agent awake");
}

static void print_gpu_memory(const struct settings *settings)
{
    char begin[TEXT_NUMBER_BYTES], most[TEXT_NUMBER_BYTES];
    uint64_t bytes = settings->cupti.device_buffer_bytes;
    printf("  CUPTI's buffers in %s, for each context: %s at its start, at most %s\n",
           settings->cupti.device_buffers_pinned ? "page-locked host memory" : "GPU memory",
           text_bytes(begin, bytes * settings->cupti.device_buffer_preallocate),
           text_bytes(most, bytes * settings->cupti.device_buffer_limit));
}

static void print_summary(const struct settings *settings)
{
    const char *service = resource_text(&settings->resource, SEMCONV_SERVICE_NAME);
    char memory[TEXT_NUMBER_BYTES];
    if (settings->disabled) {
        puts("  the agent stays disabled by the configuration");
        return;
    }
    printf("  service.name: %s\n", service ? service : "after the program");
    printf("  detail: %s\n", detail_name(settings->detail));
    print_sampler(settings);
    if (settings->record_file)
        printf("  records to %s and sends nothing\n", settings->record_file);
    for (size_t i = 0; !settings->record_file && i < settings->output_count; i++)
        print_output(&settings->outputs[i]);
    if (!settings->record_file && settings->metrics.is_on)
        print_metrics(settings);
    if (settings->profiles.enabled)
        print_profiles(settings);
    if (!settings->record_file && !settings_have_output(settings))
        puts("  the agent stays disabled: no destination for spans is configured");
    print_nvtx(settings);
    printf("  memory: at most %s; at exit, waits at most %g s\n",
           text_bytes(memory, settings->memory_bytes_max), settings->exit_deadline_ms / 1000.0);
    print_gpu_memory(settings);
}

static int check(const char *path, const char *overrides, bool is_full)
{
    struct config_input input = {.getenv = config_getenv,
                                 .variables = environ,
                                 .path = path,
                                 .takes_pipes = true,
                                 .overrides = overrides};
    struct config_report *report = xcalloc(1, sizeof *report);
    struct settings *settings = xcalloc(1, sizeof *settings);
    enum status status = config_load(&input, settings, report);
    print_messages(report);
    if (status == STATUS_OK) {
        printf("%s: ok%s\n", report->source, report->warnings ? ", with warnings" : "");
        print_summary(settings);
        if (is_full)
            config_print_effective(settings, stdout);
    } else if (report->errors == 0) {
        fprintf(stderr, "error: %s: %s\n", path ? path : report->source, status_text(status));
    } else {
        fprintf(stderr, "%s: %u error%s: the agent would not start\n", report->source, report->errors,
                report->errors == 1 ? "" : "s");
    }
    settings_deinit(settings);
    free(settings);
    free(report);
    return status == STATUS_OK ? EXIT_OK : EXIT_FAILED;
}

struct command_line {
    const char *path;
    bool is_full;
    struct text overrides;
};

static int take_option(void *context, struct options *options, int option)
{
    struct command_line *line = context;
    if (option == OPTION_SET)
        text_add_format(&line->overrides, "%s%s", line->overrides.len ? "\n" : "", options->value);
    else if (line->path)
        return options_complain(options, "one file at a time: %s or %s", line->path, options->value);
    else
        line->path = options->value;
    return EXIT_OK;
}

int cmd_check(const struct command *command, int argc, char **argv)
{
    struct options options;
    struct command_line line = {0};
    const struct option_target targets[] = {{OPTION_ALL, .flag = &line.is_full}, {0}};
    options_init(&options, command, argc, argv);
    int result = options_read(&options, targets, take_option, &line)
                     ? check(line.path, line.overrides.data, line.is_full)
                     : options.status;
    text_deinit(&line.overrides);
    return result;
}
