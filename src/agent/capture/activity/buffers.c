#include "agent/capture/activity/buffers.h"

#include "base/accounting/invariant.h"
#include "base/accounting/counters.h"
#include "base/limits.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#define WORDS         (ACTIVITY_HOST_BUFFERS_MAX / 64)
#define PREFAULTED    8 /* buffers prefaulted at start: enough until the first ones return */
#define DISCARD_BYTES (16 * 1024)
#define PAGE_BYTES    4096
#define NONE          (-1)

void (*buffers_on_layouts)(struct cupti_record_layout *const *layouts, size_t count);

static void (*_Atomic late)(uint8_t *data, size_t valid);

static struct activity_buffer buffers[ACTIVITY_HOST_BUFFERS_MAX];
static _Atomic uint64_t free_bits[WORDS];
static _Atomic int32_t finished_head = NONE; /* newest first */
static int32_t taken_head = NONE;            /* oldest first; owned by the pipeline thread */
static uint8_t *memory_begin;
static uint32_t buffer_bytes, buffer_count;
static uint32_t discarded_record_bytes; /* assumed size of a record in `discard`; 0: CUPTI accepts NULL */
/* The buffer lent out when no other is free and NULL would crash CUPTI. All requests share it because nobody
 * reads it. */
static _Alignas(CUPTI_RECORD_ALIGNMENT) uint8_t discard[DISCARD_BYTES];

enum status buffers_init(uint32_t bytes, uint32_t count, uint32_t record_bytes)
{
    bytes -= bytes % CUPTI_RECORD_ALIGNMENT; /* the next buffer's start stays aligned */
    uint64_t total = (uint64_t)bytes * count;
    void *memory = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return STATUS_NO_MEMORY;
    memory_begin = memory;
    buffer_bytes = bytes;
    buffer_count = count;
    discarded_record_bytes = record_bytes;
    for (uint32_t i = 0; i < count; i++) {
        buffers[i].data = memory_begin + (uint64_t)i * bytes;
        if (i < PREFAULTED)
            for (uint32_t at = 0; at < bytes; at += PAGE_BYTES)
                ((volatile uint8_t *)buffers[i].data)[at] = 0;
        atomic_fetch_or(&free_bits[i / 64], 1ull << (i % 64));
    }
    return STATUS_OK;
}

static struct activity_buffer *claim(void)
{
    for (unsigned w = 0; w < WORDS; w++) {
        uint64_t bits = atomic_load_explicit(&free_bits[w], memory_order_relaxed);
        while (bits) {
            uint64_t lowest = bits & -bits;
            if (atomic_compare_exchange_weak_explicit(&free_bits[w], &bits, bits & ~lowest,
                                                      memory_order_acquire, memory_order_relaxed))
                return &buffers[w * 64 + (unsigned)__builtin_ctzll(lowest)];
        }
    }
    return NULL;
}

void buffers_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
    struct activity_buffer *claimed = claim();
    *max_records = 0; /* no limit */
    if (__builtin_expect(claimed != NULL, 1)) {
        atomic_store_explicit(&claimed->is_lent, true, memory_order_relaxed);
        *buffer = claimed->data;
        *size = buffer_bytes;
        counter_add(COUNTER_buffers_lent, 1);
        return;
    }
    counter_add(COUNTER_buffers_refused, 1);
    bool null_is_safe = discarded_record_bytes == 0; /* CUPTI then counts the records as dropped */
    *buffer = null_is_safe ? NULL : discard;
    *size = null_is_safe ? 0 : sizeof discard;
}

void buffers_request_v2(uint8_t **buffer, size_t *size, size_t *max_records,
                        struct cupti_buffer_request_info *info)
{
    buffers_request(buffer, size, max_records);
}

static void tell_late(void (*on_late)(uint8_t *, size_t))
{
    int32_t index = atomic_exchange(&finished_head, NONE);
    while (index != NONE) {
        const struct activity_buffer *buffer = &buffers[index];
        on_late(buffer->data, buffer->valid);
        index = atomic_load_explicit(&buffer->next, memory_order_relaxed);
    }
}

