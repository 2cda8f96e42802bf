/* The second tool's activity buffers. The agent's flush also returns the tool's buffers before they are full,
 * and so divides its records where they would not be divided without the agent: PyTorch's profiler (2.11)
 * reads its buffers in the order of their addresses, and knows no operator for a kernel whose call it has not
 * read yet. Such a buffer is held back, and the records of the next one are appended to it. */
#include "share/share.h"

#include <pthread.h>
#include <string.h>

#define EMPTY_MAX 4

struct tool_buffer {
    uint8_t *data; /* NULL: none */
    size_t size, valid;
    cupti_request_fn *request; /* whose memory this is */
    cupti_complete_fn *complete;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tool_buffer held;             /* with records */
static struct tool_buffer empty[EMPTY_MAX]; /* their records were appended to `held` */
static size_t empty_count;
static atomic_size_t lent_count;     /* that CUPTI has, or that are being returned */
static atomic_bool has_record_limit; /* the tool wants no more than some number of records in a buffer */
static __thread bool is_agents_flush __attribute__((tls_model("initial-exec")));

void share_agents_flush(bool begins)
{
    is_agents_flush = begins;
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
    (void)info;
    cupti_request_fn *request = atomic_load(&tool.request);
    struct tool_buffer again = take_empty(request);
    *buffer = again.data;
    *size = again.size;
    *max_records = 0;
    if (!again.data && request)
        request(buffer, size, max_records);
    if (*max_records)
        atomic_store(&has_record_limit, true);
    if (*buffer)
        atomic_fetch_add(&lent_count, 1);
}

bool share_has_lent(void)
{
    return atomic_load(&lent_count) != 0;
}

/* Moves the records of `more` behind those of `held`. Some tools count on zeros in the memory that CUPTI
 * gets. */
static bool append_locked(struct tool_buffer *more)
{
    bool is_same_tool = held.complete == more->complete && held.request == more->request;
    if (!held.data || !is_same_tool || held.size - held.valid < more->valid)
        return false;
    memcpy(held.data + held.valid, more->data, more->valid);
    memset(more->data, 0, more->valid);
    held.valid += more->valid;
    more->valid = 0;
    return true;
}

static struct tool_buffer take_held_locked(void)
{
    struct tool_buffer taken = held;
    held = (struct tool_buffer){0};
    return taken;
}

static void hold_or_give(struct tool_buffer now)
{
    struct tool_buffer older = {0};
    bool waits = is_agents_flush && !atomic_load(&has_record_limit);
    pthread_mutex_lock(&lock);
    bool is_appended = append_locked(&now);
    if (!is_appended || !waits)
        older = take_held_locked();
    if (is_appended && empty_count < EMPTY_MAX) {
        empty[empty_count++] = now;
        now.data = NULL;
    } else if (waits && now.valid) {
        held = now;
        now.data = NULL;
    }
    pthread_mutex_unlock(&lock);
    give_to_tool(&older);
    give_to_tool(&now);
}

void share_complete(uint8_t *buffer, size_t size, size_t valid, struct cupti_buffer_complete_info *info)
{
    (void)info;
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
