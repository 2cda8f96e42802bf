/* Checks and adjustments that involve several settings, run once all settings are known. */
#pragma once

#include "yaml/problems.h"
#include "model/settings/settings.h"

enum status consistency_check(struct settings *settings, struct config_report *report) MUST_CHECK;
