#include "export/spool/spool.h"

#include "base/process/cpu_time.h"
#include "base/process/agent_thread.h"
#include "base/clock.h"
#include "base/log.h"
#include "export/compress/codec.h"
#include "export/compress/compress.h"
#include "export/operations.h"
#include "export/spool/spool_recovery.h"
#include "export/spool/spool_writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STACK_BYTES   (512 * 1024)         /* as the exporter's thread, which sends where there is no spool */
#define TICK_NS       (1 * NS_PER_SECOND)  /* the counts of what was made go into the ledger so often */
#define LOOK_EVERY_NS (30 * NS_PER_SECOND) /* for what others have left */

struct spool {
    struct output output;
    struct delivery_control *control;
    struct output *sender;
    pthread_mutex_t sending; /* who may use it */
    const struct codec *codec;
    struct compressor *compressor; /* NULL: none wanted */
    struct iovec *parts;           /* of the body that is appended */
    size_t parts_capacity;

    pthread_mutex_t lock; /* guards these two */
    struct spool_source own;
    struct spool_writer writer;
    _Atomic uint64_t written; /* spans of ours, and those that have met their fate or are another's by now */
    _Atomic uint64_t passed;
    atomic_bool no_more; /* will be written */

    /* The spool's thread's. */
    pthread_t thread;
    bool has_thread;
    struct spool_source other;
    bool has_other;
    char last_other[SPOOL_SOURCE_BYTES]; /* the search goes on behind it */
    uint64_t look_at_ns;
    uint64_t retry_at_ns; /* a record that couldn't be read */

    /* What has been said: by the exporter's thread, by the spool's. */
    bool told_full, told_error, told_reading, told_damaged;

    /* Constant. */
    char *path;
    struct operations *operations;
    unsigned number;  /* of the output, for the counters */
    const char *what; /* is written: spans, or metrics */
    enum counter made, recovered, recovered_lost;
    uint8_t compression;
};

static struct spool *spool_of(struct output *output)
{
    return (struct spool *)output;
}

static void wake_all(struct spool *spool)
{
    pthread_mutex_lock(&spool->control->lock);
    pthread_cond_broadcast(&spool->control->changed);
    pthread_mutex_unlock(&spool->control->lock);
}

static bool is_empty(struct spool *spool)
{
    return atomic_load(&spool->passed) >= atomic_load(&spool->written);
}

static bool is_over(struct spool *spool)
{
    return delivery_control_aborted(spool->control) ||
           clock_monotonic_ns() >= delivery_control_stop_at_ns(spool->control);
}

/* ---- writing, on the exporter's thread ---- */

static bool reserve_parts(struct spool *spool, const struct batch *batch)
{
    size_t needed = 1;
    for (const struct chunk *chunk = batch->chunks; chunk; chunk = chunk->next)
        needed++;
    if (needed <= spool->parts_capacity)
        return true;
    struct iovec *parts = realloc(spool->parts, needed * sizeof *parts);
    if (!parts)
        return false;
    spool->parts = parts;
    spool->parts_capacity = needed;
    return true;
}

/* Compressed, all chunks but the first go back at once. What doesn't get smaller stays as it is. */
static void prepare(struct spool *spool, struct batch *batch, struct stored_body *stored)
{
    const uint8_t *compressed;
    size_t bytes;
    *stored = (struct stored_body){.parts = spool->parts, .spans = batch->spans, .format = batch->format};
    if (spool->compressor &&
        compress_chunks(spool->compressor, batch->chunks, &compressed, &bytes) == STATUS_OK) {
        chunk_give_back(batch->pool, batch->chunks->next);
        batch->chunks->next = NULL;
        spool->parts[stored->part_count++] =
            (struct iovec){.iov_base = (void *)(uintptr_t)compressed, .iov_len = bytes};
        stored->encoding = spool->codec->encoding;
        return;
    }
    for (struct chunk *chunk = batch->chunks; chunk; chunk = chunk->next)
        spool->parts[stored->part_count++] =
            (struct iovec){.iov_base = chunk->data + chunk->begin, .iov_len = chunk->end - chunk->begin};
}

