#include "agent/export/delivery/operations.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct operations {
    pthread_mutex_t lock; /* guards what follows */
    const struct metric_streams *streams;
    enum exemplar_filter exemplars;
    uint32_t count;
    struct operation items[OPERATIONS_MAX];
};

enum status operations_create(const struct metric_streams *streams, enum exemplar_filter exemplars,
                              struct operations **operations)
{
    struct operations *made = calloc(1, sizeof *made);
    if (!made)
        return STATUS_NO_MEMORY;
    pthread_mutex_init(&made->lock, NULL);
    made->streams = streams;
    made->exemplars = exemplars;
    *operations = made;
    return STATUS_OK;
}

void operations_destroy(struct operations *operations)
{
    if (!operations)
        return;
    for (uint32_t i = 0; i < operations->count; i++)
        histogram_destroy(operations->items[i].histogram);
    pthread_mutex_destroy(&operations->lock);
    free(operations);
}

/* NULL: out of memory. */
static struct operation *find_locked(struct operations *operations, unsigned output,
                                     const struct delivery *delivery)
{
    for (uint32_t i = 0; i < operations->count; i++) {
        struct operation *item = &operations->items[i];
        if (item->output == output && item->http_status == delivery->http_status &&
            strcmp(item->error, delivery->error) == 0)
            return item;
    }
    if (operations->count == OPERATIONS_MAX)
        return &operations->items[OPERATIONS_MAX - 1];
    struct operation *made = &operations->items[operations->count];
    if (histogram_create(operations->streams->shapes, operations->streams->shape_count, &made->histogram) !=
        STATUS_OK)
        return NULL;
    made->output = OPERATIONS_NO_OUTPUT;
    if (++operations->count < OPERATIONS_MAX) {
        made->output = output;
        made->http_status = delivery->http_status;
        snprintf(made->error, sizeof made->error, "%s", delivery->error);
    }
    return made;
}

/* Exports run outside spans, so an exemplar has no trace ID. */
static void measure(const struct operations *operations, struct histogram *histogram, uint64_t duration_ns)
{
    for (; histogram; histogram = histogram->next) {
        struct exemplar *exemplar = histogram_add(histogram, duration_ns);
        if (operations->exemplars == EXEMPLAR_ALWAYS_ON)
            histogram_exemplify(exemplar, duration_ns, clock_now_ns());
    }
}

void operations_note(struct operations *operations, unsigned output, const struct delivery *delivery,
                     uint64_t now_ns)
{
    if (!operations || !delivery->began_ns || !operations->streams->shape_count)
        return;
    pthread_mutex_lock(&operations->lock);
    struct operation *operation = find_locked(operations, output, delivery);
    if (operation)
        measure(operations, operation->histogram,
                now_ns > delivery->began_ns ? now_ns - delivery->began_ns : 0);
    pthread_mutex_unlock(&operations->lock);
}

const struct operation *operations_lock(struct operations *operations, uint32_t *count)
{
    pthread_mutex_lock(&operations->lock);
    *count = operations->count;
    return operations->items;
}

void operations_unlock(struct operations *operations, bool is_delta)
{
    for (uint32_t i = 0; i < operations->count; i++)
        (is_delta ? histogram_reset : histogram_forget_exemplars)(operations->items[i].histogram);
    pthread_mutex_unlock(&operations->lock);
}
