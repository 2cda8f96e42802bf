#include "command/table/command_table.h"

#include "base/log/log.h"
#include "agent/operate/run/command_root.h"
#include "analysis/trace/byte_source.h"
#include "analysis/trace/documents.h"
#include "analysis/trace/trace_source.h"
#include "cli/util/xalloc.h"
#include "cli/args/options.h"
#include "cli/util/progress.h"
#include "cli/util/temporary.h"
#include "cli/util/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATIENCE_S_MAX (24L * 3600)
#define COPY_BYTES     65536

/* An operand. If it is compressed or can only be read once, it becomes a file of plain lines. */
struct input {
    char *path;
    FILE *file; /* unnamed, behind the path; or NULL */
};

struct sending {
    struct injection injection;
    struct option_list names;
    struct input *inputs; /* of the names */
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
    const char **paths = xcalloc(sending->names.count + 1, sizeof *paths);
    for (size_t i = 0; i < sending->names.count; i++)
        paths[i] = sending->inputs[i].path;
    struct send_request request = {.paths = paths,
                                   .names = sending->names.items,
                                   .path_count = sending->names.count,
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

/* --- operands --- */

static enum status complain(const char *name, const char *what, struct error *err)
{
    return error_set(err, STATUS_INVALID, "%.300s: %s", trace_source_name(name), what);
}

/* Whether the content is lines of JSON. */
static enum status check(int fd, const char *name, struct error *err)
{
    struct documents *documents;
    enum status status = documents_open(fd, name, &documents, err);
    if (status != STATUS_OK)
        return status;
    const char *other =
        documents_are_messages(documents)
            ? "it has OTLP protobuf messages; cuspan send reads lines of OTLP JSON, and spools"
            : documents_other_kind(documents);
    documents_close(documents);
    return other ? complain(name, other, err) : STATUS_OK;
}

static enum status copy(struct byte_source *source, FILE *to, struct error *err)
{
    char bytes[COPY_BYTES];
    size_t got = 1;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && got) {
        status = byte_source_read(source, bytes, sizeof bytes, &got, err);
        if (status == STATUS_OK && (fwrite(bytes, 1, got, to) != got || (!got && fflush(to) != 0)))
            status =
                error_set(err, STATUS_IO, "cannot write a temporary file: %s (set TMPDIR)", strerror(errno));
    }
    return status;
}

/* Replaces the file by its decompressed content, if it is compressed. */
static enum status unpack(const char *name, FILE **file, struct error *err)
{
    struct byte_source *source;
    enum status status = byte_source_create(fileno(*file), trace_source_name(name), &source, err);
    if (status != STATUS_OK)
        return status;
    if (byte_source_is_packed(source)) {
        FILE *packed = *file, *plain = temporary_file();
        status = plain ? copy(source, plain, err)
                       : error_set(err, STATUS_IO, "cannot create a temporary file: %s", strerror(errno));
        if (plain) {
            fclose(packed);
            *file = plain;
        }
    }
    const char *damage = byte_source_damage(source);
    if (status == STATUS_OK && damage)
        fprintf(stderr, "cuspan send: %s: %s; the lines before are sent\n", trace_source_name(name), damage);
    byte_source_destroy(source);
    return status;
}

static bool is_spool(FILE *file)
{
    char magic[8] = "";
    bool is_one = fread(magic, 1, sizeof magic, file) == sizeof magic && memcmp(magic, "CSPN", 4) == 0;
    rewind(file);
    return is_one;
}

/* INVALID: neither lines of JSON nor part of a spool; err says what it is. The name may be that of a folder
 * or missing, which the library reports. */
static enum status open_input(const char *name, struct input *input, struct error *err)
{
    struct stat facts;
    FILE *file = NULL;
    *input = (struct input){.path = xstrdup(name)};
    bool is_stream = trace_source_is_stream(name);
    if (!is_stream && (stat(name, &facts) != 0 || S_ISDIR(facts.st_mode)))
        return STATUS_OK;
    if (trace_source_is_recording(name))
        return complain(name, "it is a recording; send it with cuspan replay", err);
    enum status status = trace_source_open(name, &file, err);
    if (status != STATUS_OK)
        return status;
    bool is_plain = !is_stream && is_spool(file);
    int fd = fileno(file);
    if (!is_plain)
        status = lseek(fd, 0, SEEK_SET) == 0 ? check(fd, name, err) : STATUS_IO;
    if (status == STATUS_OK && !is_plain && lseek(fd, 0, SEEK_SET) == 0)
        status = unpack(name, &file, err);
    if (status != STATUS_OK || (!is_stream && fileno(file) == fd)) {
        fclose(file);
        return status;
    }
    free(input->path);
    input->path = xasprintf("/proc/self/fd/%d", fileno(file));
    input->file = file;
    return STATUS_OK;
}

static void close_input(struct input *input)
{
    free(input->path);
    if (input->file)
        fclose(input->file);
}

static enum status open_inputs(struct sending *sending, struct error *err)
{
    enum status status = STATUS_OK;
    sending->inputs = xcalloc(sending->names.count + 1, sizeof *sending->inputs);
    for (size_t i = 0; status == STATUS_OK && i < sending->names.count; i++)
        status = open_input(sending->names.items[i], &sending->inputs[i], err);
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

int cmd_send(const struct command *command, int argc, char **argv)
{
    struct sending sending = {0};
    struct options options;
    const struct option_target targets[] = {
        {OPTION_OPERAND, .list = &sending.names},
        {OPTION_TIMEOUT, .number = &sending.patience_s, .min = 1, .max = PATIENCE_S_MAX},
        {0}};
    options_init(&options, command, argc, argv);
    int result = options_read(&options, targets, injection_take_option, &sending.injection)
                     ? run_send(&sending)
                     : options.status;
    for (size_t i = 0; sending.inputs && i < sending.names.count; i++)
        close_input(&sending.inputs[i]);
    free(sending.inputs);
    free(sending.names.items);
    injection_deinit(&sending.injection);
    return result;
}
