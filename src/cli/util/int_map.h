/* A hash map from a 64-bit key to a 32-bit value: span IDs, groups, interned strings. */
#pragma once

#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAP_NONE UINT32_MAX /* no such key; not a valid value */

/* A zeroed one is empty. */
struct int_map {
    struct int_map_entry {
        uint64_t key;
        uint32_t value; /* MAP_NONE: the slot is empty */
    } * entries;
    size_t slots; /* a power of two, or 0 */
    size_t count;
};

/* Mixes the bits of a key or of a running hash. */
static inline uint64_t int_map_mix(uint64_t x)
{
    x ^= x >> 32;
    x *= HASH_SPREAD;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9ull;
    return x ^ x >> 32;
}

/* MAP_NONE: no such key. */
static inline uint32_t int_map_get(const struct int_map *map, uint64_t key)
{
    if (!map->slots)
        return MAP_NONE;
    size_t slot = (size_t)int_map_mix(key) & (map->slots - 1);
    while (map->entries[slot].value != MAP_NONE && map->entries[slot].key != key)
        slot = (slot + 1) & (map->slots - 1);
    return map->entries[slot].value;
}

/* Adds or replaces. */
void int_map_set(struct int_map *map, uint64_t key, uint32_t value);
/* The same; returns the value before, or MAP_NONE. */
uint32_t int_map_exchange(struct int_map *map, uint64_t key, uint32_t value);
/* Returns the number of the key. Numbers start with 0, in the order of the keys' first appearance. */
uint32_t int_map_number(struct int_map *map, uint64_t key);
/* Removes all keys, and keeps the memory. */
void int_map_clear(struct int_map *map);
void int_map_deinit(struct int_map *map);
