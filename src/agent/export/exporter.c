#include "agent/export/exporter.h"

#include "base/accounting/counters.h"
#include "base/clock.h"
#include "base/accounting/invariant.h"
#include "base/log/log.h"
#include "base/process/agent_thread.h"
#include "base/process/cpu_time.h"
#include "base/text/sanitize.h"
#include "agent/export/delivery/delivery_control.h"
#include "agent/export/file_output.h"
#include "agent/export/delivery/last_error.h"
#include "agent/export/delivery/operations.h"
#include "agent/export/otlp/sender.h"
#include "agent/export/delivery/output.h"
#include "agent/export/spool/spool.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Time for the thread to react to an abort after the deadline. */
#define STOP_GRACE_NS (40 * NS_PER_MS)
#define STACK_BYTES   (512 * 1024) /* the default is the host's limit, often 8 MiB */

struct exporter {
    struct delivery_control control; /* its lock guards the fields up to `abandoned` */
    struct batch *first;             /* the queue */
    struct batch **last;
    struct batch *current; /* being delivered */
    uint32_t queued_spans;
    uint64_t submitted; /* batches */
    uint64_t finished;
    uint64_t moved_ns; /* last time a batch was started, finished, or added to an idle exporter */
    bool warned_full;
    bool exited;
    bool abandoned; /* exporters_destroy no longer waits for the thread and has counted its spans */

    /* Constant. */
    struct output *output;
    struct operations *operations;
    unsigned number; /* of the output, for the counters */
    uint32_t queue_spans_max;
    uint64_t stop_grace_ns;
    pthread_t thread;
    char name[256]; /* for log lines */
};

static struct batch *pop_locked(struct exporter *exporter)
{
    struct batch *batch = exporter->first;
    exporter->first = batch->next;
    if (!exporter->first)
        exporter->last = &exporter->first;
    batch->next = NULL;
    if (INVARIANT(exporter->queued_spans >= batch->spans))
        exporter->queued_spans -= batch->spans;
    exporter->current = batch;
    exporter->moved_ns = clock_monotonic_ns();
    return batch;
}

/* NULL: the queue is empty and a stop was requested. */
static struct batch *next_batch(struct exporter *exporter)
{
    struct batch *batch = NULL;
    pthread_mutex_lock(&exporter->control.lock);
    while (!exporter->first && delivery_control_stop_at_ns(&exporter->control) == NEVER_NS)
        delivery_control_wait_locked(&exporter->control, NEVER_NS);
    if (exporter->first && !exporter->abandoned)
        batch = pop_locked(exporter);
    pthread_mutex_unlock(&exporter->control.lock);
    return batch;
}

static void count(const struct exporter *exporter, const struct delivery *delivery)
{
    if (delivery->accepted)
        counter_add(COUNTER_batches_sent, 1);
    if (delivery->accepted)
        last_error_clear(exporter->number);
    else if (delivery->lost && delivery->reason == COUNTER_lost_output)
        last_error_note(exporter->number, "cannot write to %s", exporter->name);
    counter_output_delivered(exporter->number, delivery->delivered);
    if (delivery->lost > 0)
        counter_output_lost(exporter->number, delivery->reason, delivery->lost);
    counter_add(COUNTER_batches_resent, delivery->resent);
    counter_add(COUNTER_bytes_sent, delivery->bytes_sent);
}

static void finish(struct exporter *exporter, struct batch *batch, const struct delivery *delivery)
{
    pthread_mutex_lock(&exporter->control.lock);
    if (!exporter->abandoned) {
        count(exporter, delivery);
        batch_release(batch);
    }
    exporter->current = NULL;
    exporter->moved_ns = clock_monotonic_ns();
    exporter->finished++;
    pthread_cond_broadcast(&exporter->control.changed);
    pthread_mutex_unlock(&exporter->control.lock);
}

