/* Loads the settings from YAML and the environment.
 *
 * The file is the caller's, CUSPAN_CONFIG_FILE or OTEL_CONFIG_FILE. With a file, only the variables that it
 * refers to count; without one, OpenTelemetry's variables and CUSPAN_* do. CUSPAN_SET overrides both. */
#pragma once

#include "yaml/problems.h"
#include "model/settings/settings.h"

#include <stdio.h>

struct config_input {
    /* Like getenv(). NULL for a process that must not read its environment. */
    const char *(*getenv)(const char *name, void *context);
    void *context;
    char *const *variables; /* like environ, to find names that no setting has; NULL: no warnings */
    const char *path;       /* takes precedence over the file that the environment names; NULL: none */
    bool takes_pipes;       /* reading one may block, so only a command sets it */
    const char *overrides;  /* like CUSPAN_SET, and overrides it; NULL: none */
};

/* getenv() for struct config_input; the context is not used. */
const char *config_getenv(const char *name, void *context);

/* Fills `out`, which the caller owns (settings_deinit). OK: the report may have warnings. If `out`
 * has no outputs, one of them reports it, and the agent then stays inactive unless it records. INVALID: the
 * report has an error. NO_MEMORY: it may have none. On failure `out` is empty. */
enum status config_load(const struct config_input *in, struct settings *out,
                        struct config_report *report) MUST_CHECK;

/* Checks the keys and values of `overrides` without a file. INVALID: `err` has the first error, which starts
 * with `source`. */
enum status config_check_overrides(const char *overrides, const char *source, struct error *err) MUST_CHECK;

/* config/cuspan.yaml: every setting with its default and one line of comment. */
void config_print_example(FILE *out);
/* `cuspan help settings`: every setting with its description, accepted values, default and variables. */
void config_print_settings(FILE *out);
/* `cuspan check`: every setting with its current value, without the values of headers. */
void config_print_effective(const struct settings *settings, FILE *out);
