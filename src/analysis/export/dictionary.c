#include "analysis/export/dictionary.h"

#include "base/hash.h"

#include <stdlib.h>

#define SLOTS_FIRST 256
#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

void dictionary_deinit(struct dictionary *dictionary)
{
    free(dictionary->plain.data);
    free(dictionary->clean.data);
    free(dictionary->entries);
    free(dictionary->slots);
    for (size_t i = 0; i < sizeof dictionary->known / sizeof *dictionary->known; i++)
        int_map_deinit(&dictionary->known[i]);
}

void dictionary_clear(struct dictionary *dictionary)
{
    dictionary->plain.len = 0;
    dictionary->count = 0;
    if (dictionary->slots)
        memset(dictionary->slots, 0xff, dictionary->slot_count * sizeof *dictionary->slots);
    for (size_t i = 0; i < sizeof dictionary->known / sizeof *dictionary->known; i++) {
        if (dictionary->known[i].count)
            int_map_clear(&dictionary->known[i]);
    }
}

/* --- UTF-8 --- */

/* The bytes of the character at `at`, or 0: it is not UTF-8. */
static size_t character_bytes(const unsigned char *at, size_t len)
{
    unsigned char first = at[0];
    size_t count = first < 0x80   ? 1
                   : first < 0xc2 ? 0
                   : first < 0xe0 ? 2
                   : first < 0xf0 ? 3
                   : first < 0xf5 ? 4
                                  : 0;
    if (count > len)
        return 0;
    for (size_t i = 1; i < count; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    }
    bool is_too_long = (first == 0xe0 && at[1] < 0xa0) || (first == 0xf0 && at[1] < 0x90);
    bool is_surrogate = first == 0xed && at[1] >= 0xa0;
    bool is_too_large = first == 0xf4 && at[1] >= 0x90;
    return count > 2 && (is_too_long || is_surrogate || is_too_large) ? 0 : count;
}

bool dictionary_is_utf8(const char *text, size_t len)
{
    size_t i = 0, count;
    for (uint64_t word; len - i >= sizeof word; i += sizeof word) {
        memcpy(&word, text + i, sizeof word);
        if (word & 0x8080808080808080u)
            break;
    }
    for (; i < len; i += count) {
        count = character_bytes((const unsigned char *)text + i, len - i);
        if (count == 0)
            return false;
    }
    return true;
}

static void make_clean(struct bytes *clean, const char *text, size_t len)
{
    clean->len = 0;
    for (size_t i = 0, count; i < len; i += count ? count : 1) {
        count = character_bytes((const unsigned char *)text + i, len - i);
        bytes_add(clean, count ? text + i : REPLACEMENT, count ? count : sizeof REPLACEMENT - 1);
    }
}

/* --- entries --- */

static uint64_t hash_of(const void *value, size_t len)
{
    const char *at = value;
    uint64_t hash = len * HASH_SPREAD, word;
    for (; len >= sizeof word; len -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        hash = (hash ^ word) * HASH_SPREAD;
        hash ^= hash >> 32;
    }
    word = 0;
    if (len) /* an empty text may be NULL */
        memcpy(&word, at, len);
    return int_map_mix(hash ^ word);
}

static void enlarge(struct dictionary *dictionary)
{
    dictionary->slot_count = dictionary->slot_count ? dictionary->slot_count * 2 : SLOTS_FIRST;
    free(dictionary->slots);
    dictionary->slots = xcalloc(dictionary->slot_count, sizeof *dictionary->slots);
    memset(dictionary->slots, 0xff, dictionary->slot_count * sizeof *dictionary->slots);
    for (size_t i = 0; i < dictionary->count; i++) {
        size_t slot = dictionary->entries[i].hash & (dictionary->slot_count - 1);
        while (dictionary->slots[slot] != MAP_NONE)
            slot = (slot + 1) & (dictionary->slot_count - 1);
        dictionary->slots[slot] = (uint32_t)i;
    }
}

/* `prefix`: the bytes of the length in front of a text. */
static uint32_t add(struct dictionary *dictionary, const void *value, size_t len, size_t prefix)
{
    uint64_t hash = hash_of(value, len);
    uint32_t wanted = htole32((uint32_t)len);
    if (dictionary->count * 2 >= dictionary->slot_count)
        enlarge(dictionary);
    size_t slot = hash & (dictionary->slot_count - 1);
    for (; dictionary->slots[slot] != MAP_NONE; slot = (slot + 1) & (dictionary->slot_count - 1)) {
        const struct dictionary_entry *entry = &dictionary->entries[dictionary->slots[slot]];
        const uint8_t *at = dictionary->plain.data + entry->at;
        if (entry->hash == hash && memcmp(at, &wanted, prefix) == 0 &&
            (len == 0 || memcmp(at + prefix, value, len) == 0))
            return dictionary->slots[slot];
    }
    dictionary->entries = xgrow(dictionary->entries, &dictionary->entry_capacity, dictionary->count + 1,
                                sizeof *dictionary->entries);
    dictionary->entries[dictionary->count] = (struct dictionary_entry){hash, dictionary->plain.len};
    bytes_add(&dictionary->plain, &wanted, prefix);
    bytes_add(&dictionary->plain, value, len);
    dictionary->slots[slot] = (uint32_t)dictionary->count;
    return (uint32_t)dictionary->count++;
}

uint32_t dictionary_add_fixed(struct dictionary *dictionary, const void *value, size_t len)
{
    return add(dictionary, value, len, 0);
}

uint32_t dictionary_add_text(struct dictionary *dictionary, const char *text, size_t len)
{
    if (dictionary_is_utf8(text, len))
        return add(dictionary, text, len, sizeof(uint32_t));
    dictionary->replaced++;
    make_clean(&dictionary->clean, text, len);
    return add(dictionary, dictionary->clean.data, dictionary->clean.len, sizeof(uint32_t));
}
