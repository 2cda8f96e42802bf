#include "agent/correlate/spans/span_shared.h"

#include <string.h>

static_assert((SPAN_SHARED_MAX & (SPAN_SHARED_MAX - 1)) == 0, "slots are found by a mask");

static uint64_t fold(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 product;
    product both = (product)a * b;
    return (uint64_t)both ^ (uint64_t)(both >> 64);
}

/* Random multipliers by position in the key; odd, so that each bit of a word counts. */
static const uint64_t places[SHARED_KEY_WORDS] = {
    0xbdd732262feb6e95, 0x28efe333b266f103, 0x47526757130f9f53, 0x581ce1ff0e4ae395, 0x09bc585a244823f3,
    0xde4431fa3c80db07, 0x37e9671c45376d5d, 0xccf635ee9e9e2fa5, 0x5705b8770b3d7dd5, 0x9e54d738297f77af,
    0x3474724a775b19bf, 0x7e348a0e451650bf, 0x836ded897f3e46e7, 0x851f977347ed6db7, 0xaa47e31c02e78edd,
    0x341452c54d7c33f3, 0x1a83d752f35eba75, 0x7ed90003f67f9e1d, 0x17eadff448a86a07, 0xb05eca1a2972b861,
    0xf513444b6455a3e9, 0x12b3a6dd261f6e99, 0x998d8fb100ca15d5, 0x9eac75d45474c891,
};

/* The hash only chooses the slot: keys are compared in full. */
static uint64_t hash(const uint64_t *key, uint32_t count)
{
    uint64_t sum = count;
    uint32_t i = 0;
    for (; i + 4 <= count; i += 4)
        sum += key[i] * places[i] + key[i + 1] * places[i + 1] + key[i + 2] * places[i + 2] +
               key[i + 3] * places[i + 3];
    for (; i < count; i++)
        sum += key[i] * places[i];
    return fold(sum, 0x8ebc6af09c88c6e3u) | 1;
}

static bool is_equal(const struct shared_part *part, const uint64_t *key, uint32_t count)
{
    return part->key_count == count && memcmp(part->key, key, count * sizeof *key) == 0;
}

/* Returns the first of the two adjacent slots that a key can be in. */
static struct shared_part *first_place(struct shared_table *table)
{
    return &table->parts[table->asked_hash >> 32 & (SPAN_SHARED_MAX - 2)];
}

bool span_shared_take(struct shared_table *table, const uint64_t *key, uint32_t count, struct span *span)
{
    table->asked = key;
    table->asked_count = count;
    table->asked_hash = hash(key, count);
    struct shared_part *part = first_place(table);
    if (!is_equal(part, key, count) && !is_equal(++part, key, count))
        return false;
    part->used = ++table->lookups;
    span->shared = &part->shared;
    span->name = part->shared.name;
    span->name_len = part->shared.name_len;
    return true;
}

static bool fits(const struct span *span)
{
    size_t bytes = span->name_len;
    if (!span->attr_count || span->attr_count > SPAN_SHARED_ATTRS_MAX)
        return false;
    for (uint32_t i = 0; i < span->attr_count; i++)
        bytes += span->attrs[i].type == ATTR_STRING ? span->attrs[i].len : 0;
    return bytes <= SHARED_TEXT_BYTES;
}

static const char *keep_text(char **to, const char *text, size_t length)
{
    char *kept = memcpy(*to, text, length);
    *to += length;
    return kept;
}

static void fill(struct shared_part *part, const struct span *span)
{
    char *text = part->text;
    memcpy(part->attrs, span->attrs, span->attr_count * sizeof *span->attrs);
    part->shared.attrs = part->attrs;
    part->shared.attr_count = span->attr_count;
    part->shared.name = keep_text(&text, span->name, span->name_len);
    part->shared.name_len = span->name_len;
    for (uint32_t i = 0; i < span->attr_count; i++)
        if (part->attrs[i].type == ATTR_STRING)
            part->attrs[i].s = keep_text(&text, part->attrs[i].s, part->attrs[i].len);
}

/* Whether the key of the last lookup was seen before. Only such keys are stored, so that one-time keys do not
 * evict recurring ones. */
static bool was_seen(struct shared_table *table)
{
    uint64_t *seen = &table->seen[table->asked_hash >> 16 & (SHARED_SEEN_MAX - 1)];
    bool was = *seen == table->asked_hash;
    *seen = table->asked_hash;
    return was;
}

void span_shared_offer(struct shared_table *table, struct span *span)
{
    if (!was_seen(table) || !fits(span))
        return;
    struct shared_part *part = first_place(table);
    if (part[1].used < part->used)
        part++;
    fill(part, span);
    memcpy(part->key, table->asked, table->asked_count * sizeof *table->asked);
    part->key_count = table->asked_count;
    part->used = ++table->lookups;
    part->shared.slot = (uint32_t)(part - table->parts);
    part->shared.version = ++table->versions;
    span->shared = &part->shared;
    span->name = part->shared.name;
    span->attr_count = 0;
}
