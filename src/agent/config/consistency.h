/* Checks and adjustments that involve several settings, run once all settings are known. */
#ifndef CUSPAN_AGENT_CONFIG_CONSISTENCY_H
#define CUSPAN_AGENT_CONFIG_CONSISTENCY_H

#include "yaml/problems.h"
#include "model/settings/settings.h"

enum status consistency_check(struct settings *settings, struct config_report *report) MUST_CHECK;

#endif
