#include "agent/correlate/trace/engine_requests.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 1024

struct engine_requests {
    uint32_t buckets[BUCKETS]; /* index + 1 */
    uint32_t free, used, traced;
    size_t header_bytes;
    struct request requests[ENGINE_REQUESTS_MAX];
};

enum status engine_requests_create(struct engine_requests **requests)
{
    *requests = calloc(1, sizeof **requests);
    return *requests ? STATUS_OK : STATUS_NO_MEMORY;
}

static void free_trace(struct engine_requests *requests, struct request_trace *trace)
{
    if (!trace)
        return;
    requests->header_bytes -= trace->header_bytes;
    free(trace->headers);
    free(trace);
}

void engine_requests_destroy(struct engine_requests *requests)
{
    for (uint32_t i = 0; requests && i < requests->used; i++)
        free_trace(requests, requests->requests[i].trace);
    free(requests);
}

static uint32_t *bucket_of(struct engine_requests *requests, uint64_t number)
{
    return &requests->buckets[number % BUCKETS];
}

struct request *engine_requests_add(struct engine_requests *requests, uint64_t number, const char *id)
{
    uint32_t index = requests->free ? requests->free - 1 : requests->used;
    if (index == ENGINE_REQUESTS_MAX)
        return NULL;
    struct request *request = &requests->requests[index];
    if (requests->free)
        requests->free = request->next;
    else
        requests->used++;
    uint32_t *bucket = bucket_of(requests, number);
    *request = (struct request){.number = number, .next = *bucket};
    memcpy(request->id, id, sizeof request->id);
    *bucket = index + 1;
    return request;
}

struct request *engine_requests_find(struct engine_requests *requests, uint64_t number)
{
    uint32_t at = *bucket_of(requests, number);
    while (at && requests->requests[at - 1].number != number)
        at = requests->requests[at - 1].next;
    return at ? &requests->requests[at - 1] : NULL;
}

uint32_t engine_requests_index(const struct engine_requests *requests, const struct request *request)
{
    return (uint32_t)(request - requests->requests);
}

struct request *engine_requests_at(struct engine_requests *requests, uint32_t index)
{
    return &requests->requests[index];
}

struct request_trace *engine_requests_trace(struct engine_requests *requests, struct request *request)
{
    if (requests->traced == ENGINE_REQUESTS_TRACED_MAX)
        return NULL;
    request->trace = calloc(1, sizeof *request->trace);
    requests->traced += request->trace != NULL;
    return request->trace;
}

bool engine_requests_keep_headers(struct engine_requests *requests, struct request_trace *trace,
                                  const char *headers, uint32_t bytes)
{
    if (requests->header_bytes + bytes > ENGINE_HEADER_BYTES_MAX)
        return false;
    trace->headers = malloc(bytes);
    if (!trace->headers)
        return false;
    memcpy(trace->headers, headers, bytes);
    trace->header_bytes = bytes;
    requests->header_bytes += bytes;
    return true;
}

void engine_requests_remove(struct engine_requests *requests, struct request *request)
{
    uint32_t index = engine_requests_index(requests, request) + 1;
    uint32_t *link = bucket_of(requests, request->number);
    while (*link != index)
        link = &requests->requests[*link - 1].next;
    *link = request->next;
    requests->traced -= request->trace != NULL;
    free_trace(requests, request->trace);
    request->number = 0;
    request->trace = NULL;
    request->next = requests->free;
    requests->free = index;
}

struct request *engine_requests_any(struct engine_requests *requests)
{
    for (uint32_t i = 0; requests->traced && i < requests->used; i++)
        if (requests->requests[i].trace)
            return &requests->requests[i];
    return NULL;
}

static_assert(REQUEST_LINKS_PREFILL + REQUEST_LINKS_SLOWEST + REQUEST_LINKS_SUMMARIES + 2 +
                      REQUEST_LINKS_SPREAD / 2 <=
                  REQUEST_LINKS_MAX,
              "there is room for half of the spread");

