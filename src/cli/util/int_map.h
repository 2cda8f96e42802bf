/* A hash map from a 64-bit key to a 32-bit value: span IDs, groups, interned strings. */
#ifndef CUSPAN_CLI_UTIL_INT_MAP_H
#define CUSPAN_CLI_UTIL_INT_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAP_NONE UINT32_MAX /* no such key; not a valid value */

/* A zeroed one is empty. */
struct int_map {
    uint64_t *keys;
    uint32_t *values; /* MAP_NONE: the slot is empty */
    size_t slots;     /* a power of two, or 0 */
    size_t count;
};

uint32_t int_map_get(const struct int_map *map, uint64_t key);
/* Adds or replaces. */
void int_map_set(struct int_map *map, uint64_t key, uint32_t value);
void int_map_deinit(struct int_map *map);

/* Mixes the bits of a key or of a running hash. */
static inline uint64_t int_map_mix(uint64_t x)
{
    x ^= x >> 32;
    x *= 0x9e3779b97f4a7c15ull;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9ull;
    return x ^ x >> 32;
}

#endif
