#include "agent/export/spool/spool.h"

#include "base/clock.h"
#include "base/log/log.h"
#include "base/process/agent_thread.h"
#include "base/process/cpu_time.h"
#include "agent/export/compress/compress.h"
#include "agent/export/delivery/operations.h"
#include "agent/export/spool/spool_source.h"
#include "agent/export/spool/spool_writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STACK_BYTES      (512 * 1024)         /* as the exporter's thread, which sends without a spool */
#define TICK_NS          (1 * NS_PER_SECOND)  /* interval of retries and of updates of the ledger */
#define LIST_INTERVAL_NS (30 * NS_PER_SECOND) /* of searches for other processes' sources */

struct spool {
    struct output output;
    struct delivery_control *control;
    struct output *sender;
    pthread_mutex_t sender_lock;
    struct packer packer;

    pthread_mutex_t lock; /* guards own and writer */
    struct spool_source own;
    struct spool_writer writer;
    _Atomic uint64_t written; /* our spans */
    _Atomic uint64_t passed;  /* of those: delivered, lost, or taken over by another process */
    atomic_bool is_finished;  /* nothing more will be written */

    /* Used by the spool's thread. */
    pthread_t thread;
    bool has_thread;
    struct spool_source other; /* of a process that has ended */
    bool has_other;
    struct spool_list others;            /* found by the last search */
    size_t next_other;                   /* of these */
    char last_other[SPOOL_SOURCE_BYTES]; /* the search continues after this name */
    uint64_t list_at_ns;                 /* time of the next search */
    uint64_t retry_at_ns;                /* of a record that could not be read or sent */

    /* Each is logged once until it works again. The first two belong to the exporter's thread. */
    bool warned_full, warned_error, warned_reading, warned_damaged;

    /* Constant. */
    char *path;
    struct operations *operations;
    unsigned number;  /* of the output, for the counters */
    const char *what; /* "spans" or "metrics" */
    enum counter made, recovered, recovered_lost;
    uint8_t compression;
};

static bool is_empty(struct spool *spool)
{
    return atomic_load(&spool->passed) >= atomic_load(&spool->written);
}

static void count_taken_locked(struct spool *spool)
{
    atomic_fetch_add(&spool->passed, spool->writer.taken);
    spool->writer.taken = 0;
}

/* Whether our source is held, after it was taken again if necessary. False: there is none, or `err` tells why
 * it cannot be taken now. */
static bool hold_own_locked(struct spool *spool, struct error *err)
{
    if (!*spool->own.name || spool_file_is_held(&spool->own.ledger_file))
        return *spool->own.name;
    int folder = spool_files_open_folder(spool->path, false, err);
    if (folder < 0)
        return false;
    bool is_held = spool_writer_hold(&spool->writer, &spool->own, folder) == STATUS_OK;
    if (!is_held)
        error_set(err, STATUS_IO, "cannot read the spool %.300s (%m)", spool->path);
    count_taken_locked(spool);
    close(folder);
    return is_held;
}

static enum status append(struct spool *spool, const struct request_body *body, struct error *err)
{
    struct spool_record record = {.time_ns = clock_read_ns(CLOCK_REALTIME),
                                  .spans = body->spans,
                                  .format = body->format,
                                  .compression = body->encoding ? spool->compression : COMPRESSION_NONE};
    pthread_mutex_lock(&spool->lock);
    (void)spool_writer_set_made(&spool->writer, &spool->own, counter_get(spool->made));
    enum status status = spool_writer_append(&spool->writer, &spool->own, spool->number, &record,
                                             body->parts + 1, body->part_count, err);
    count_taken_locked(spool);
    if (status == STATUS_OK) {
        counter_output_spooled(spool->number, body->spans);
        atomic_fetch_add(&spool->written, body->spans);
    }
    pthread_mutex_unlock(&spool->lock);
    return status;
}

static void warn_error(struct spool *spool, const struct error *err)
{
    if (!spool->warned_error)
        log_warn("%s; %s are sent from memory until the spool can be written", err->text, spool->what);
    spool->warned_error = true;
}

