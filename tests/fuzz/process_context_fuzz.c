/* The process context that an SDK publishes (OTEP 4719): arbitrary bytes become attributes or are rejected,
 * and the resource can be freed. */
// SOURCES: src/agent/core/resource/process_context.c
#include "agent/core/resource/process_context.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct resource resource = {.attr_count = 0};
    uint8_t *copy = malloc(size ? size : 1);
    require(copy != NULL, "no memory");
    if (size > 0)
        memcpy(copy, data, size);
    enum status status = process_context_decode(copy, size, &resource);
    require(status == STATUS_OK || status == STATUS_INVALID || status == STATUS_FULL, "no such status");
    require(resource.attr_count <= RESOURCE_ATTRS_MAX, "too many attributes");
    for (size_t i = 0; i < resource.attr_count; i++)
        require(strlen(resource.attrs[i].key) > 0, "an attribute without a key");
    resource_deinit(&resource);
    free(copy);
    return 0;
}
