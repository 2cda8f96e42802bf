/* From YAML and the environment to the settings that the agent runs by.
 *
 * A file that the caller, CUSPAN_CONFIG_FILE or OTEL_CONFIG_FILE names is read, and then the environment only
 * where the file names a variable; without a file, OpenTelemetry's variables and CUSPAN_* hold. CUSPAN_SET
 * goes on top of either. */
#ifndef CUSPAN_CONFIG_CONFIG_H
#define CUSPAN_CONFIG_CONFIG_H

#include "config/problems.h"
#include "model/settings.h"

#include <stdio.h>

struct config_input {
    /* getenv() or what stands in for it; NULL: a process that may not read its environment. */
    const char *(*getenv)(const char *name, void *context);
    void *context;
    const char *path;      /* a file that goes before those of the environment; NULL: none */
    bool takes_pipes;      /* a command may wait for one; a host may not */
    const char *overrides; /* like CUSPAN_SET, and on top of it; NULL: none */
};

/* getenv() for struct config_input; the context is not used. */
const char *config_getenv(const char *name, void *context);

/* Fills `out`, owned by the caller (settings_deinit). The report tells the rest: with OK there may be
 * warnings, and an `out` without outputs, about which a warning stands in the report: the agent stays asleep
 * unless it records. INVALID: the report has at least one error. NO_MEMORY: it may have none. On failure
 * `out` is empty. */
enum status config_load(const struct config_input *in, struct settings *out,
                        struct config_report *report) MUST_CHECK;

/* What is wrong in `overrides` by itself, whatever a file says: a key that there is not, a value that it does
 * not take. INVALID with the first of it in `err`, begun with `source`. */
enum status config_check_overrides(const char *overrides, const char *source, struct error *err) MUST_CHECK;

/* config/cuspan.yaml: every setting with its default and one line of comment. */
void config_print_example(FILE *out);
/* `cuspan help settings`: every setting with what it takes, its default, its variables and its comment. */
void config_print_settings(FILE *out);
/* What holds, as `cuspan check` shows it: every setting with its value. Values of headers are never shown. */
void config_print_effective(const struct settings *settings, FILE *out);

#endif
