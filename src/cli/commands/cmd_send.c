#include "cli/args/command_table.h"

#include "base/log.h"
#include "cli/run/injection.h"
#include "cli/util/xalloc.h"
#include "cli/args/options.h"
#include "cli/util/progress.h"
#include "cli/util/text.h"
#include "model/root_span_entry.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define PATIENCE_S_MAX (24L * 3600)

struct sending {
    struct injection injection;
    struct options options;
    char **paths;
    size_t path_count, path_capacity;
    long patience_s;
};

static int take_path(struct sending *sending)
{
    sending->paths =
        xgrow(sending->paths, &sending->path_capacity, sending->path_count + 1, sizeof *sending->paths);
    sending->paths[sending->path_count++] = xstrdup(sending->options.value);
    return EXIT_OK;
}

static int take_option(struct sending *sending, int option)
{
    switch (option) {
    case OPTION_OPERAND:
        return take_path(sending);
    case OPTION_ENDPOINT:
        return injection_set(&sending->injection, &sending->options, "endpoint", sending->options.value);
    case OPTION_PROTOCOL:
        if (options_word(&sending->options, "protocol", "http/protobuf http/json grpc") < 0)
            return EXIT_USAGE;
        return injection_set(&sending->injection, &sending->options, "protocol", sending->options.value);
    case OPTION_TIMEOUT:
        return options_number(&sending->options, "timeout", 1, PATIENCE_S_MAX, &sending->patience_s)
                   ? EXIT_OK
                   : EXIT_USAGE;
    default:
        return injection_take_option(&sending->injection, &sending->options, option);
    }
}

static void show_progress(void *context, uint64_t done, uint64_t total)
{
    progress_update(context, done, total);
}

static send_fn *load(const char *library, struct error *err)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    root_api_fn *give = NULL;
    if (handle)
        *(void **)&give = dlsym(handle, ROOT_API_SYMBOL);
    const struct root_api *api = give ? give() : NULL;
    if (!api)
        error_set(err, STATUS_UNAVAILABLE, "%.400s", dlerror());
    else if (api->root_bytes != sizeof(struct root))
        error_set(err, STATUS_UNSUPPORTED, "%.300s has another version than this program", library);
    return api && api->root_bytes == sizeof(struct root) ? api->send : NULL;
}

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
    send_fn *send = load(sending->injection.library, err);
    if (!send)
        return EXIT_FAILED;
    struct send_request request = {.paths = (const char *const *)sending->paths,
                                   .path_count = sending->path_count,
                                   .patience_ms = (uint32_t)sending->patience_s * 1000,
                                   .progress = show_progress,
                                   .context = &progress};
    progress_begin(&progress, "sending");
    enum status status = send(&request, &result, err);
    progress_end(&progress);
    if (!sending->injection.is_quiet && (status == STATUS_OK || result.delivered || result.points))
        print_result(&result);
    if (status == STATUS_INVALID && result.delivered + result.points == 0)
        return EXIT_USAGE;
    return status == STATUS_OK && result.left + result.lost == 0 ? EXIT_OK : EXIT_FAILED;
}

static int run_send(struct sending *sending)
{
    struct error err = {""};
    unsetenv("CUDA_INJECTION64_PATH"); /* the device order of CUDA programs does not matter here */
    unsetenv("NVTX_INJECTION64_PATH");
    int result = EXIT_USAGE;
    if (injection_prepare(&sending->injection, &err) == STATUS_OK) {
        injection_apply(&sending->injection);
        result = send_all(sending, &err);
    }
    if (*err.text)
        fprintf(stderr, "cuspan send: %s\n", err.text);
    return result;
}

static void sending_deinit(struct sending *sending)
{
    for (size_t i = 0; i < sending->path_count; i++)
        free(sending->paths[i]);
    free(sending->paths);
    injection_deinit(&sending->injection);
}

int cmd_send(int argc, char **argv)
{
    struct sending sending = {0};
    int option, wrong = EXIT_OK;
    options_init(&sending.options, "send", argc, argv);
    while (!wrong && (option = options_next(&sending.options)) != OPTION_END) {
        if (option == OPTION_HELP) {
            sending_deinit(&sending);
            return EXIT_OK;
        }
        wrong = option == OPTION_WRONG ? EXIT_USAGE : take_option(&sending, option);
    }
    int result = wrong ? wrong : run_send(&sending);
    sending_deinit(&sending);
    return result;
}