static void *run(void *argument)
{
    struct exporter *exporter = argument;
    pthread_setname_np(pthread_self(), "cuspan/sender");
    cpu_time_start(OWN_SENDER);
    if (exporter->output->open)
        exporter->output->open(exporter->output);
    for (struct batch *batch; (batch = next_batch(exporter));) {
        struct delivery delivery = {0};
        exporter->output->deliver(exporter->output, batch, &delivery);
        operations_note(exporter->operations, exporter->number, &delivery, clock_monotonic_ns());
        finish(exporter, batch, &delivery);
    }
    if (exporter->output->finish)
        exporter->output->finish(exporter->output);
    pthread_mutex_lock(&exporter->control.lock);
    exporter->exited = true;
    pthread_cond_broadcast(&exporter->control.changed);
    pthread_mutex_unlock(&exporter->control.lock);
    return NULL;
}

static enum status create_output(struct exporter *exporter, const struct output_settings *settings,
                                 const struct output_environment *environment)
{
    const struct exporter_settings *wanted = &settings->exporter;
    const char *path = wanted->kind == EXPORTER_FILE ? wanted->endpoint : NULL;
    switch (wanted->kind) {
    case EXPORTER_FILE:
    case EXPORTER_CONSOLE:
        snprintf(exporter->name, sizeof exporter->name, "%s", path ? path : "standard output");
        return file_output_create(path, &exporter->control, &exporter->output);
    case EXPORTER_OTLP_HTTP:
    case EXPORTER_OTLP_GRPC:
        sanitize_url(exporter->name, sizeof exporter->name, wanted->endpoint);
        return (settings->spool_directory ? spool_create : sender_create)(
            settings, environment, &exporter->control, &exporter->output);
    }
    return STATUS_INVALID;
}

enum status exporter_create(const struct output_settings *settings,
                            const struct output_environment *environment, struct exporter **exporter)
{
    struct exporter *made = calloc(1, sizeof *made);
    if (!made)
        return STATUS_NO_MEMORY;
    delivery_control_init(&made->control);
    made->last = &made->first;
    made->number = environment->output;
    made->operations = environment->operations;
    made->queue_spans_max = settings->queue_spans_max;
    made->stop_grace_ns = environment->stop_grace_ms ? environment->stop_grace_ms * NS_PER_MS : STOP_GRACE_NS;
    enum status status = create_output(made, settings, environment);
    if (status == STATUS_OK && agent_thread_start(&made->thread, STACK_BYTES, run, made) != 0)
        status = STATUS_UNAVAILABLE;
    if (status != STATUS_OK) {
        if (made->output)
            made->output->destroy(made->output);
        delivery_control_deinit(&made->control);
        free(made);
        return status;
    }
    *exporter = made;
    return STATUS_OK;
}

static uint32_t room_locked(const struct exporter *exporter)
{
    return exporter->queued_spans < exporter->queue_spans_max
               ? exporter->queue_spans_max - exporter->queued_spans
               : 0;
}

static bool push(struct exporter *exporter, struct batch *batch, bool *first_loss)
{
    pthread_mutex_lock(&exporter->control.lock);
    /* An empty queue takes any batch, even one larger than the queue. */
    bool fits = !exporter->first || batch->spans <= room_locked(exporter);
    if (fits) {
        if (!exporter->first && !exporter->current)
            exporter->moved_ns = clock_monotonic_ns();
        batch->next = NULL;
        *exporter->last = batch;
        exporter->last = &batch->next;
        exporter->queued_spans += batch->spans;
        exporter->submitted++;
        pthread_cond_broadcast(&exporter->control.changed);
    }
    *first_loss = !fits && !exporter->warned_full;
    exporter->warned_full |= !fits;
    pthread_mutex_unlock(&exporter->control.lock);
    return fits;
}

void exporter_submit(struct exporter *exporter, struct batch *batch)
{
    if (batch->spans == 0 || batch->bytes == 0) {
        batch_release(batch);
        return;
    }
    uint32_t spans = batch->spans;
    bool first_loss;
    if (push(exporter, batch, &first_loss))
        return;
    counter_output_lost(exporter->number, COUNTER_lost_queue_full, spans);
    batch_release(batch);
    if (first_loss)
        log_warn("the queue for %s is full (%u spans); spans are lost; raise max_queue_size or use a faster "
                 "collector",
                 exporter->name, exporter->queue_spans_max);
}

