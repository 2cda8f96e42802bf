#include "agent/core/metrics/profiles_export.h"

#include "base/clock.h"
#include "base/log/log.h"

static struct {
    bool is_on;
    uint64_t interval_ns, next_ns;
} profiles;

void profiles_export_start(const struct settings *settings)
{
    profiles.is_on = settings->profiles.enabled;
    profiles.interval_ns = settings->profiles.interval_ms * NS_PER_MS;
    profiles.next_ns = clock_monotonic_ns() + profiles.interval_ns;
    if (profiles.is_on && settings_keep_awake(settings))
        log_info("profiles also count what is not sampled, so cuspan does not sleep");
}

void profiles_export(struct correlate *correlate, struct outputs *outputs)
{
    if (!profiles.is_on)
        return;
    outputs_send_profile(outputs, correlate_end_profile(correlate));
    correlate_begin_profile(correlate);
    profiles.next_ns = clock_monotonic_ns() + profiles.interval_ns;
}

void profiles_export_tick(struct correlate *correlate, struct outputs *outputs, uint64_t now_ns)
{
    if (profiles.is_on && now_ns >= profiles.next_ns)
        profiles_export(correlate, outputs);
}
