#include "agent/capture/activity/unified_memory.h"

#include "base/log/log.h"

#include <dlfcn.h>

#define SCOPE_SINGLE_DEVICE 1
#define COUNTERS            8 /* CUPTI numbers its counters from 1: transfers, faults, thrashing and so on */
#define DEVICES_TRIED                                                                                        \
    16 /* CUPTI accepts numbers of devices that do not exist, and returns no error for them */

/* CUPTI's struct for one counter. */
struct counter_config {
    uint32_t scope;
    uint32_t counter;
    uint32_t device_id;
    uint32_t is_enabled;
};

typedef uint32_t configure_fn(struct counter_config *configs, uint32_t count);

/* Requests the device's counters, one call for each, because a GPU may lack some. Returns a mask of the
 * enabled ones. */
static unsigned configure_device(configure_fn *configure, uint32_t device_id, uint32_t *result)
{
    unsigned taken = 0;
    for (uint32_t counter = 1; counter <= COUNTERS; counter++) {
        struct counter_config config = {SCOPE_SINGLE_DEVICE, counter, device_id, 1};
        *result = configure(&config, 1);
        taken += *result == CUPTI_OK;
    }
    return taken;
}

bool unified_memory_configure(const struct cupti *cupti)
{
    configure_fn *configure =
        (configure_fn *)dlsym(cupti->handle, "cuptiActivityConfigureUnifiedMemoryCounter");
    unsigned taken = 0;
    uint32_t result = CUPTI_NOT_SUPPORTED;
    for (uint32_t device_id = 0; configure && device_id < DEVICES_TRIED; device_id++) {
        unsigned of_device = configure_device(configure, device_id, &result);
        taken += of_device;
        if (of_device == 0)
            break;
    }
    log_debug("%u unified memory counters are enabled (%s)", taken, cupti_result_text(cupti, result));
    return taken > 0;
}