bool exporter_is_moving(struct exporter *exporter, uint64_t now_ns, uint64_t within_ns)
{
    pthread_mutex_lock(&exporter->control.lock);
    bool has_batches = exporter->first || exporter->current;
    bool is_moving = has_batches && now_ns < exporter->moved_ns + within_ns;
    pthread_mutex_unlock(&exporter->control.lock);
    return is_moving;
}

struct exporter_state exporter_state(struct exporter *exporter)
{
    pthread_mutex_lock(&exporter->control.lock);
    struct exporter_state state = {.submitted = exporter->submitted,
                                   .room = room_locked(exporter),
                                   .queued = exporter->queued_spans,
                                   .inflight = exporter->current ? exporter->current->spans : 0,
                                   .fates = counter_output_get(exporter->number)};
    pthread_mutex_unlock(&exporter->control.lock);
    return state;
}

enum status exporter_wait(struct exporter *exporter, uint64_t submitted, uint64_t deadline_ns)
{
    bool in_time = clock_monotonic_ns() < deadline_ns;
    pthread_mutex_lock(&exporter->control.lock);
    while (exporter->finished < submitted && in_time)
        in_time = delivery_control_wait_locked(&exporter->control, deadline_ns);
    bool done = exporter->finished >= submitted;
    pthread_mutex_unlock(&exporter->control.lock);
    if (done && exporter->output->settle)
        done = exporter->output->settle(exporter->output, deadline_ns);
    return done ? STATUS_OK : STATUS_TIMEOUT;
}

static bool wait_for_exit(struct exporter *exporter, uint64_t until_ns)
{
    bool in_time = true;
    pthread_mutex_lock(&exporter->control.lock);
    while (!exporter->exited && in_time)
        in_time = delivery_control_wait_locked(&exporter->control, until_ns);
    bool exited = exporter->exited;
    pthread_mutex_unlock(&exporter->control.lock);
    return exited;
}

/* Counts the thread's spans as lost. From now on, the thread neither counts nor frees anything. */
static bool abandon(struct exporter *exporter)
{
    pthread_mutex_lock(&exporter->control.lock);
    bool exited = exporter->exited;
    if (!exited) {
        exporter->abandoned = true;
        uint64_t spans = exporter->queued_spans + (exporter->current ? exporter->current->spans : 0);
        counter_output_lost(exporter->number, COUNTER_lost_deadline, spans);
        pthread_detach(exporter->thread);
    }
    pthread_mutex_unlock(&exporter->control.lock);
    return !exited;
}

/* False: the thread still runs and uses the exporter's memory. */
static bool end(struct exporter *exporter, uint64_t until_ns)
{
    if (!wait_for_exit(exporter, until_ns) && abandon(exporter))
        return false;
    pthread_join(exporter->thread, NULL);
    exporter->output->destroy(exporter->output);
    delivery_control_deinit(&exporter->control);
    free(exporter);
    return true;
}

/* Performs each step for all exporters before the next one, so that a blocked exporter does not use up the
 * time of the others. */
bool exporters_destroy(struct exporter *const *exporters, size_t count, uint64_t deadline_ns)
{
    bool all_ended = true;
    for (size_t i = 0; i < count; i++)
        if (exporters[i])
            delivery_control_stop(&exporters[i]->control, deadline_ns);
    for (size_t i = 0; i < count; i++) {
        if (!exporters[i] || wait_for_exit(exporters[i], deadline_ns))
            continue;
        delivery_control_abort(&exporters[i]->control);
        if (exporters[i]->output->wake)
            exporters[i]->output->wake(exporters[i]->output);
    }
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t aborted_at_ns = now_ns > deadline_ns ? now_ns : deadline_ns;
    for (size_t i = 0; i < count; i++)
        if (exporters[i])
            all_ended &= end(exporters[i], aborted_at_ns + exporters[i]->stop_grace_ns);
    return all_ended;
}
