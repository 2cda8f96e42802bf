#include "analysis/export/dictionary.h"

#include "base/hash.h"

#include <stdlib.h>

#define KNOWN_MAPS (sizeof((struct dictionary *)0)->known / sizeof(struct int_map))

void dictionary_deinit(struct dictionary *dictionary)
{
    free(dictionary->plain.data);
    free(dictionary->places);
    int_map_deinit(&dictionary->by_hash);
    for (size_t i = 0; i < KNOWN_MAPS; i++)
        int_map_deinit(&dictionary->known[i]);
}

void dictionary_clear(struct dictionary *dictionary)
{
    dictionary->plain.len = dictionary->count = 0;
    int_map_clear(&dictionary->by_hash);
    for (size_t i = 0; i < KNOWN_MAPS; i++)
        int_map_clear(&dictionary->known[i]);
}

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

uint32_t dictionary_add(struct dictionary *dictionary, const void *value, size_t len, size_t prefix)
{
    uint64_t key = hash_of(value, len);
    uint32_t wanted = htole32((uint32_t)len), index;
    for (; (index = int_map_get(&dictionary->by_hash, key)) != MAP_NONE; key++) {
        const uint8_t *at = dictionary->plain.data + dictionary->places[index];
        if (memcmp(at, &wanted, prefix) == 0 && (len == 0 || memcmp(at + prefix, value, len) == 0))
            return index;
    }
    dictionary->places = xgrow(dictionary->places, &dictionary->place_capacity, dictionary->count + 1,
                               sizeof *dictionary->places);
    dictionary->places[dictionary->count] = dictionary->plain.len;
    bytes_add(&dictionary->plain, &wanted, prefix);
    bytes_add(&dictionary->plain, value, len);
    int_map_set(&dictionary->by_hash, key, (uint32_t)dictionary->count);
    return (uint32_t)dictionary->count++;
}