static enum status append(struct spool *spool, const struct stored_body *stored, struct error *err)
{
    char before[SPOOL_SOURCE_BYTES];
    struct spool_record record = {.time_ns = clock_read_ns(CLOCK_REALTIME),
                                  .spans = stored->spans,
                                  .format = stored->format,
                                  .compression = stored->encoding ? spool->compression : COMPRESSION_NONE};
    pthread_mutex_lock(&spool->lock);
    memcpy(before, spool->own.name, sizeof before);
    uint64_t waiting = spool_source_waiting(&spool->own);
    enum status status = spool_writer_append(&spool->writer, &spool->own, spool->number, &record,
                                             stored->parts, stored->part_count, err);
    if (strcmp(before, spool->own.name) != 0)
        atomic_fetch_add(&spool->passed, waiting); /* its lock was lost: another process delivers that */
    if (status == STATUS_OK) {
        counter_output_spooled(spool->number, stored->spans);
        atomic_fetch_add(&spool->written, stored->spans);
    }
    pthread_mutex_unlock(&spool->lock);
    return status;
}

static void send_from_memory(struct spool *spool, const struct stored_body *stored, struct delivery *delivery)
{
    pthread_mutex_lock(&spool->sending);
    sender_deliver_stored(spool->sender, stored, false, delivery);
    pthread_mutex_unlock(&spool->sending);
}

static void tell_error(struct spool *spool, const struct error *err)
{
    if (!spool->told_error)
        log_warn("%s: %s are sent from memory, as without a spool, until that changes", err->text,
                 spool->what);
    spool->told_error = true;
}

/* The disk takes nothing. What lies on it goes first, so that the order is kept; meanwhile it is asked again.
 */
static void wait_and_send(struct spool *spool, const struct stored_body *stored, struct delivery *delivery)
{
    struct error err;
    while (!is_over(spool)) {
        if (is_empty(spool)) {
            send_from_memory(spool, stored, delivery);
            return;
        }
        pthread_mutex_lock(&spool->control->lock);
        (void)delivery_control_wait_locked(spool->control, clock_monotonic_ns() + TICK_NS);
        pthread_mutex_unlock(&spool->control->lock);
        if (append(spool, stored, &err) == STATUS_OK)
            return;
    }
    delivery->lost = stored->spans;
    delivery->reason = COUNTER_lost_deadline;
}

static void refuse_as_full(struct spool *spool, const struct stored_body *stored, struct delivery *delivery)
{
    delivery->lost = stored->spans;
    delivery->reason = COUNTER_lost_spool_full;
    if (!spool->told_full)
        log_warn("the spool %s is full (%llu MiB): further %s are lost until some of it is delivered; "
                 "raise distribution.cuspan.spool.bytes_max",
                 spool->path, (unsigned long long)(spool->writer.bytes_max >> 20), spool->what);
    spool->told_full = true;
}

static void spool_deliver(struct output *output, struct batch *batch, struct delivery *delivery)
{
    struct spool *spool = spool_of(output);
    struct stored_body stored;
    struct error err = {""};
    if (!reserve_parts(spool, batch)) {
        delivery->lost = batch->spans;
        delivery->reason = COUNTER_lost_unreachable;
        return;
    }
    prepare(spool, batch, &stored);
    enum status status = append(spool, &stored, &err);
    if (status == STATUS_OK) {
        if (spool->told_full || spool->told_error)
            log_info("%s are written to the spool %s again", spool->what, spool->path);
        spool->told_full = spool->told_error = false;
        wake_all(spool);
    } else if (status == STATUS_FULL) {
        refuse_as_full(spool, &stored, delivery);
    } else {
        tell_error(spool, &err);
        wait_and_send(spool, &stored, delivery);
    }
}

/* ---- delivering, on the spool's thread ---- */

bool spool_send_record(struct output *sender, struct spool_source *source, const struct spool_record *record,
                       bool for_ever, struct delivery *delivery)
{
    const struct codec *codec = compress_codec(record->compression);
    const struct iovec part = {.iov_base = source->body, .iov_len = record->bytes};
    const struct stored_body stored = {.parts = &part,
                                       .part_count = 1,
                                       .encoding = codec ? codec->encoding : NULL,
                                       .spans = record->spans,
                                       .format = record->format,
                                       .is_kept = true};
    sender_deliver_stored(sender, &stored, for_ever, delivery);
    counter_add(COUNTER_batches_resent, delivery->resent);
    counter_add(COUNTER_bytes_sent, delivery->bytes_sent);
    if (delivery->accepted)
        counter_add(COUNTER_batches_sent, 1);
    bool has_fate = delivery->accepted || delivery->reason == COUNTER_lost_refused;
    return has_fate || record->spans == 0;
}

