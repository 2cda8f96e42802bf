#include "model/cuda/enum_names.h"

#include <stddef.h>

const char *enum_name(const struct enum_names *names, int64_t value)
{
    uint32_t low = 0, high = names->count; /* the generator sorts the entries by value */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct enum_name *entry = &names->entries[middle];
        if (entry->value == value)
            return entry->name;
        if (entry->value < value)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
