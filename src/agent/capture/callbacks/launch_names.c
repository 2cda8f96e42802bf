#include "agent/capture/callbacks/launch_names.h"

#include "base/clock.h"

#include <string.h>

struct launch_names launch_names;

/* Odd, so that all eras differ, with bits that pointers do not have. */
#define ERA_STEP 0xd6e8feb86659fd93ull
/* A longer name is cut, so that it fits into an empty ring of any size. */
#define BYTES_MAX (RING_BYTES_MIN / 2)

/* Writes a record with the launch's address and the first `text_bytes` of the name. False: no room. */
static bool write(struct host_thread *thread, const struct cupti_callback_data *data, uint32_t text_bytes)
{
    uint32_t bytes = (uint32_t)(sizeof(struct kernel_name_record) + text_bytes + 8) & ~7u;
    struct kernel_name_record *record = ring_reserve(&thread->ring, bytes);
    if (!record) {
        thread_count_note_lost(thread);
        return false;
    }
    *record = (struct kernel_name_record){.head = {bytes, RECORD_KERNEL_NAME, 0, 0},
                                          .address = (uint64_t)(uintptr_t)data->symbolName,
                                          .correlation_id = data->correlationId,
                                          .text_bytes = text_bytes};
    if (text_bytes)
        memcpy(record->text, data->symbolName, text_bytes);
    record->text[text_bytes] = 0;
    ring_commit(&thread->ring, bytes);
    return true;
}

void launch_names_take(struct host_thread *thread, const struct cupti_callback_data *data)
{
    const char *symbol = data->symbolName;
    if (!symbol)
        return;
    uint64_t mark = launch_names_mark(symbol); /* read first: a module unloaded meanwhile is another one */
    _Atomic uint64_t *known = &launch_names.known[mark >> (64 - LAUNCH_NAMES_PLACES_LOG2)];
    if (atomic_load_explicit(known, memory_order_relaxed) == mark) {
        (void)write(thread, data, 0);
        return;
    }
    uint32_t text_bytes = (uint32_t)strnlen(symbol, BYTES_MAX - sizeof(struct kernel_name_record) - 8);
    if (write(thread, data, text_bytes))
        atomic_store_explicit(known, mark, memory_order_release);
}

void launch_names_unload(void)
{
    atomic_store_explicit(&launch_names.unloaded, clock_ticks(), memory_order_release);
    launch_names_forget();
}

void launch_names_forget(void)
{
    atomic_fetch_add_explicit(&launch_names.era, ERA_STEP, memory_order_acq_rel);
}
