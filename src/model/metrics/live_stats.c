#include "model/metrics/live_stats.h"

#include "model/cuda/activities.h"
#include "model/semconv.h"

#include <string.h>

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
        if (strcmp(info->fields[i].key.name, SEMCONV_CUDA_MEMCPY_KIND) == 0)
            name = enum_name(&activity_enum_names[info->fields[i].names], kind);
    return name ? name : "Unknown";
}

const char *step_part_name(enum step_part part)
{
    static const char *const names[] = {[STEP_COMPUTE] = "compute",
                                        [STEP_EXPOSED_COMMUNICATION] = "exposed_communication",
                                        [STEP_COPIES] = "copies",
                                        [STEP_IDLE] = "idle"};
    return names[part];
}
