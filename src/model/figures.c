#include "model/figures.h"

#include "model/activities.h"

#include <string.h>

#define US 1000ull

const uint64_t histogram_bounds_ns[HISTOGRAM_BOUNDS] = {
    1 * US,      2 * US,      5 * US,       10 * US,      20 * US,      50 * US,      100 * US,   200 * US,
    500 * US,    1000 * US,   2000 * US,    5000 * US,    10000 * US,   20000 * US,   50000 * US, 100000 * US,
    200000 * US, 500000 * US, 1000000 * US, 2000000 * US, 5000000 * US, 10000000 * US};

const char *memory_kind_name(enum memory_kind kind)
{
    static const char *const names[MEMORY_KINDS] = {[MEMORY_DEVICE] = "device",
                                                    [MEMORY_POOL] = "pool",
                                                    [MEMORY_MANAGED] = "managed",
                                                    [MEMORY_PHYSICAL] = "physical",
                                                    [MEMORY_PINNED] = "pinned"};
    return names[kind];
}

const char *copy_kind_name(uint32_t kind)
{
    const struct activity_info *info = &activity_table[ACTIVITY_MEMCPY];
    const char *name = NULL;
    for (uint8_t i = 1; i < info->field_count && !name; i++)
        if (strcmp(info->fields[i].key.name, "cuda.memcpy.kind") == 0)
            name = enum_name(&activity_enum_names[info->fields[i].names], kind);
    return name ? name : "Unknown";
}