static bool send_record(struct spool *spool, struct spool_source *source, const struct spool_record *record,
                        struct delivery *delivery)
{
    pthread_mutex_lock(&spool->sending);
    bool is_gone = spool_send_record(spool->sender, source, record, true, delivery);
    pthread_mutex_unlock(&spool->sending);
    operations_note(spool->operations, spool->number, delivery, clock_monotonic_ns());
    return is_gone;
}

static void tell_damaged(struct spool *spool, uint64_t spans)
{
    if (!spool->told_damaged)
        log_warn("the spool %s is damaged: %llu %s are lost", spool->path, (unsigned long long)spans,
                 spool->number == METRICS_OUTPUT ? "data points" : "spans");
    spool->told_damaged = true;
}

static void tell_reading(struct spool *spool, const char *what)
{
    if (!spool->told_reading)
        log_warn("%s; it is tried again", what);
    spool->told_reading = true;
}

static void count_own(struct spool *spool, const struct delivery *delivery)
{
    counter_output_delivered(spool->number, delivery->delivered);
    if (delivery->lost > 0)
        counter_output_lost(spool->number, delivery->reason, delivery->lost);
    counter_output_spooled(spool->number, -(int64_t)(delivery->delivered + delivery->lost));
    atomic_fetch_add(&spool->passed, delivery->delivered + delivery->lost);
}

static void count_damaged(struct spool *spool, uint64_t damaged)
{
    if (!damaged)
        return;
    tell_damaged(spool, damaged);
    counter_output_lost(spool->number, COUNTER_lost_spool_damaged, damaged);
    counter_output_spooled(spool->number, -(int64_t)damaged);
    atomic_fetch_add(&spool->passed, damaged);
}

static enum spool_turn read_own_locked(struct spool *spool, struct spool_record *record)
{
    uint64_t damaged = 0;
    struct error err = {""};
    enum spool_turn turn = SPOOL_TROUBLE;
    if (!*spool->own.name || is_empty(spool))
        return SPOOL_NOTHING;
    int folder = spool_folder_open(spool->path, false, &err);
    if (folder >= 0) {
        char reason[128];
        turn = spool_source_next(&spool->own, folder, &spool->writer.end, record, &damaged);
        error_set(&err, STATUS_IO, "can't read the spool %.300s: %s", spool->path,
                  strerror_r(errno, reason, sizeof reason));
        close(folder);
    }
    if (turn == SPOOL_TROUBLE) {
        tell_reading(spool, err.text);
        spool->retry_at_ns = clock_monotonic_ns() + TICK_NS;
    }
    count_damaged(spool, damaged);
    if (damaged)
        (void)spool_source_write_ledger(&spool->own);
    return turn;
}

/* Whether there was one, and it met its fate. */
static bool deliver_own(struct spool *spool)
{
    char name[SPOOL_SOURCE_BYTES];
    struct spool_record record;
    struct delivery delivery = {0};
    if (clock_monotonic_ns() < spool->retry_at_ns)
        return false;
    pthread_mutex_lock(&spool->lock);
    enum spool_turn turn = read_own_locked(spool, &record);
    memcpy(name, spool->own.name, sizeof name);
    pthread_mutex_unlock(&spool->lock);
    if (turn != SPOOL_RECORD || !send_record(spool, &spool->own, &record, &delivery)) {
        if (turn == SPOOL_RECORD) /* the export module is missing, or the end has come */
            spool->retry_at_ns = clock_monotonic_ns() + TICK_NS;
        return false;
    }
    pthread_mutex_lock(&spool->lock);
    count_own(spool, &delivery);
    if (strcmp(name, spool->own.name) == 0) {
        spool_source_pass(&spool->own, &record, delivery.delivered);
        (void)spool_source_write_ledger(&spool->own);
    }
    pthread_mutex_unlock(&spool->lock);
    wake_all(spool);
    return true;
}

static bool take_other(struct spool *spool, int folder)
{
    struct spool_list list;
    struct spool_recovery recovery;
    if (spool_list_read(folder, &list) != STATUS_OK)
        return false;
    for (size_t i = 0; i < list.count && !spool->has_other; i++) {
        const char *name = list.sources[i].name;
        if (list.sources[i].output != spool->number || strcmp(name, spool->last_other) <= 0 ||
            spool_writer_owns(name))
            continue;
        spool->has_other = spool_source_take(&spool->other, folder, name) == STATUS_OK;
    }
    spool_list_deinit(&list);
    if (!spool->has_other)
        return false;
    memcpy(spool->last_other, spool->other.name, SPOOL_SOURCE_BYTES);
    spool_recovery_read(&spool->other, folder, &recovery);
    counter_add(spool->recovered_lost, recovery.lost);
    if (*recovery.line)
        (recovery.is_sudden ? log_warn : log_info)("%s", recovery.line);
    return true;
}

