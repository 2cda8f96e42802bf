#include "analysis/stat/findings/tally.h"

#include "cli/util/xalloc.h"

#include <stdlib.h>

struct tally *tallies_at(struct tallies *tallies, uint64_t key, uint32_t process,
                         const struct trace_span *span)
{
    size_t known = tallies->count;
    uint32_t number = stat_number(&tallies->numbers, int_map_mix(int_map_mix(key) + process));
    if (number == known) {
        tallies->items = xgrow(tallies->items, &tallies->capacity, known + 1, sizeof *tallies->items);
        tallies->items[tallies->count++] = (struct tally){.process = process, .first = *span};
    }
    return &tallies->items[number];
}

void tallies_add_origin(struct tallies *tallies, uint32_t tally, uint32_t origin, uint64_t count)
{
    uint64_t key = (uint64_t)tally << 32 | origin;
    size_t known = tallies->origin_numbers.count;
    if (known >= TALLY_ORIGINS_MAX && int_map_get(&tallies->origin_numbers, key) == MAP_NONE)
        return;
    uint32_t number = stat_number(&tallies->origin_numbers, key);
    if (number == known) {
        tallies->origins =
            xgrow(tallies->origins, &tallies->origin_capacity, known + 1, sizeof *tallies->origins);
        tallies->origins[number] = (struct tally_origin){tally, origin, 0};
    }
    tallies->origins[number].count += count;
}

void tallies_deinit(struct tallies *tallies)
{
    free(tallies->items);
    free(tallies->origins);
    int_map_deinit(&tallies->numbers);
    int_map_deinit(&tallies->origin_numbers);
    *tallies = (struct tallies){0};
}
