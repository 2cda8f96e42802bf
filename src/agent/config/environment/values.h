/* The values of environment variables without blanks and line breaks around them, and variables that no
 * setting has. */
#pragma once

#include "yaml/substitute.h"
#include "yaml/problems.h"

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
