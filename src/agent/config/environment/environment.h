/* Settings from OpenTelemetry's environment variables and CUSPAN_*, used without a configuration file. As the
 * specification requires, an invalid value causes a warning and the default is used. An invalid endpoint is
 * an error. */
#pragma once

#include "agent/config/table/settings_table.h"
#include "yaml/problems.h"
#include "yaml/substitute.h"

struct value; /* one that was trimmed */

/* Zeroed, apart from the report. */
struct environment_values {
    struct config_report *report;
    struct value *trimmed;
};

/* NULL if the variable is unset or blank. A value is valid until environment_values_deinit(). */
const char *environment_get(const struct config_environment *environment, const char *name);
void environment_values_deinit(struct environment_values *values);

/* Warns of each CUSPAN_* variable that is not one of ours. `variables`: like environ, or NULL. */
void environment_warn_unknown(char *const *variables, struct config_report *report);

/* `settings` has the defaults and no output. */
enum status environment_read(const struct config_environment *environment, struct settings *settings,
                             struct config_report *report) MUST_CHECK;

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
/* ".../v1/traces?key=1" to ".../v1development/profiles?key=1", or the path of another signal. NULL: `url`
 * does not end in the path of spans, or no memory. */
char *endpoint_of_signal(const char *url, enum signal signal);

/* CUSPAN_SET: settings that override the file and the environment, as key=value separated by newlines or ';'.
 * A key is a path below distribution.cuspan, or one of a few short names for common settings. `source` names
 * the text in messages. Mistakes are errors in the report. */
enum status overrides_apply(const char *text, const char *source, struct settings *settings,
                            struct config_report *report) MUST_CHECK;