/* The spool cannot be written. Waits until it is empty, to keep the order, and retries writing meanwhile. */
static void wait_and_send(struct spool *spool, const struct request_body *body, struct delivery *delivery)
{
    struct error err;
    while (!delivery_control_is_over(spool->control)) {
        if (is_empty(spool)) {
            pthread_mutex_lock(&spool->sender_lock);
            sender_deliver_body(spool->sender, body, false, delivery);
            pthread_mutex_unlock(&spool->sender_lock);
            return;
        }
        pthread_mutex_lock(&spool->control->lock);
        (void)delivery_control_wait_locked(spool->control, clock_monotonic_ns() + TICK_NS);
        pthread_mutex_unlock(&spool->control->lock);
        if (append(spool, body, &err) == STATUS_OK)
            return;
    }
    delivery_lose(delivery, body->spans, COUNTER_lost_deadline);
}

static void refuse_as_full(struct spool *spool, const struct request_body *body, struct delivery *delivery)
{
    delivery_lose(delivery, body->spans, COUNTER_lost_spool_full);
    if (!spool->warned_full)
        log_warn("the spool %s is full (%llu MiB); new %s are lost until the collector accepts the old ones; "
                 "raise distribution.cuspan.spool.bytes_max",
                 spool->path, (unsigned long long)(spool->writer.bytes_max >> 20), spool->what);
    spool->warned_full = true;
}

/* Small batches still fit in a full spool, and a slow collector frees space for one after the other. So it is
 * no longer full when half of it is free. */
static void note_written(struct spool *spool)
{
    bool has_room = spool->writer.used <= spool->writer.bytes_max / 2;
    if (spool->warned_error || (spool->warned_full && has_room))
        log_info("%s are written to the spool %s again", spool->what, spool->path);
    spool->warned_error = false;
    spool->warned_full &= !has_room;
}

static void spool_deliver(struct output *output, struct batch *batch, struct delivery *delivery)
{
    struct spool *spool = (struct spool *)output;
    struct request_body body;
    struct error err = {""};
    if (!packer_pack(&spool->packer, batch, &body)) {
        delivery_lose(delivery, batch->spans, COUNTER_lost_unreachable);
        return;
    }
    enum status status = append(spool, &body, &err);
    if (status == STATUS_OK) {
        note_written(spool);
        delivery_control_wake(spool->control);
    } else if (status == STATUS_FULL) {
        refuse_as_full(spool, &body, delivery);
    } else {
        warn_error(spool, &err);
        wait_and_send(spool, &body, delivery);
    }
}

bool spool_send_record(struct output *sender, struct spool_source *source, const struct spool_record *record,
                       bool for_ever, struct delivery *delivery)
{
    const struct codec *codec = compress_codec(record->compression);
    struct iovec parts[] = {{0}, {.iov_base = source->body, .iov_len = record->bytes}};
    const struct request_body body = {.parts = parts,
                                      .part_count = 1,
                                      .encoding = codec ? codec->encoding : NULL,
                                      .spans = record->spans,
                                      .format = record->format,
                                      .is_kept = true};
    sender_deliver_body(sender, &body, for_ever, delivery);
    counter_add(COUNTER_batches_resent, delivery->resent);
    counter_add(COUNTER_bytes_sent, delivery->bytes_sent);
    if (delivery->accepted)
        counter_add(COUNTER_batches_sent, 1);
    bool is_done = delivery->accepted || delivery->reason == COUNTER_lost_refused;
    return is_done || record->spans == 0;
}

/* Functions from send_record to run are executed on the spool's thread. */
static bool send_record(struct spool *spool, struct spool_source *source, const struct spool_record *record,
                        struct delivery *delivery)
{
    pthread_mutex_lock(&spool->sender_lock);
    bool is_gone = spool_send_record(spool->sender, source, record, true, delivery);
    pthread_mutex_unlock(&spool->sender_lock);
    operations_note(spool->operations, spool->number, delivery, clock_monotonic_ns());
    return is_gone;
}

static void count_own(struct spool *spool, const struct delivery *delivery)
{
    counter_output_delivered(spool->number, delivery->delivered);
    if (delivery->lost > 0)
        counter_output_lost(spool->number, delivery->reason, delivery->lost);
    counter_output_spooled(spool->number, -(int64_t)(delivery->delivered + delivery->lost));
}

