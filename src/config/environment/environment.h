/* Settings out of OpenTelemetry's environment variables and CUSPAN_*, for when there is no file. What they
 * have wrong is a warning, and the default holds, as the specification wants it; an endpoint that is none is
 * an error. */
#ifndef CUSPAN_CONFIG_ENVIRONMENT_ENVIRONMENT_H
#define CUSPAN_CONFIG_ENVIRONMENT_ENVIRONMENT_H

#include "config/problems.h"
#include "config/settings_table.h"
#include "config/file/substitute.h"

/* NULL where the variable is unset or empty. */
const char *environment_get(const struct config_environment *environment, const char *name);

/* Settings are at their defaults when it begins, and have no output. */
enum status environment_read(const struct config_environment *environment, struct settings *settings,
                             struct config_report *report) MUST_CHECK;

/* With a file, CUSPAN_* variables count for nothing: a warning for each that is set. */
void environment_warn_ignored(const struct config_environment *environment, struct config_report *report);

/* "http://collector:4318?key=1" to "http://collector:4318/v1/traces?key=1", or v1/metrics; owned by the
 * caller. NULL: no memory. */
char *endpoint_append_path(const char *base, enum signal signal);
/* Whether that stands at the end of its path already. */
bool endpoint_has_path(const char *url, enum signal signal);

#endif
