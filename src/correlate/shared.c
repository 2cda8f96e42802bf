#include "correlate/shared.h"

#include <stdlib.h>

#define SEEN_MAX   4096 /* keys that were asked for once; a power of two */
#define TEXT_BYTES 512

struct part {
    uint64_t used; /* the table's count of questions when it was last taken; 0: free */
    uint32_t key_count;
    uint64_t key[SHARED_KEY_WORDS];
    struct span_shared shared;
    struct span_attr attrs[SPAN_SHARED_ATTRS_MAX];
    char text[TEXT_BYTES]; /* the name and the strings among the attributes */
};

struct shared_table {
    uint64_t questions;
    uint32_t versions;
    const uint64_t *asked; /* the last key, the caller's */
    uint32_t asked_count;
    uint64_t asked_hash;
    uint64_t seen[SEEN_MAX];
    struct part parts[SPAN_SHARED_MAX];
};

static_assert((SPAN_SHARED_MAX & (SPAN_SHARED_MAX - 1)) == 0, "slots are found by a mask");

enum status shared_create(struct shared_table **table)
{
    *table = calloc(1, sizeof **table);
    return *table ? STATUS_OK : STATUS_NO_MEMORY;
}

void shared_destroy(struct shared_table *table)
{
    free(table);
}

static uint64_t fold(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 product;
    product both = (product)a * b;
    return (uint64_t)both ^ (uint64_t)(both >> 64);
}

/* Two words a multiplication, none of which waits for another. */
static uint64_t hash(const uint64_t *key, uint32_t count)
{
    uint64_t sum = count, salt = 0x9e3779b97f4a7c15u;
    for (uint32_t i = 0; i + 1 < count; i += 2, salt += 0xd1b54a32d192ed03u)
        sum += fold(key[i] ^ salt, key[i + 1] ^ ~salt);
    if (count % 2)
        sum += fold(key[count - 1] ^ salt, 0xe7037ed1a0b428dbu);
    return fold(sum, 0x8ebc6af09c88c6e3u) | 1;
}

static bool is_equal(const struct part *part, const uint64_t *key, uint32_t count)
{
    if (part->key_count != count)
        return false;
    uint64_t difference = 0;
    for (uint32_t i = 0; i < count; i++)
        difference |= part->key[i] ^ key[i];
    return difference == 0;
}

/* Each key has two slots that it may be in, side by side. */
static struct part *first_place(struct shared_table *table)
{
    return &table->parts[table->asked_hash >> 32 & (SPAN_SHARED_MAX - 2)];
}

bool shared_take(struct shared_table *table, const uint64_t *key, uint32_t count, struct span *span)
{
    table->asked = key;
    table->asked_count = count;
    table->asked_hash = hash(key, count);
    struct part *part = first_place(table);
    if (!is_equal(part, key, count) && !is_equal(++part, key, count))
        return false;
    part->used = ++table->questions;
    span->shared = &part->shared;
    span->name = part->shared.name;
    span->name_len = part->shared.name_len;
    return true;
}

/* False: there is no room for the text. */
static bool keep_text(struct part *part, size_t *used, const char **text, size_t length)
{
    if (length > sizeof part->text - *used)
        return false;
    memcpy(part->text + *used, *text, length);
    *text = part->text + *used;
    *used += length;
    return true;
}

/* False: it is too much. The place is free then. */
static bool fill(struct part *part, const struct span *span)
{
    size_t used = 0;
    part->key_count = 0;
    part->used = 0;
    part->shared.name = span->name;
    part->shared.name_len = span->name_len;
    if (!span->attr_count || span->attr_count > SPAN_SHARED_ATTRS_MAX ||
        !keep_text(part, &used, &part->shared.name, span->name_len))
        return false;
    memcpy(part->attrs, span->attrs, span->attr_count * sizeof *span->attrs);
    part->shared.attrs = part->attrs;
    part->shared.attr_count = span->attr_count;
    for (uint32_t i = 0; i < span->attr_count; i++)
        if (part->attrs[i].type == ATTR_STRING &&
            !keep_text(part, &used, &part->attrs[i].s, part->attrs[i].len))
            return false;
    return true;
}

/* Keys that come once and never again must not push out those that come again and again. */
static bool was_seen(struct shared_table *table)
{
    uint64_t *seen = &table->seen[table->asked_hash >> 16 & (SEEN_MAX - 1)];
    bool was = *seen == table->asked_hash;
    *seen = table->asked_hash;
    return was;
}

void shared_offer(struct shared_table *table, struct span *span)
{
    if (!was_seen(table))
        return;
    struct part *part = first_place(table);
    if (part[1].used < part->used)
        part++;
    if (!fill(part, span))
        return;
    memcpy(part->key, table->asked, table->asked_count * sizeof *table->asked);
    part->key_count = table->asked_count;
    part->used = ++table->questions;
    part->shared.slot = (uint32_t)(part - table->parts);
    part->shared.version = ++table->versions;
    span->shared = &part->shared;
    span->name = part->shared.name;
    span->attr_count = 0;
}