static void count_damaged(struct spool *spool, uint64_t damaged)
{
    if (!damaged)
        return;
    if (!spool->warned_damaged)
        log_warn("the spool %s is damaged; %llu %s are lost; check the disk", spool->path,
                 (unsigned long long)damaged, spool->number == METRICS_OUTPUT ? "data points" : "spans");
    spool->warned_damaged = true;
    counter_output_lost(spool->number, COUNTER_lost_spool_damaged, damaged);
    counter_output_spooled(spool->number, -(int64_t)damaged);
    atomic_fetch_add(&spool->passed, damaged);
}

static enum spool_turn read_own_locked(struct spool *spool, struct spool_record *record)
{
    uint64_t damaged = 0;
    struct error err = {""};
    enum spool_turn turn = SPOOL_ERROR;
    bool is_held = hold_own_locked(spool, &err);
    if (!*spool->own.name || is_empty(spool))
        return SPOOL_NOTHING;
    int folder = is_held ? spool_files_open_folder(spool->path, false, &err) : -1;
    if (folder >= 0) {
        turn = spool_source_next(&spool->own, folder, &spool->writer.end, record, &damaged);
        if (turn == SPOOL_ERROR)
            error_set(&err, STATUS_IO, "cannot read the spool %.300s (%m)", spool->path);
        close(folder);
    }
    if (turn == SPOOL_ERROR) {
        if (!spool->warned_reading)
            log_warn("%s; cuspan retries every second", err.text);
        spool->warned_reading = true;
        spool->retry_at_ns = clock_monotonic_ns() + TICK_NS;
    }
    count_damaged(spool, damaged);
    if (damaged)
        (void)spool_source_write_ledger(&spool->own);
    return turn;
}

/* Delivers the next record of this process. False: there was none, or it stays in the spool. */
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
        if (turn == SPOOL_RECORD) /* the export module is missing, or the process exits */
            spool->retry_at_ns = clock_monotonic_ns() + TICK_NS;
        return false;
    }
    pthread_mutex_lock(&spool->lock);
    count_own(spool, &delivery);
    if (strcmp(name, spool->own.name) == 0) { /* otherwise it has passed with its source */
        atomic_fetch_add(&spool->passed, delivery.delivered + delivery.lost);
        spool_source_pass(&spool->own, &record, delivery.delivered);
        (void)spool_source_write_ledger(&spool->own);
    }
    pthread_mutex_unlock(&spool->lock);
    delivery_control_wake(spool->control);
    return true;
}

/* The next search starts with the oldest source. */
static void forget_others(struct spool *spool)
{
    spool_files_list_deinit(&spool->others);
    spool->next_other = 0;
    *spool->last_other = 0;
}

static bool list_others(struct spool *spool, int folder)
{
    spool_files_list_deinit(&spool->others);
    spool->next_other = 0;
    if (spool_files_list(folder, spool->last_other, &spool->others) != STATUS_OK || spool->others.count == 0)
        return false;
    memcpy(spool->last_other, spool->others.sources[spool->others.count - 1].name, SPOOL_SOURCE_BYTES);
    return true;
}

static bool take_listed(struct spool *spool, int folder)
{
    while (spool->next_other < spool->others.count && !spool->has_other) {
        const struct spool_found_source *found = &spool->others.sources[spool->next_other++];
        if (found->output == spool->number && !spool_writer_owns(found->name))
            spool->has_other =
                spool_source_take(&spool->other, folder, found->name, found->last_segment) == STATUS_OK;
    }
    return spool->has_other;
}

