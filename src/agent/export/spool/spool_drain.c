#include "agent/export/spool/spool_drain.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/log/log.h"
#include "base/text/sanitize.h"
#include "agent/export/otlp/sender.h"
#include "agent/export/spool/spool.h"
#include "agent/export/spool/spool_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct spool_drain {
    struct delivery_control control;
    struct output *sender;
    bool is_open, is_metrics;
    char name[256];
};

enum status spool_drain_create(const struct output_settings *settings,
                               const struct output_environment *environment, struct spool_drain **drain)
{
    struct spool_drain *made = calloc(1, sizeof *made);
    struct output_settings plain = *settings;
    plain.exporter.compression = COMPRESSION_NONE;
    plain.spool_directory = NULL;
    plain.queue_spans_max = 0;
    if (!made)
        return STATUS_NO_MEMORY;
    delivery_control_init(&made->control);
    made->is_metrics = settings->signal == SIGNAL_METRICS;
    sanitize_url(made->name, sizeof made->name, settings->exporter.endpoint);
    if (sender_create(&plain, environment, &made->control, &made->sender) != STATUS_OK) {
        spool_drain_destroy(made);
        return STATUS_NO_MEMORY;
    }
    *drain = made;
    return STATUS_OK;
}

void spool_drain_destroy(struct spool_drain *drain)
{
    if (!drain)
        return;
    if (drain->sender)
        drain->sender->destroy(drain->sender);
    delivery_control_deinit(&drain->control);
    free(drain);
}

static struct output *sender_of(struct spool_drain *drain, struct send_result *result)
{
    if (!drain->is_open)
        drain->sender->open(drain->sender);
    drain->is_open = true;
    snprintf(drain->is_metrics ? result->metrics_endpoint : result->endpoint, sizeof result->endpoint, "%s",
             drain->name);
    return drain->sender;
}

static void tell_progress(const struct send_request *request, uint64_t done, uint64_t total)
{
    if (request->progress)
        request->progress(request->context, done, total);
}

struct round {
    const struct send_request *request;
    struct send_result *result;
    uint64_t done, total; /* bytes */
    bool has_stopped;     /* the collector accepts nothing more */
    bool warned[2];       /* no destination for spans, for metrics */
};

/* STATUS_END: the source is empty. */
static enum status send_source(struct spool_drain *drain, struct spool_source *source, int folder,
                               struct round *round)
{
    struct send_result *result = round->result;
    struct output *sender = sender_of(drain, result);
    struct spool_record record;
    for (;;) {
        struct delivery delivery = {0};
        uint64_t damaged = 0;
        enum spool_turn turn = spool_source_next(source, folder, NULL, &record, &damaged);
        result->lost += damaged;
        if (turn != SPOOL_RECORD)
            return turn == SPOOL_NOTHING ? STATUS_END : STATUS_IO;
        if (!spool_send_record(sender, source, &record, false, &delivery))
            return STATUS_UNAVAILABLE;
        *(drain->is_metrics ? &result->points : &result->delivered) += delivery.delivered;
        result->lost += delivery.lost;
        result->resent += delivery.resent;
        spool_source_pass(source, &record, delivery.delivered);
        (void)spool_source_write_ledger(source);
        round->done += record.bytes;
        tell_progress(round->request, round->done, round->total);
    }
}

/* `drain` NULL: the spool keeps it. */
static void send_found(struct spool_drain *drain, const struct spool_found_source *found, bool is_metrics,
                       int folder, struct round *round)
{
    struct spool_source source;
    struct spool_recovery recovery;
    enum status status = spool_source_take(&source, folder, found->name, found->last_segment);
    round->result->busy += status == STATUS_UNAVAILABLE;
    if (status == STATUS_IO)
        log_warn("cannot open %s.ledger (%s); its spans stay in the spool", found->name, strerror(errno));
    if (status != STATUS_OK)
        return;
    spool_recovery_read(&source, folder, &recovery);
    round->result->lost_before += recovery.lost;
    if (recovery.is_sudden)
        log_warn("%s", recovery.line);
    bool can_send = drain && !round->has_stopped;
    status = can_send ? send_source(drain, &source, folder, round) : STATUS_UNAVAILABLE;
    if (status != STATUS_END) {
        spool_recovery_read(&source, folder, &recovery);
        round->result->left += recovery.here;
        round->has_stopped |= drain != NULL;
    }
    if (!drain && !round->warned[is_metrics])
        log_warn(is_metrics ? "cannot send the metrics in the spool: no endpoint is set; set "
                              "OTEL_METRICS_EXPORTER=otlp and OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
                            : "cannot send the spans in the spool: no endpoint is set; use --endpoint URL");
    round->warned[is_metrics] |= !drain;
    spool_source_release(&source, folder, status == STATUS_END);
}

