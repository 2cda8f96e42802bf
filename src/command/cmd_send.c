#include "command/table/command_table.h"

#include "base/log/log.h"
#include "agent/operate/run/command_root.h"
#include "analysis/trace/send_input.h"
#include "cli/util/xalloc.h"
#include "cli/args/options.h"
#include "cli/util/progress.h"
#include "cli/util/text.h"

#include <stdio.h>
#include <stdlib.h>

#define PATIENCE_S_MAX (24L * 3600)

struct sending {
    struct injection injection;
    const char **names;
    struct send_input *inputs; /* of the names */
    size_t path_count;
    uint32_t patience_s;
};

static void print_result(const struct send_result *result)
{
    char number[TEXT_NUMBER_BYTES];
    if (result->delivered || !result->points)
        fprintf(stderr, "cuspan: %s %s delivered%s%s\n", text_count(number, result->delivered),
                result->delivered == 1 ? "span" : "spans", *result->endpoint ? " to " : "", result->endpoint);
    if (result->points)
        fprintf(stderr, "cuspan: %s %s of metrics delivered to %s\n", text_count(number, result->points),
                result->points == 1 ? "data point" : "data points", result->metrics_endpoint);
    if (result->lost)
        fprintf(stderr, "cuspan: lost %s: refused by the collector, or damaged on disk\n",
                text_count(number, result->lost));
    if (result->lost_before)
        fprintf(stderr, "cuspan: lost %s: processes were killed before they wrote them\n",
                text_count(number, result->lost_before));
    if (result->left)
        fprintf(stderr, "cuspan: %s remain: nothing accepted them; try again when the collector is up\n",
                text_count(number, result->left));
    if (result->busy)
        fprintf(stderr, "cuspan: skipped: %s running %s will deliver its own\n",
                text_count(number, result->busy), result->busy == 1 ? "process" : "processes each");
}

static int send_all(struct sending *sending, struct error *err)
{
    struct progress progress;
    struct send_result result;
    const struct root_api *api = root_api_open(sending->injection.library, err);
    if (!api)
        return EXIT_FAILED;
    const char **paths = xcalloc(sending->path_count + 1, sizeof *paths);
    for (size_t i = 0; i < sending->path_count; i++)
        paths[i] = sending->inputs[i].path;
    struct send_request request = {.paths = paths,
                                   .names = sending->names,
                                   .path_count = sending->path_count,
                                   .patience_ms = sending->patience_s * 1000,
                                   .progress = progress_update,
                                   .context = &progress};
    progress_begin(&progress, "sending");
    enum status status = api->send(&request, &result, err);
    progress_end(&progress);
    free(paths);
    if (!sending->injection.is_quiet && (status == STATUS_OK || result.delivered || result.points))
        print_result(&result);
    if (status == STATUS_INVALID && result.delivered + result.points == 0)
        return EXIT_USAGE;
    bool is_useless = result.skipped && result.delivered + result.points == 0;
    return status == STATUS_OK && result.left + result.lost == 0 && !is_useless ? EXIT_OK : EXIT_FAILED;
}

static enum status open_inputs(struct sending *sending, struct error *err)
{
    enum status status = STATUS_OK;
    sending->inputs = xcalloc(sending->path_count + 1, sizeof *sending->inputs);
    for (size_t i = 0; status == STATUS_OK && i < sending->path_count; i++)
        status = send_input_open(sending->names[i], &sending->inputs[i], err);
    return status;
}

static int run_send(struct sending *sending)
{
    struct error err = {""};
    unsetenv("CUDA_INJECTION64_PATH"); /* the device order of CUDA programs does not matter here */
    unsetenv("NVTX_INJECTION64_PATH");
    unsetenv("NCCL_PROFILER_PLUGIN");
    int result = EXIT_USAGE;
    if (open_inputs(sending, &err) != STATUS_OK) {
        result = EXIT_FAILED;
    } else if (injection_prepare(&sending->injection, &err) == STATUS_OK) {
        injection_apply(&sending->injection);
        result = send_all(sending, &err);
    }
    if (*err.text)
        fprintf(stderr, "cuspan send: %s\n", err.text);
    return result;
}

static int take_option(void *context, struct options *options, int option)
{
    struct sending *sending = context;
    if (option != OPTION_OPERAND)
        return injection_take_option(&sending->injection, options, option);
    sending->names[sending->path_count++] = options->value;
    return EXIT_OK;
}

int cmd_send(const struct command *command, int argc, char **argv)
{
    struct sending sending = {.names = xcalloc((size_t)argc + 1, sizeof *sending.names)};
    struct options options;
    const struct option_target targets[] = {
        {OPTION_TIMEOUT, .number = &sending.patience_s, .min = 1, .max = PATIENCE_S_MAX}, {0}};
    options_init(&options, command, argc, argv);
    int result = options_read(&options, targets, take_option, &sending) ? run_send(&sending) : options.status;
    for (size_t i = 0; sending.inputs && i < sending.path_count; i++)
        send_input_close(&sending.inputs[i]);
    free(sending.inputs);
    free(sending.names);
    injection_deinit(&sending.injection);
    return result;
}
