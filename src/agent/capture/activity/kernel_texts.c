#include "agent/capture/activity/kernel_texts.h"

#include "base/accounting/counters.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/process/self_memory.h"
#include "agent/capture/callbacks/launch_names.h"
#include "model/gpu_counter_names.h"
#include "model/settings/settings.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES (384 * 1024) /* text bytes in a half */
#define NAMES      4096         /* names in a half */
#define BUCKETS    4096
#define LAUNCHES   32768 /* launches whose records may still arrive */

#define PREVIOUS       (1u << 31)   /* in launch.text: the text is in the second half */
#define OF_RECORDS     (1ull << 63) /* in an address: it is from a record, not from a callback */
#define CANDIDATES_MAX 8            /* names of an address that are compared at most */
#define NO_ERA         1ull
#define CALLS_LATE_MAX (1u << 24)       /* a launch is older than its address's latest name by at most this */
#define CLOCK_ERROR_NS (10 * NS_PER_MS) /* CUPTI converts the GPU's clock */

/* The text of an address from one launch on. */
struct name {
    uint64_t address;
    uint64_t era; /* era of launch_names in which the text was read */
    uint32_t correlation_id;
    uint32_t text;  /* offset in the half */
    uint32_t older; /* older name with the same hash of the address: index + 1; 0: none */
    uint32_t text_hash;
    uint32_t older_text; /* older name with the same hash of the text, as above */
};

struct half {
    uint32_t name_count, text_used;
    uint32_t by_address[BUCKETS], by_text[BUCKETS]; /* index + 1, the latest first; 0: none */
    struct name names[NAMES];
    char texts[TEXT_BYTES];
};

struct launch {
    uint32_t correlation_id; /* 0: free */
    uint32_t text;
};

static struct {
    struct half halves[2];
    unsigned current;
    uint64_t kept_ns, swapped_ns;
    bool has_counters;
    struct launch launches[LAUNCHES];
    char read[SPAN_STRING_MAX];
    _Atomic uint64_t known[LAUNCH_NAMES_BYTES / sizeof(uint64_t)];
} * texts;
static_assert(sizeof *texts <= SETTINGS_NAMES_BYTES, "the settings count on it");

enum status kernel_texts_create(uint64_t kept_ns, bool has_counters)
{
    if (!texts)
        texts = calloc(1, sizeof *texts);
    if (texts) {
        texts->kept_ns = kept_ns;
        texts->has_counters = has_counters;
        launch_names_start(texts->known);
    }
    return texts ? STATUS_OK : STATUS_NO_MEMORY;
}

void kernel_texts_destroy(void)
{
    launch_names_start(NULL);
    free(texts);
    texts = NULL;
}

static uint32_t *bucket_of(struct half *half, uint64_t address)
{
    return &half->by_address[(address * HASH_SPREAD >> 40) % BUCKETS];
}

/* Whether the name is valid for the launch with this ID. IDs wrap around: one that seems to be much older is
 * newer. */
static bool is_since(const struct name *name, uint32_t correlation_id)
{
    return correlation_id - name->correlation_id < UINT32_MAX - CALLS_LATE_MAX;
}

/* Returns the latest name of the address that is valid for the launch; NULL: none. Threads' rings are drained
 * one after the other, so names do not arrive in the order of the launches. */
static struct name *name_in(struct half *half, uint64_t address, uint32_t correlation_id)
{
    struct name *found = NULL;
    unsigned candidates = 0;
    for (uint32_t at = *bucket_of(half, address); at && candidates < CANDIDATES_MAX;
         at = half->names[at - 1].older) {
        struct name *name = &half->names[at - 1];
        if (name->address != address || !is_since(name, correlation_id))
            continue;
        candidates++;
        if (!found || (int32_t)(name->correlation_id - found->correlation_id) > 0)
            found = name;
    }
    return found;
}

static struct half *current(void)
{
    return &texts->halves[texts->current];
}

static void empty(struct half *half)
{
    half->name_count = half->text_used = 0;
    memset(half->by_address, 0, sizeof half->by_address);
    memset(half->by_text, 0, sizeof half->by_text);
    uint32_t of_half = half == texts->halves ? 0 : PREVIOUS;
    for (unsigned i = 0; i < LAUNCHES; i++)
        if ((texts->launches[i].text & PREVIOUS) == of_half)
            texts->launches[i].correlation_id = 0;
}

/* Empties the older half and makes it the current one. False: its texts must still be kept. */
static bool swap(void)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (texts->swapped_ns && now_ns - texts->swapped_ns < texts->kept_ns)
        return false;
    texts->swapped_ns = now_ns;
    texts->current ^= 1;
    empty(current());
    launch_names_forget();
    return true;
}

static bool has_room(uint32_t text_bytes)
{
    return current()->name_count < NAMES && text_bytes < TEXT_BYTES - current()->text_used;
}

/* Returns the offset of the text in the half, and adds it if it is new. Modules that are loaded again have
 * the same names. */