enum status spool_drain_folder(struct spool_drain *const drains[OUTPUT_NUMBERS], const char *path,
                               const char *only, const struct send_request *request,
                               struct send_result *result, struct error *err)
{
    struct spool_list list;
    struct round round = {.request = request, .result = result};
    int folder = spool_files_open_folder(path, false, err);
    if (folder < 0)
        return STATUS_UNAVAILABLE;
    enum status status = spool_files_list(folder, "", &list);
    round.total = list.bytes;
    for (bool has_more = status == STATUS_OK; has_more;) {
        for (size_t i = 0; i < list.count; i++) {
            const struct spool_found_source *found = &list.sources[i];
            if (!only || strcmp(only, found->name) == 0)
                send_found(drains[found->output < OUTPUT_NUMBERS ? found->output : 0], found,
                           found->output == METRICS_OUTPUT, folder, &round);
        }
        char last[SPOOL_SOURCE_BYTES] = "";
        if (list.count > 0)
            memcpy(last, list.sources[list.count - 1].name, sizeof last);
        has_more = list.has_more;
        spool_files_list_deinit(&list);
        if (has_more)
            has_more = (status = spool_files_list(folder, last, &list)) == STATUS_OK;
    }
    close(folder);
    if (status != STATUS_OK)
        return error_set(err, status, "cannot read the spool %.300s (%s); check the directory", path,
                         status_text(status));
    return STATUS_OK;
}

#define DEPTH_MAX 128

/* Just enough JSON to tell whether the text is complete and to count the objects in arrays named "spans". */
struct walk {
    const char *at;
    const char *end;
    int depth;
    int spans_depth; /* of the array that is being counted; 0: none */
    bool after_spans_key;
    bool has_resource_spans;
    int64_t spans;
};

/* Skips a string. False if it is not terminated. */
static bool take_string(struct walk *walk)
{
    const char *begin = ++walk->at;
    while (walk->at < walk->end && *walk->at != '"')
        walk->at += *walk->at == '\\' ? 2 : 1;
    if (walk->at >= walk->end)
        return false;
    size_t length = (size_t)(walk->at - begin);
    walk->after_spans_key = length == 5 && memcmp(begin, "spans", 5) == 0;
    walk->has_resource_spans |= walk->depth == 1 && length == 13 && memcmp(begin, "resourceSpans", 13) == 0;
    return true;
}

static bool take(struct walk *walk)
{
    switch (*walk->at) {
    case '"':
        return take_string(walk);
    case '{':
        walk->spans += walk->spans_depth && walk->depth == walk->spans_depth;
        walk->depth++;
        break;
    case '[':
        walk->depth++;
        if (walk->after_spans_key && !walk->spans_depth)
            walk->spans_depth = walk->depth;
        break;
    case '}':
    case ']':
        if (walk->spans_depth == walk->depth)
            walk->spans_depth = 0;
        walk->depth--;
        break;
    case ':':
    case ' ':
    case '\t':
        return true; /* the next value still belongs to the key */
    default:
        break;
    }
    walk->after_spans_key = false;
    return walk->depth >= 0 && walk->depth <= DEPTH_MAX;
}

int64_t json_spans_count(const char *line, size_t bytes)
{
    struct walk walk = {.at = line, .end = line + bytes};
    if (bytes == 0 || *line != '{')
        return -1;
    for (; walk.at < walk.end; walk.at++)
        if (!take(&walk))
            return -1;
    return walk.depth == 0 && walk.has_resource_spans ? walk.spans : -1;
}

/* False: the collector accepts nothing more. */
static bool send_line(struct spool_drain *drain, const char *line, size_t bytes, uint32_t spans,
                      struct send_result *result)
{
    struct iovec parts[] = {{0}, {.iov_base = (void *)(uintptr_t)line, .iov_len = bytes}};
    const struct request_body body = {
        .parts = parts, .part_count = 1, .spans = spans, .format = BATCH_JSON, .is_kept = true};
    struct delivery delivery = {0};
    sender_deliver_body(sender_of(drain, result), &body, false, &delivery);
    result->resent += delivery.resent;
    if (!delivery.accepted && delivery.reason != COUNTER_lost_refused)
        return false;
    result->delivered += delivery.delivered;
    result->lost += delivery.lost;
    return true;
}

enum status spool_drain_lines(struct spool_drain *drain, const char *path, const char *name,
                              const struct send_request *request, struct send_result *result,
                              struct error *err)
{
    char *line = NULL;
    size_t size = 0, number = 0, skipped = 0, first_skipped = 0;
    ssize_t bytes;
    bool is_over = false;
    FILE *file = files_open_stream(path);
    if (!file)
        return error_set(err, STATUS_NOT_FOUND, "cannot open %.300s (%s); check the path", path,
                         strerror(errno));
    fseeko(file, 0, SEEK_END);
    uint64_t total = (uint64_t)ftello(file), done = 0;
    rewind(file);
    while ((bytes = getline(&line, &size, file)) > 0) {
        number++;
        done += (uint64_t)bytes;
        size_t length = (size_t)bytes - (line[bytes - 1] == '\n');
        int64_t spans = json_spans_count(line, length);
        if (spans < 0 && length > 0 && skipped++ == 0)
            first_skipped = number;
        if (spans <= 0)
            continue;
        is_over |= is_over || !send_line(drain, line, length, (uint32_t)spans, result);
        if (is_over)
            result->left += (uint64_t)spans;
        tell_progress(request, done, total);
    }
    if (skipped)
        log_warn("%s:%zu: skipped (not a complete OTLP JSON request)%s; check that the file is complete",
                 name, first_skipped, skipped > 1 ? ", and so are later lines" : "");
    result->skipped += skipped;
    free(line);
    fclose(file);
    return STATUS_OK;
}