void buffers_end(void (*on_late)(uint8_t *data, size_t valid))
{
    struct activity_buffer *untaken;
    atomic_store(&late, on_late);
    while ((untaken = buffers_take_finished()) != NULL)
        on_late(untaken->data, untaken->valid);
}

static void finish(uint8_t *data, size_t valid)
{
    if (data == discard && discarded_record_bytes)
        counter_add(COUNTER_lost_no_buffer, (valid + discarded_record_bytes - 1) / discarded_record_bytes);
    if (data < memory_begin || data >= memory_begin + (uint64_t)buffer_bytes * buffer_count)
        return; /* not one of our buffers */
    struct activity_buffer *buffer = &buffers[(uint64_t)(data - memory_begin) / buffer_bytes];
    if (!atomic_exchange_explicit(&buffer->is_lent, false, memory_order_relaxed))
        return;
    buffer->valid = (uint32_t)(valid > buffer_bytes ? buffer_bytes : valid);
    int32_t index = (int32_t)(buffer - buffers);
    int32_t head = atomic_load_explicit(&finished_head, memory_order_relaxed);
    do {
        atomic_store_explicit(&buffer->next, head, memory_order_relaxed);
    } while (!atomic_compare_exchange_weak(&finished_head, &head, index));
    /* Loaded after the push, so that either this thread or the one in buffers_end() sees the buffer. */
    void (*on_late)(uint8_t *, size_t) = atomic_load(&late);
    if (on_late)
        tell_late(on_late);
}

void buffers_complete(cuda_context_handle context, uint32_t stream, uint8_t *data, size_t size, size_t valid)
{
    (void)context, (void)stream, (void)size;
    finish(data, valid);
}

void buffers_complete_v2(uint8_t *data, size_t size, size_t valid, struct cupti_buffer_complete_info *info)
{
    if (info && info->ppRecordLayouts && buffers_on_layouts)
        buffers_on_layouts(info->ppRecordLayouts, info->numRecordLayouts);
    finish(data, valid);
}

/* Moves all finished buffers from the shared newest-first list to the pipeline thread's oldest-first list. */
static void take_all(void)
{
    int32_t index = atomic_exchange(&finished_head, NONE);
    while (index != NONE) {
        int32_t next = atomic_load_explicit(&buffers[index].next, memory_order_relaxed);
        atomic_store_explicit(&buffers[index].next, taken_head, memory_order_relaxed);
        taken_head = index;
        index = next;
    }
}

struct activity_buffer *buffers_take_finished(void)
{
    if (taken_head == NONE)
        take_all();
    if (taken_head == NONE)
        return NULL;
    struct activity_buffer *buffer = &buffers[taken_head];
    taken_head = atomic_load_explicit(&buffer->next, memory_order_relaxed);
    return buffer;
}

void buffers_give_back(struct activity_buffer *buffer)
{
    uint32_t index = (uint32_t)(buffer - buffers);
    uint64_t bit = 1ull << (index % 64);
    if (!INVARIANT(index < buffer_count && !(atomic_load(&free_bits[index / 64]) & bit)))
        return;
    memset(buffer->data, 0, buffer->valid);
    atomic_fetch_or_explicit(&free_bits[index / 64], bit, memory_order_release);
}

uint32_t buffers_free(void)
{
    uint32_t count = 0;
    for (unsigned w = 0; w < WORDS; w++)
        count += (uint32_t)__builtin_popcountll(atomic_load_explicit(&free_bits[w], memory_order_relaxed));
    return count;
}

uint32_t buffers_lent(void)
{
    uint32_t lent = 0;
    for (uint32_t i = 0; i < buffer_count; i++)
        lent += atomic_load_explicit(&buffers[i].is_lent, memory_order_relaxed);
    return lent;
}