static uint32_t put_text(struct half *half, uint32_t hash, const char *text, uint32_t text_bytes)
{
    for (uint32_t at = half->by_text[hash % BUCKETS]; at; at = half->names[at - 1].older_text)
        if (half->names[at - 1].text_hash == hash &&
            strcmp(half->texts + half->names[at - 1].text, text) == 0)
            return half->names[at - 1].text;
    uint32_t at = half->text_used;
    memcpy(half->texts + at, text, text_bytes + 1);
    half->text_used += text_bytes + 1;
    return at;
}

/* Adds a name to the current half, unless its latest text is the same; NULL: no room. */
static struct name *note(uint64_t address, uint32_t correlation_id, const char *text, uint32_t text_bytes)
{
    struct name *latest = name_in(current(), address, correlation_id);
    if (latest && strcmp(current()->texts + latest->text, text) == 0)
        return latest;
    if (!has_room(text_bytes) && (!swap() || !has_room(text_bytes)))
        return NULL;
    struct half *half = current();
    uint32_t hash = (uint32_t)hash_bytes(HASH_START, text, text_bytes);
    uint32_t *addresses = bucket_of(half, address), *same = &half->by_text[hash % BUCKETS];
    struct name *name = &half->names[half->name_count];
    *name = (struct name){.address = address,
                          .correlation_id = correlation_id,
                          .text = put_text(half, hash, text, text_bytes),
                          .older = *addresses,
                          .text_hash = hash,
                          .older_text = *same};
    *addresses = *same = ++half->name_count;
    return name;
}

static void note_launch(uint32_t correlation_id, uint64_t address)
{
    struct launch *launch = &texts->launches[correlation_id % LAUNCHES];
    for (unsigned back = 0; back < 2 && correlation_id; back++) {
        unsigned half = texts->current ^ back;
        const struct name *name = name_in(&texts->halves[half], address, correlation_id);
        if (name) {
            *launch = (struct launch){correlation_id, name->text | (half ? PREVIOUS : 0)};
            return;
        }
    }
}

void kernel_texts_note(const struct kernel_name_record *record)
{
    if (record->text_bytes)
        (void)note(record->address, record->correlation_id, record->text, record->text_bytes);
    note_launch(record->correlation_id, record->address);
}

static const char *name_of_launch(uint32_t correlation_id)
{
    const struct launch *launch = &texts->launches[correlation_id % LAUNCHES];
    if (!correlation_id || launch->correlation_id != correlation_id)
        return NULL;
    return texts->halves[launch->text & PREVIOUS ? 1 : 0].texts + (launch->text & ~PREVIOUS);
}

/* Whether the module of this work is surely still loaded. */
static bool has_module(const struct activity_record *record)
{
    uint64_t unloaded = atomic_load_explicit(&launch_names.unloaded, memory_order_acquire);
    return !unloaded || record->start_ns > clock_ticks_to_ns(unloaded) + CLOCK_ERROR_NS;
}

/* Returns the text at the record's name pointer; NULL: unknown. While no module is unloaded, a text read
 * before is still right. Otherwise the text is right if the module is surely still loaded, or if it equals
 * the one read before. */
static const char *read_name(const struct activity_record *record)
{
    uint64_t address = (uint64_t)(uintptr_t)record->name | OF_RECORDS;
    uint64_t era = atomic_load_explicit(&launch_names.era, memory_order_acquire);
    struct name *known = name_in(current(), address, 0);
    if (known && known->era == era)
        return current()->texts + known->text;
    bool has = has_module(record);
    ptrdiff_t length = self_memory_read_text(address & ~OF_RECORDS, texts->read, sizeof texts->read);
    if (length <= 0 || atomic_load_explicit(&launch_names.era, memory_order_acquire) != era)
        return NULL;
    if (!has && (!known || strcmp(current()->texts + known->text, texts->read) != 0))
        return NULL;
    struct name *name = note(address, 0, texts->read, (uint32_t)length);
    if (!name)
        return NULL;
    /* If an unload has started, it may free the text at any moment. */
    bool lasts = has && era == atomic_load_explicit(&launch_names.era, memory_order_acquire);
    name->era = lasts ? era : NO_ERA;
    return current()->texts + name->text;
}

/* Whether the record is of CUPTI's own kernel. Makes a system call for each record, but only with hardware
 * counters. */
static bool is_own_kernel_of_cupti(const struct activity_record *record)
{
    char text[sizeof GPU_COUNTERS_OWN_KERNEL + 1];
    return self_memory_read_text((uint64_t)(uintptr_t)record->name, text, sizeof text) > 0 &&
           strcmp(text, GPU_COUNTERS_OWN_KERNEL) == 0;
}

const char *kernel_texts_find(const struct activity_record *record)
{
    if (texts->has_counters && is_own_kernel_of_cupti(record))
        return GPU_COUNTERS_OWN_KERNEL;
    const char *text = record->graph_node_id ? NULL : name_of_launch(record->correlation_id);
    if (!text)
        text = read_name(record);
    counter_add_alone(COUNTER_kernels_nameless, !text);
    return text;
}