static void end_other(struct spool *spool, int folder, bool is_done)
{
    spool_source_release(&spool->other, folder, is_done);
    spool->has_other = false;
}

static bool send_other(struct spool *spool, int folder)
{
    struct spool_record record;
    struct delivery delivery = {0};
    uint64_t damaged = 0;
    enum spool_turn turn = spool_source_next(&spool->other, folder, NULL, &record, &damaged);
    counter_add(spool->recovered_lost, damaged);
    if (turn != SPOOL_RECORD) {
        end_other(spool, folder, turn == SPOOL_NOTHING);
        return turn == SPOOL_NOTHING;
    }
    if (!send_record(spool, &spool->other, &record, &delivery)) {
        end_other(spool, folder, false);
        return false;
    }
    counter_add(spool->recovered, delivery.delivered);
    counter_add(spool->recovered_lost, delivery.lost);
    spool_source_pass(&spool->other, &record, delivery.delivered);
    (void)spool_source_write_ledger(&spool->other);
    return true;
}

/* Whether something was done. */
static bool deliver_other(struct spool *spool)
{
    uint64_t now_ns = clock_monotonic_ns();
    struct error err;
    if (!spool->has_other && now_ns < spool->look_at_ns)
        return false;
    int folder = spool_folder_open(spool->path, false, &err);
    if (folder < 0) { /* which is told where something of ours is to be written */
        spool->look_at_ns = now_ns + LOOK_EVERY_NS;
        return false;
    }
    bool has_done = (spool->has_other || take_other(spool, folder)) && send_other(spool, folder);
    if (!spool->has_other && !has_done) { /* from the oldest again, in a while */
        *spool->last_other = 0;
        spool->look_at_ns = now_ns + LOOK_EVERY_NS;
    }
    close(folder);
    return has_done;
}

/* What was made since the last request, for whoever counts what a killed process had. */
static void note_made(struct spool *spool)
{
    uint64_t made = counter_get(spool->made);
    pthread_mutex_lock(&spool->lock);
    if (spool->own.ledger.made != made && spool_file_is_held(&spool->own.ledger_file)) {
        spool->own.ledger.made = made;
        (void)spool_source_write_ledger(&spool->own);
    }
    pthread_mutex_unlock(&spool->lock);
}

static void pause_shortly(struct spool *spool)
{
    uint64_t until_ns = clock_monotonic_ns() + TICK_NS;
    struct delivery_control *control = spool->control;
    uint64_t stop_at_ns = delivery_control_stop_at_ns(control);
    bool is_stopping = stop_at_ns != UINT64_MAX, in_time = true;
    pthread_mutex_lock(&control->lock);
    while (in_time && !delivery_control_aborted(control) &&
           delivery_control_stop_at_ns(control) == stop_at_ns &&
           !(is_stopping && atomic_load(&spool->no_more)) &&
           (is_empty(spool) || clock_monotonic_ns() < spool->retry_at_ns))
        in_time = delivery_control_wait_locked(control,
                                               is_stopping && stop_at_ns < until_ns ? stop_at_ns : until_ns);
    pthread_mutex_unlock(&control->lock);
    note_made(spool);
}

static void *run(void *argument)
{
    struct spool *spool = argument;
    pthread_setname_np(pthread_self(), "cuspan/spool");
    cpu_time_start(OWN_SENDER);
    spool->sender->open(spool->sender);
    while (!is_over(spool)) {
        bool has_done = deliver_own(spool);
        if (delivery_control_stop_at_ns(spool->control) == NEVER_NS)
            has_done |= deliver_other(spool);
        else if (atomic_load(&spool->no_more) && (is_empty(spool) || !has_done))
            break;
        if (!has_done)
            pause_shortly(spool);
    }
    if (spool->has_other)
        end_other(spool, -1, false);
    return NULL;
}

/* ---- life ---- */

