#include "agent/capture/nvtx/nvtx_names.h"

#include "base/hash.h"
#include "base/limits.h"
#include "base/log/log.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#define STRING_BYTES   (NVTX_NAMES_BYTES / 8 * 7) /* limits strings, so that the other kinds have room */
#define STRING_BUCKETS 4096
#define OTHER_BUCKETS  512 /* separate, because ranges look up their category */
#define BUCKETS        (STRING_BUCKETS + OTHER_BUCKETS)
#define ALIGNMENT      alignof(struct nvtx_name)

/* In .bss: pages that are never reached take no memory. */
static alignas(struct nvtx_name) uint8_t memory[NVTX_NAMES_BYTES];
static _Atomic uint32_t memory_used;
static _Atomic(const struct nvtx_name *) buckets[BUCKETS]; /* lists that grow only at their heads */
static _Atomic uint32_t domains = NVTX_DOMAIN_FIRST;

/* The entries shared by all names after memory is exhausted. */
static const struct nvtx_name domain_beyond = {
    .text = "", .number = NVTX_DOMAIN_BEYOND, .kind = NVTX_NAME_DOMAIN};
static const struct nvtx_name string_beyond = {
    .text = "(too many NVTX strings)", .bytes = 23, .kind = NVTX_NAME_STRING};

static_assert(RANGE_TEXT_BYTES <= UINT16_MAX, "nvtx_name.bytes holds it");

static uint64_t mix(uint64_t hash)
{
    hash ^= hash >> 32;
    hash *= HASH_SPREAD;
    return hash ^ hash >> 29;
}

static _Atomic(const struct nvtx_name *) *bucket_of(enum nvtx_name_kind kind, uint64_t key)
{
    uint64_t hash = mix(key + kind);
    return &buckets[kind == NVTX_NAME_STRING ? hash % STRING_BUCKETS : STRING_BUCKETS + hash % OTHER_BUCKETS];
}

static bool has_text(const struct nvtx_name *name, const char *text, uint32_t bytes)
{
    return name->bytes == bytes && memcmp(name->text, text, bytes) == 0;
}

/* Returns the first matching entry of the list; NULL: none. With `text` NULL, any text matches. */
static const struct nvtx_name *find(const struct nvtx_name *list, enum nvtx_name_kind kind, uint64_t key,
                                    const char *text, uint32_t bytes)
{
    while (list && (list->kind != kind || list->key != key || (text && !has_text(list, text, bytes))))
        list = list->next;
    return list;
}

static void log_full(void)
{
    log_once(log_warn,
             "NVTX: the %d KiB for names of domains, categories and registered strings are full; ranges "
             "lack later ones",
             NVTX_NAMES_BYTES / 1024);
}

static struct nvtx_name *take(enum nvtx_name_kind kind, uint32_t text_bytes)
{
    uint32_t limit = kind == NVTX_NAME_STRING ? STRING_BYTES : NVTX_NAMES_BYTES;
    uint32_t bytes =
        (uint32_t)((sizeof(struct nvtx_name) + text_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    uint32_t at = atomic_load_explicit(&memory_used, memory_order_relaxed);
    do {
        if (at + bytes > limit) {
            log_full();
            return NULL;
        }
    } while (!atomic_compare_exchange_weak(&memory_used, &at, at + bytes));
    return (struct nvtx_name *)(void *)(memory + at);
}

/* Adds an entry unless it exists; NULL: no memory. `is_unique`: any entry with this key and text counts;
 * otherwise only the newest entry of the key. */
static const struct nvtx_name *add(enum nvtx_name_kind kind, uint64_t key, const char *text, uint32_t bytes,
                                   bool is_unique)
{
    _Atomic(const struct nvtx_name *) *bucket = bucket_of(kind, key);
    const struct nvtx_name *head = atomic_load_explicit(bucket, memory_order_acquire);
    struct nvtx_name *made = NULL;
    do {
        const struct nvtx_name *found = find(head, kind, key, is_unique ? text : NULL, bytes);
        if (found && has_text(found, text, bytes))
            return found; /* possibly added by another thread just now; our memory is then wasted */
        if (!made) {
            made = take(kind, bytes);
            if (!made)
                return NULL;
            *made = (struct nvtx_name){.text = memcpy(made + 1, text, bytes),
                                       .key = key,
                                       .number = kind == NVTX_NAME_DOMAIN ? atomic_fetch_add(&domains, 1) : 0,
                                       .bytes = (uint16_t)bytes,
                                       .kind = (uint8_t)kind};
        }
        made->next = head;
    } while (!atomic_compare_exchange_weak_explicit(bucket, &head, made, memory_order_release,
                                                    memory_order_acquire));
    return made;
}

static uint32_t cut(uint32_t bytes)
{
    return bytes < RANGE_TEXT_BYTES ? bytes : RANGE_TEXT_BYTES;
}

const struct nvtx_name *nvtx_names_register(enum nvtx_name_kind kind, const char *text, uint32_t bytes)
{
    bytes = cut(bytes);
    const struct nvtx_name *name = add(kind, hash_bytes(HASH_START, text, bytes), text, bytes, true);
    if (!name)
        name = kind == NVTX_NAME_DOMAIN ? &domain_beyond : &string_beyond;
    return name;
}

void nvtx_names_set(enum nvtx_name_kind kind, uint64_t key, const char *text, uint32_t bytes)
{
    add(kind, key, text, cut(bytes), false);
}

const struct nvtx_name *nvtx_names_get(enum nvtx_name_kind kind, uint64_t key)
{
    return find(atomic_load_explicit(bucket_of(kind, key), memory_order_acquire), kind, key, NULL, 0);
}

void nvtx_names_visit(enum nvtx_name_kind kind, void (*visit)(const struct nvtx_name *name))
{
    for (uint32_t i = 0; i < BUCKETS; i++)
        for (const struct nvtx_name *at = atomic_load_explicit(&buckets[i], memory_order_acquire); at;
             at = at->next)
            if (at->kind == kind && nvtx_names_get(kind, at->key) == at)
                visit(at);
}

const struct nvtx_name *nvtx_names_of_handle(enum nvtx_name_kind kind, const void *handle)
{
    const struct nvtx_name *name = handle;
    uintptr_t offset = (uintptr_t)handle - (uintptr_t)memory;
    bool is_ours = (offset < NVTX_NAMES_BYTES - sizeof *name && offset % ALIGNMENT == 0) ||
                   name == &domain_beyond || name == &string_beyond;
    return is_ours && name->kind == kind ? name : NULL;
}
