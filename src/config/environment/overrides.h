/* CUSPAN_SET: settings on top of whatever the file or the environment said. key=value, separated by new lines
 * or ';'. A key is a path below distribution.cuspan, or one of a few short names for what is asked for most.
 */
#ifndef CUSPAN_CONFIG_ENVIRONMENT_OVERRIDES_H
#define CUSPAN_CONFIG_ENVIRONMENT_OVERRIDES_H

#include "config/problems.h"
#include "config/settings_table.h"

/* `source` names it in messages. What is wrong is an error in the report. */
enum status overrides_apply(const char *text, const char *source, struct settings *settings,
                            struct config_report *report) MUST_CHECK;

#endif