/* Keeps the `most` slowest, the slowest first. */
static void note_slow(struct iteration_link *kept, uint32_t *count, uint32_t most,
                      const struct iteration_link *link)
{
    uint32_t at = *count;
    while (at > 0 && kept[at - 1].duration_ns < link->duration_ns)
        at--;
    if (at == most)
        return;
    if (*count < most)
        (*count)++;
    memmove(&kept[at + 1], &kept[at], (*count - 1 - at) * sizeof *kept);
    kept[at] = *link;
}

/* Copies the slowest iterations and summaries, the longest first. */
static uint32_t copy_slow(const struct request_trace *trace, int64_t *numbers)
{
    const struct iteration_link *slow = trace->slowest, *slow_end = slow + trace->slowest_count;
    const struct iteration_link *sent = trace->summaries, *sent_end = sent + trace->summary_count;
    uint32_t count = 0;
    while (slow < slow_end || sent < sent_end) {
        bool is_sent = slow == slow_end || (sent < sent_end && sent->duration_ns > slow->duration_ns);
        numbers[count++] = is_sent ? sent++->number : slow++->number;
    }
    return count;
}

/* Keeps every n-th of the iterations. When the array is full, n doubles and every second one goes. */
static void note_spread(struct request_trace *trace, int64_t number)
{
    if (!trace->stride)
        trace->stride = 1;
    if (trace->recorded % trace->stride)
        return;
    if (trace->spread_count == REQUEST_LINKS_SPREAD) {
        for (uint32_t i = 0; i < REQUEST_LINKS_SPREAD / 2; i++)
            trace->spread[i] = trace->spread[2 * i];
        trace->spread_count = REQUEST_LINKS_SPREAD / 2;
        trace->stride *= 2;
        if (trace->recorded % trace->stride)
            return;
    }
    trace->spread[trace->spread_count++] = number;
}

void request_trace_note(struct request_trace *trace, const struct iteration_link *link, uint16_t phase)
{
    if (phase == REQUEST_PREFILL && trace->prefill_count < REQUEST_LINKS_PREFILL)
        trace->prefill[trace->prefill_count++] = link->number;
    if (phase == REQUEST_DECODE && !trace->has_decoded) {
        trace->has_decoded = true;
        trace->first_decode = link->number;
    }
    note_slow(trace->slowest, &trace->slowest_count, REQUEST_LINKS_SLOWEST, link);
    note_spread(trace, link->number);
    trace->last = link->number;
    trace->recorded++;
}

void request_trace_note_summary(struct request_trace *trace, const struct iteration_link *link)
{
    note_slow(trace->summaries, &trace->summary_count, REQUEST_LINKS_SUMMARIES, link);
    trace->summarized++;
}

static int by_number(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static bool has_number(const int64_t *numbers, uint32_t count, int64_t number)
{
    for (uint32_t i = 0; i < count; i++)
        if (numbers[i] == number)
            return true;
    return false;
}

uint32_t request_trace_links(const struct request_trace *trace, int64_t numbers[REQUEST_LINKS_MAX])
{
    uint32_t kept = copy_slow(trace, numbers), count = kept;
    memcpy(numbers + count, trace->prefill, trace->prefill_count * sizeof *numbers);
    count += trace->prefill_count;
    if (trace->has_decoded)
        numbers[count++] = trace->first_decode;
    if (trace->recorded)
        numbers[count++] = trace->last;
    uint32_t stride = count + trace->spread_count > REQUEST_LINKS_MAX ? 2 : 1;
    for (uint32_t i = 0; i < trace->spread_count; i += stride)
        numbers[count++] = trace->spread[i];
    qsort(numbers + kept, count - kept, sizeof *numbers, by_number);
    for (uint32_t i = kept; i < count; i++)
        if (!has_number(numbers, kept, numbers[i]))
            numbers[kept++] = numbers[i];
    return kept;
}