/* On the exporter's thread. */
static void spool_open(struct output *output)
{
    struct spool *spool = spool_of(output);
    struct error err;
    int folder = spool_folder_open(spool->path, true, &err);
    if (folder < 0)
        tell_error(spool, &err);
    else
        close(folder);
    spool->has_thread = agent_thread_start(&spool->thread, STACK_BYTES, run, spool) == 0;
    if (spool->has_thread)
        return;
    log_warn("no thread for the spool %s: what is written there is delivered by the next process",
             spool->path);
    spool->sender->open(spool->sender);
}

static void end_own(struct spool *spool)
{
    char name[SPOOL_SOURCE_BYTES];
    struct error err;
    memcpy(name, spool->own.name, sizeof name);
    int folder = *name ? spool_folder_open(spool->path, false, &err) : -1;
    spool->own.ledger.made = counter_get(spool->made);
    spool->own.ledger.has_ended = true;
    if (folder >= 0)
        (void)spool_source_write_ledger(&spool->own);
    spool_source_release(&spool->own, folder, folder >= 0 && is_empty(spool));
    spool_writer_deinit(&spool->writer, name);
    if (folder >= 0)
        close(folder);
}

static void spool_finish(struct output *output)
{
    struct spool *spool = spool_of(output);
    atomic_store(&spool->no_more, true);
    wake_all(spool);
    if (spool->has_thread)
        pthread_join(spool->thread, NULL);
    spool->has_thread = false;
    end_own(spool);
}

static void spool_wake(struct output *output)
{
    struct spool *spool = spool_of(output);
    spool->sender->wake(spool->sender);
}

static bool spool_settle(struct output *output, uint64_t deadline_ns)
{
    struct spool *spool = spool_of(output);
    uint64_t written = atomic_load(&spool->written);
    bool in_time = true;
    pthread_mutex_lock(&spool->control->lock);
    while (atomic_load(&spool->passed) < written && in_time)
        in_time = delivery_control_wait_locked(spool->control, deadline_ns);
    pthread_mutex_unlock(&spool->control->lock);
    return atomic_load(&spool->passed) >= written;
}

static void spool_destroy(struct output *output)
{
    struct spool *spool = spool_of(output);
    if (spool->sender)
        spool->sender->destroy(spool->sender);
    compressor_destroy(spool->compressor);
    pthread_mutex_destroy(&spool->lock);
    pthread_mutex_destroy(&spool->sending);
    free(spool->parts);
    free(spool->path);
    free(spool);
}

enum status spool_create(const struct output_settings *settings,
                         const struct exporter_environment *environment, struct delivery_control *control,
                         struct output **output)
{
    struct spool *spool = calloc(1, sizeof *spool);
    if (!spool)
        return STATUS_NO_MEMORY;
    spool->output = (struct output){.open = spool_open,
                                    .deliver = spool_deliver,
                                    .finish = spool_finish,
                                    .settle = spool_settle,
                                    .wake = spool_wake,
                                    .destroy = spool_destroy};
    spool->control = control;
    bool is_metrics = settings->signal == SIGNAL_METRICS;
    spool->number = environment->output;
    spool->what = is_metrics ? "metrics" : "spans";
    spool->made = is_metrics ? COUNTER_points_made : COUNTER_spans_created;
    spool->recovered = is_metrics ? COUNTER_recovered_points : COUNTER_recovered_spans;
    spool->recovered_lost = is_metrics ? COUNTER_recovered_points_lost : COUNTER_recovered_lost;
    spool->operations = environment->operations;
    spool->own = spool->other = (struct spool_source){.ledger_file = SPOOL_NO_FILE, .segment = SPOOL_NO_FILE};
    pthread_mutex_init(&spool->lock, NULL);
    pthread_mutex_init(&spool->sending, NULL);
    struct output_settings sending = *settings;
    sending.exporter.compression = COMPRESSION_NONE; /* that is done before */
    enum status status = sender_create(&sending, environment, control, &spool->sender);
    spool->compression = (uint8_t)settings->exporter.compression;
    spool->codec = compress_codec(settings->exporter.compression);
    if (status == STATUS_OK && spool->codec)
        status = compressor_create(spool->codec, spool->codec->level_default, &spool->compressor);
    if (status == STATUS_OK && !(spool->path = strdup(settings->spool_directory)))
        status = STATUS_NO_MEMORY;
    if (status != STATUS_OK) {
        spool_destroy(&spool->output);
        return status;
    }
    spool_writer_init(&spool->writer, spool->path, settings->spool_bytes_max);
    *output = &spool->output;
    return STATUS_OK;
}
