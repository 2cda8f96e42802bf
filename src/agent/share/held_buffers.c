/* The second tool's activity buffers. The agent's flush also returns the tool's buffers before they are full,
 * some of them only after the flush. Two things in PyTorch's profiler (2.11) depend on that not happening: it
 * finds no operator for a kernel whose call is in a buffer at a higher address, and no GPU work at all if
 * CUPTI has none of its buffers when it stops. So the tool's records are gathered here: it gets a buffer that
 * is full, as from CUPTI alone, or what there is at its own flush.
 *
 * A tool that limits the records of a buffer, or has CUPTI flush periodically, wants other buffers, and gets
 * them as they are. */
#include "agent/share/share.h"

#include <pthread.h>
#include <string.h>

#define EMPTY_MAX    4
#define RECORD_BYTES 512 /* no record is larger; a buffer with less room than that is full */

struct tool_buffer {
    uint8_t *data; /* NULL: none */
    size_t size, valid;
    cupti_request_fn *request; /* whose memory this is */
    cupti_complete_fn *complete;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tool_buffer held;             /* with records */
static struct tool_buffer empty[EMPTY_MAX]; /* their records were moved to `held` */
static size_t empty_count;
static atomic_size_t lent_count;  /* that CUPTI has, or that are being returned */
static atomic_bool is_divided;    /* the agent has flushed */
static atomic_bool wants_partial; /* the tool wants buffers that are not full */

void share_note_agents_flush(void)
{
    atomic_store(&is_divided, true);
}

void share_allow_partial(void)
{
    atomic_store(&wants_partial, true);
}

static void give_to_tool(const struct tool_buffer *buffer)
{
    if (buffer->data)
        buffer->complete(NULL, 0, buffer->data, buffer->size, buffer->valid);
}

/* CUPTI requests buffers on the program's threads, which must not wait while records are moved. */
static struct tool_buffer take_empty(cupti_request_fn *request)
{
    struct tool_buffer taken = {0};
    if (pthread_mutex_trylock(&lock) != 0)
        return taken;
    if (empty_count && empty[empty_count - 1].request == request)
        taken = empty[--empty_count];
    pthread_mutex_unlock(&lock);
    return taken;
}

void share_request(uint8_t **buffer, size_t *size, size_t *max_records,
                   struct cupti_buffer_request_info *info)
{
    cupti_request_fn *request = atomic_load(&tool.request);
    struct tool_buffer again = take_empty(request);
    *buffer = again.data;
    *size = again.size;
    *max_records = 0;
    if (!again.data && request)
        request(buffer, size, max_records);
    if (*max_records)
        share_allow_partial();
    if (*buffer)
        atomic_fetch_add(&lent_count, 1);
}

bool share_has_lent(void)
{
    return atomic_load(&lent_count) != 0;
}

/* How many bytes the first records of the buffer have that fit into `room`. */
static size_t bytes_that_fit(const struct tool_buffer *buffer, size_t room)
{
    struct cupti_activity *record = NULL;
    size_t bytes = 0;
    if (buffer->valid <= room)
        return buffer->valid;
    while (share_real()->cuptiActivityGetNextRecord_v2(tool.real, buffer->data, buffer->valid, &record) ==
           CUPTI_OK) {
        size_t at = (size_t)((uint8_t *)record - buffer->data);
        if (at > room)
            break;
        bytes = at;
    }
    return bytes;
}

/* Moves records of `more` behind those of `held`. Some tools count on zeros in the memory that CUPTI gets. */
static void fill_up_locked(struct tool_buffer *more)
{
    if (!held.data || held.complete != more->complete || held.request != more->request)
        return;
    size_t moved = bytes_that_fit(more, held.size - held.valid);
    memcpy(held.data + held.valid, more->data, moved);
    held.valid += moved;
    more->valid -= moved;
    memmove(more->data, more->data + moved, more->valid);
    memset(more->data + more->valid, 0, moved);
}

static struct tool_buffer take_held_locked(void)
{
    struct tool_buffer taken = held;
    held = (struct tool_buffer){0};
    return taken;
}

static void hold_or_give(struct tool_buffer now)
{
    struct tool_buffer full = {0};
    bool may_wait = atomic_load(&is_divided) && !atomic_load(&wants_partial);
    pthread_mutex_lock(&lock);
    bool is_whole = !held.data && now.size - now.valid < RECORD_BYTES; /* nothing divided it */
    if (may_wait)
        fill_up_locked(&now);
    if (now.valid || !may_wait)
        full = take_held_locked();
    if (now.valid && may_wait && !is_whole) {
        held = now;
        now.data = NULL;
    } else if (held.data && empty_count < EMPTY_MAX) {
        empty[empty_count++] = now;
        now.data = NULL;
    }
    pthread_mutex_unlock(&lock);
    give_to_tool(&full);
    give_to_tool(&now);
}

void share_complete(uint8_t *buffer, size_t size, size_t valid, struct cupti_buffer_complete_info *info)
{
    struct tool_buffer now = {.data = buffer,
                              .size = size,
                              .valid = valid,
                              .request = atomic_load(&tool.request),
                              .complete = atomic_load(&tool.complete)};
    if (!buffer)
        return;
    if (now.complete)
        hold_or_give(now);
    atomic_fetch_sub(&lent_count, 1);
}

void share_give_held(void)
{
    struct tool_buffer given[EMPTY_MAX + 1];
    size_t count = 0;
    pthread_mutex_lock(&lock);
    given[count++] = take_held_locked();
    while (empty_count)
        given[count++] = empty[--empty_count];
    pthread_mutex_unlock(&lock);
    for (size_t i = 0; i < count; i++)
        give_to_tool(&given[i]);
}

void share_forget_held(void)
{
    pthread_mutex_init(&lock, NULL);
    (void)take_held_locked();
    empty_count = 0;
    atomic_store(&lent_count, 0);
}
