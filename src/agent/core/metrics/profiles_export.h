/* Profiles (settings.profiles): in each interval, correlate's GPU time by stack becomes a request. An
 * interval also ends at a flush, at the exit, and when a table fills. Only for the pipeline thread. */
#pragma once

#include "agent/core/outputs/outputs.h"
#include "agent/correlate/correlate.h"

/* All of them do nothing if profiles are disabled. */
void profiles_export_start(const struct settings *settings);
/* Sends a profile if the interval is over. */
void profiles_export_tick(struct correlate *correlate, struct outputs *outputs, uint64_t now_ns);
/* Sends one now. */
void profiles_export(struct correlate *correlate, struct outputs *outputs);
