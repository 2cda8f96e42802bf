#include "agent/core/resource/process_resource.h"

#include "agent/core/resource/detect.h"
#include "agent/core/resource/process_context.h"
#include "base/clock.h"
#include "base/log/log.h"
#include "agent/capture/context/publish.h"

#define FIRST_LOOK_NS (200 * NS_PER_MS)
#define LOOK_NS_MAX   (10 * NS_PER_SECOND)
#define CHECK_NS      (1 * NS_PER_SECOND)
#define LOOK_SHARE    1000 /* maximum share of the time spent on searching */

static struct resource configured, detected, current;
static struct process_context context;
static uint64_t next_look_ns, interval_ns;
static bool was_publishing;

/* Replaces the attributes that the SDK published before. Sources are merged in the order of precedence.
 * FULL: the last are dropped. */
static enum status adopt(const struct resource *published)
{
    const struct resource *parts[] = {&configured, published, &detected};
    struct resource combined = {0};
    enum status status = STATUS_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == STATUS_OK; i++)
        status = resource_merge(&combined, parts[i]);
    if (status != STATUS_OK && status != STATUS_FULL) {
        resource_deinit(&combined);
        return status;
    }
    resource_deinit(&current);
    current = combined;
    return status;
}

enum status process_resource_start(struct resource *settings, int driver_version, const char *cupti_version,
                                   bool has_ip)
{
    struct resource published = {0}, all = {0};
    resource_deinit(&configured); /* from a start that failed */
    resource_deinit(&detected);
    enum status status = resource_merge(&configured, settings);
    if (status == STATUS_OK)
        status = resource_merge(&detected, settings);
    if (status == STATUS_OK)
        status = detect_resource(&detected, driver_version, cupti_version);
    if (status == STATUS_OK && has_ip)
        status = detect_ip(&detected);
    process_context_find(&context, NULL);
    process_context_read(&context, &published);
    enum status adopted = adopt(&published);
    if (resource_merge(&all, &current) == STATUS_OK) {
        resource_deinit(settings);
        *settings = all;
    }
    resource_deinit(&published);
    return status == STATUS_OK ? adopted : status;
}

const struct resource *process_resource(void)
{
    return &current;
}

static void schedule(uint64_t began_ns)
{
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t at_least = (now_ns - began_ns) * LOOK_SHARE;
    if (context.address) {
        interval_ns = CHECK_NS;
    } else {
        interval_ns = interval_ns && interval_ns != CHECK_NS ? 2 * interval_ns : FIRST_LOOK_NS;
        interval_ns = interval_ns < LOOK_NS_MAX ? interval_ns : LOOK_NS_MAX;
    }
    next_look_ns = now_ns + (interval_ns > at_least ? interval_ns : at_least);
}

/* An SDK's context has precedence over ours. */
static void publish_or_take_back(bool is_publishing)
{
    if (published_context_address() && (!is_publishing || context.address))
        published_context_end();
    else if (is_publishing && !context.address && !published_context_address() &&
             published_context_begin(&current) != STATUS_OK)
        log_info("cannot publish the process context; readers may not look for contexts of threads");
    if (is_publishing && context.published_ns && !context.names_threads)
        log_once(log_info,
                 "the process context of the OpenTelemetry SDK does not announce contexts of threads; "
                 "readers may not look for them");
    context.own_address = published_context_address();
}

bool process_resource_poll(uint64_t now_ns, void (*meanwhile)(void))
{
    bool is_publishing = atomic_load_explicit(&publish_is_on, memory_order_acquire);
    bool is_other = is_publishing != was_publishing;
    struct resource published = {0};
    uint64_t began_ns = clock_monotonic_ns();
    if (!interval_ns)
        schedule(began_ns);
    if (now_ns < next_look_ns && !is_other)
        return false;
    was_publishing = is_publishing;
    process_context_find(&context, meanwhile);
    bool has_changed = process_context_read(&context, &published) && adopt(&published) != STATUS_NO_MEMORY;
    resource_deinit(&published);
    publish_or_take_back(is_publishing);
    schedule(began_ns);
    return has_changed;
}
