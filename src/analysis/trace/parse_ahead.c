#include "analysis/trace/parse_ahead.h"

#include "cli/util/xalloc.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 2 /* one that is parsed, one that is taken */

struct parse_ahead {
    struct parsed slots[SLOTS];
    struct documents *documents;
    pthread_t thread;
    bool is_running;      /* false: the caller's thread reads */
    pthread_mutex_t lock; /* of is_ready and must_stop */
    pthread_cond_t changed;
    bool must_stop;
    size_t next;           /* the caller's */
    struct parsed *handed; /* to the caller */
};

struct parse_ahead *parse_ahead_create(void)
{
    struct parse_ahead *ahead = xcalloc(1, sizeof *ahead);
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    return ahead;
}

void parse_ahead_destroy(struct parse_ahead *ahead)
{
    if (!ahead)
        return;
    parse_ahead_stop(ahead);
    for (size_t i = 0; i < SLOTS; i++) {
        otlp_json_deinit(&ahead->slots[i].json);
        free(ahead->slots[i].bytes);
    }
    pthread_cond_destroy(&ahead->changed);
    pthread_mutex_destroy(&ahead->lock);
    free(ahead);
}

static void read_one(struct documents *documents, struct parsed *parsed)
{
    parsed->json_status = STATUS_OK;
    parsed->status = documents_next(documents, &parsed->document, &parsed->err);
    parsed->read_bytes = documents_read_bytes(documents);
    if (parsed->status != STATUS_OK || parsed->document.len == 0)
        return;
    documents_take(documents, &parsed->document, &parsed->bytes, &parsed->capacity);
    if (parsed->document.is_json)
        parsed->json_status =
            otlp_json_parse(&parsed->json, parsed->document.bytes, parsed->document.len, &parsed->err);
}

static bool wait_until_free(struct parse_ahead *ahead, const struct parsed *parsed)
{
    pthread_mutex_lock(&ahead->lock);
    while (parsed->is_ready && !ahead->must_stop)
        pthread_cond_wait(&ahead->changed, &ahead->lock);
    bool must_stop = ahead->must_stop;
    pthread_mutex_unlock(&ahead->lock);
    return !must_stop;
}

static void set_ready(struct parse_ahead *ahead, struct parsed *parsed, bool is_ready)
{
    pthread_mutex_lock(&ahead->lock);
    parsed->is_ready = is_ready;
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
}

static void *run(void *context)
{
    struct parse_ahead *ahead = context;
    bool is_end = false;
    for (size_t i = 0; !is_end && wait_until_free(ahead, &ahead->slots[i]); i = (i + 1) % SLOTS) {
        struct parsed *parsed = &ahead->slots[i];
        read_one(ahead->documents, parsed);
        bool is_damaged = parsed->status == STATUS_CORRUPT; /* only this message */
        is_end = !is_damaged && (parsed->status != STATUS_OK || parsed->document.len == 0);
        set_ready(ahead, parsed, true);
    }
    return NULL;
}

enum status parse_ahead_start(struct parse_ahead *ahead, struct documents *documents, struct error *err)
{
    ahead->documents = documents;
    ahead->must_stop = false;
    ahead->next = 0;
    ahead->handed = NULL;
    for (size_t i = 0; i < SLOTS; i++)
        ahead->slots[i].is_ready = false;
    bool are_loaded = false;
    enum status status = documents_are_loaded(documents, &are_loaded, err);
    if (status != STATUS_OK || are_loaded)
        return status;
    int error = pthread_create(&ahead->thread, NULL, run, ahead);
    if (error)
        return error_set(err, STATUS_UNAVAILABLE, "cannot start a thread: %s", strerror(error));
    ahead->is_running = true;
    return STATUS_OK;
}

struct parsed *parse_ahead_next(struct parse_ahead *ahead)
{
    struct parsed *parsed = &ahead->slots[ahead->next];
    if (!ahead->is_running) {
        read_one(ahead->documents, parsed);
        return parsed;
    }
    if (ahead->handed)
        set_ready(ahead, ahead->handed, false);
    ahead->next = (ahead->next + 1) % SLOTS;
    ahead->handed = parsed;
    pthread_mutex_lock(&ahead->lock);
    while (!parsed->is_ready)
        pthread_cond_wait(&ahead->changed, &ahead->lock);
    pthread_mutex_unlock(&ahead->lock);
    return parsed;
}

void parse_ahead_stop(struct parse_ahead *ahead)
{
    if (!ahead->is_running)
        return;
    pthread_mutex_lock(&ahead->lock);
    ahead->must_stop = true;
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
    pthread_join(ahead->thread, NULL);
    ahead->is_running = false;
}
