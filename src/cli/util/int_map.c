#include "cli/util/int_map.h"

#include "cli/util/xalloc.h"

#include <stdlib.h>

static struct int_map_entry *find_entry(const struct int_map *map, uint64_t key)
{
    size_t slot = (size_t)int_map_mix(key) & (map->slots - 1);
    while (map->entries[slot].value != MAP_NONE && map->entries[slot].key != key)
        slot = (slot + 1) & (map->slots - 1);
    return &map->entries[slot];
}

static void enlarge(struct int_map *map)
{
    struct int_map larger = {.slots = map->slots ? map->slots * 2 : 64, .count = map->count};
    larger.entries = xcalloc(larger.slots, sizeof *larger.entries);
    for (size_t i = 0; i < larger.slots; i++)
        larger.entries[i].value = MAP_NONE;
    for (size_t i = 0; i < map->slots; i++) {
        if (map->entries[i].value != MAP_NONE)
            *find_entry(&larger, map->entries[i].key) = map->entries[i];
    }
    int_map_deinit(map);
    *map = larger;
}

uint32_t int_map_exchange(struct int_map *map, uint64_t key, uint32_t value)
{
    if (map->count * 2 >= map->slots)
        enlarge(map);
    struct int_map_entry *entry = find_entry(map, key);
    uint32_t before = entry->value;
    map->count += before == MAP_NONE;
    *entry = (struct int_map_entry){key, value};
    return before;
}

void int_map_set(struct int_map *map, uint64_t key, uint32_t value)
{
    (void)int_map_exchange(map, key, value);
}

uint32_t int_map_number(struct int_map *map, uint64_t key)
{
    uint32_t number = int_map_get(map, key);
    if (number == MAP_NONE) {
        number = (uint32_t)map->count;
        int_map_set(map, key, number);
    }
    return number;
}

void int_map_clear(struct int_map *map)
{
    for (size_t i = 0; map->count && i < map->slots; i++)
        map->entries[i].value = MAP_NONE;
    map->count = 0;
}

void int_map_deinit(struct int_map *map)
{
    free(map->entries);
    *map = (struct int_map){0};
}