static bool take_other(struct spool *spool, int folder)
{
    struct spool_recovery recovery;
    while (!take_listed(spool, folder))
        if (!list_others(spool, folder))
            return false;
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

/* Delivers one record of a process that has ended. False: there is none, or it stays in the spool. */
static bool deliver_other(struct spool *spool)
{
    uint64_t now_ns = clock_monotonic_ns();
    struct error err;
    if (!spool->has_other && now_ns < spool->list_at_ns)
        return false;
    int folder = spool_files_open_folder(spool->path, false, &err);
    if (folder < 0) { /* spool_open and spool_deliver log this */
        spool->list_at_ns = now_ns + LIST_INTERVAL_NS;
        return false;
    }
    bool has_done = (spool->has_other || take_other(spool, folder)) && send_other(spool, folder);
    if (!spool->has_other && !has_done) { /* later, start again with the oldest */
        forget_others(spool);
        spool->list_at_ns = now_ns + LIST_INTERVAL_NS;
    }
    close(folder);
    return has_done;
}

/* Updates the number of spans created, so that the losses of a killed process are known. */
static void note_made(struct spool *spool)
{
    uint64_t made = counter_get(spool->made);
    struct error err;
    pthread_mutex_lock(&spool->lock);
    if (hold_own_locked(spool, &err) && spool_writer_set_made(&spool->writer, &spool->own, made))
        (void)spool_source_write_ledger(&spool->own);
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
           !(is_stopping && atomic_load(&spool->is_finished)) &&
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
    while (!delivery_control_is_over(spool->control)) {
        bool has_done = deliver_own(spool);
        if (delivery_control_stop_at_ns(spool->control) == NEVER_NS)
            has_done |= deliver_other(spool);
        else if (atomic_load(&spool->is_finished) && (is_empty(spool) || !has_done))
            break;
        if (!has_done)
            pause_shortly(spool);
    }
    if (spool->has_other)
        end_other(spool, -1, false);
    forget_others(spool);
    return NULL;
}

/* spool_open, spool_deliver and spool_finish run on the exporter's thread. */
static void spool_open(struct output *output)
{
    struct spool *spool = (struct spool *)output;
    struct error err;
    int folder = spool_files_open_folder(spool->path, true, &err);
    if (folder < 0)
        warn_error(spool, &err);
    else
        close(folder);
    spool->sender->open(spool->sender); /* both threads use it */
    spool->has_thread = agent_thread_start(&spool->thread, STACK_BYTES, run, spool) == 0;
    if (!spool->has_thread)
        log_warn("cannot deliver from the spool %s (no thread could be created); the next process with this "
                 "spool.directory or `cuspan send` delivers it",
                 spool->path);
}

static void end_own(struct spool *spool)
{
    char name[SPOOL_SOURCE_BYTES];
    struct error err;
    (void)hold_own_locked(spool, &err);
    memcpy(name, spool->own.name, sizeof name);
    int folder = *name ? spool_files_open_folder(spool->path, false, &err) : -1;
    (void)spool_writer_set_made(&spool->writer, &spool->own, counter_get(spool->made));
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
    struct spool *spool = (struct spool *)output;
    atomic_store(&spool->is_finished, true);
    delivery_control_wake(spool->control);
    if (spool->has_thread)
        pthread_join(spool->thread, NULL);
    spool->has_thread = false;
    end_own(spool);
}

static void spool_wake(struct output *output)
{
    struct spool *spool = (struct spool *)output;
    spool->sender->wake(spool->sender);
}

static bool spool_settle(struct output *output, uint64_t deadline_ns)
{
    struct spool *spool = (struct spool *)output;
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
    struct spool *spool = (struct spool *)output;
    if (spool->sender)
        spool->sender->destroy(spool->sender);
    packer_deinit(&spool->packer);
    pthread_mutex_destroy(&spool->lock);
    pthread_mutex_destroy(&spool->sender_lock);
    free(spool->path);
    free(spool);
}

static void choose_counters(struct spool *spool, bool is_metrics)
{
    spool->what = is_metrics ? "metrics" : "spans";
    spool->made = is_metrics ? COUNTER_points_made : COUNTER_spans_created;
    spool->recovered = is_metrics ? COUNTER_recovered_points : COUNTER_recovered_spans;
    spool->recovered_lost = is_metrics ? COUNTER_recovered_points_lost : COUNTER_recovered_lost;
}

enum status spool_create(const struct output_settings *settings, const struct output_environment *environment,
                         struct delivery_control *control, struct output **output)
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
    choose_counters(spool, settings->signal == SIGNAL_METRICS);
    spool->number = environment->output;
    spool->operations = environment->operations;
    spool->own = spool->other = SPOOL_SOURCE_NONE;
    pthread_mutex_init(&spool->lock, NULL);
    pthread_mutex_init(&spool->sender_lock, NULL);
    struct output_settings sending = *settings;
    sending.exporter.compression = COMPRESSION_NONE; /* records are already compressed */
    enum status status = sender_create(&sending, environment, control, &spool->sender);
    spool->compression = (uint8_t)settings->exporter.compression;
    if (status == STATUS_OK)
        status = packer_init(&spool->packer, settings->exporter.compression);
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
