/* The output of profiles: made from profiles.endpoint and from the exporter of spans. */
#pragma once

#include "yaml/problems.h"
#include "model/settings/settings.h"

/* Disables profiles with a warning if they have no endpoint. NO_MEMORY. */
enum status profiles_output_make(struct settings *settings, struct config_report *report) MUST_CHECK;
