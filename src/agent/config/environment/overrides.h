/* CUSPAN_SET: settings that override the file and the environment, as key=value separated by newlines or ';'.
 * A key is a path below distribution.cuspan, or one of a few short names for common settings. */
#pragma once

#include "yaml/problems.h"
#include "agent/config/table/settings_table.h"

/* `source` names the text in messages. Mistakes are errors in the report. */
enum status overrides_apply(const char *text, const char *source, struct settings *settings,
                            struct config_report *report) MUST_CHECK;
