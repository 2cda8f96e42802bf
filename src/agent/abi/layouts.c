#include "agent/abi/layouts.h"

#include <stddef.h>

const struct activity_layout *layout_classic(uint32_t version, uint16_t kind)
{
    if (kind >= ACTIVITY_KINDS_MAX)
        return NULL;
    for (unsigned i = layout_version_count; i-- > 0;) {
        if (version >= layout_versions[i].first) {
            const struct activity_layout *layout = &layout_records[layout_versions[i].records[kind]];
            return layout->bytes ? layout : NULL;
        }
    }
    return NULL;
}
