#include "cli/util/int_map.h"

#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

static size_t find_slot(const struct int_map *map, uint64_t key)
{
    size_t slot = (size_t)int_map_mix(key) & (map->slots - 1);
    while (map->values[slot] != MAP_NONE && map->keys[slot] != key)
        slot = (slot + 1) & (map->slots - 1);
    return slot;
}

uint32_t int_map_get(const struct int_map *map, uint64_t key)
{
    return map->slots ? map->values[find_slot(map, key)] : MAP_NONE;
}

static void enlarge(struct int_map *map)
{
    struct int_map larger = {.slots = map->slots ? map->slots * 2 : 64, .count = map->count};
    larger.keys = xcalloc(larger.slots, sizeof *larger.keys);
    larger.values = xcalloc(larger.slots, sizeof *larger.values);
    memset(larger.values, 0xff, larger.slots * sizeof *larger.values);
    for (size_t i = 0; i < map->slots; i++) {
        if (map->values[i] == MAP_NONE)
            continue;
        size_t slot = find_slot(&larger, map->keys[i]);
        larger.keys[slot] = map->keys[i];
        larger.values[slot] = map->values[i];
    }
    int_map_deinit(map);
    *map = larger;
}

void int_map_set(struct int_map *map, uint64_t key, uint32_t value)
{
    if (map->count * 2 >= map->slots)
        enlarge(map);
    size_t slot = find_slot(map, key);
    map->count += map->values[slot] == MAP_NONE;
    map->keys[slot] = key;
    map->values[slot] = value;
}

void int_map_deinit(struct int_map *map)
{
    free(map->keys);
    free(map->values);
    *map = (struct int_map){0};
}
