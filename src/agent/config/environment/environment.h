/* Settings from OpenTelemetry's environment variables and CUSPAN_*, used without a configuration file. As the
 * specification requires, an invalid value causes a warning and the default is used. An invalid endpoint is
 * an error. */
#pragma once

#include "agent/config/environment/values.h"
#include "agent/config/table/settings_table.h"

/* `settings` has the defaults and no output. */
enum status environment_read(const struct config_environment *environment, struct settings *settings,
                             struct config_report *report) MUST_CHECK;

/* Makes a path absolute, because the program may change its directory before cuspan opens the file. Owned by
 * the caller. NULL: no memory. */
char *absolute_path(const char *path);
/* http/protobuf, http/json or grpc, in any case. False: none of them; the results are those of http/protobuf.
 */
bool protocol_parse(const char *text, enum exporter_kind *kind, enum otlp_encoding *encoding);

/* Warns of each CUSPAN_* variable that a configuration file makes ineffective. */
void environment_warn_ignored(const struct config_environment *environment, struct config_report *report);

/* "http://collector:4318?key=1" to "http://collector:4318/v1/traces?key=1", or the path of another signal;
 * owned by the caller. NULL: no memory. */
char *endpoint_append_path(const char *base, enum signal signal);
/* Whether the URL's path ends with the signal's path. */
bool endpoint_has_path(const char *url, enum signal signal);
/* ".../v1/traces?key=1" to ".../v1development/profiles?key=1". NULL: `url` does not end in the path of spans,
 * or no memory. */
char *endpoint_of_profiles(const char *url);
