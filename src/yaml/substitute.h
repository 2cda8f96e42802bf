/* References to environment variables in the scalars of a configuration file: ${VAR}, ${env:VAR},
 * ${VAR:-default}, and $$ for a dollar sign. Not recursive. */
#pragma once

#include "base/status.h"

#include <stdbool.h>

#define SUBSTITUTED_BYTES_MAX (64 * 1024) /* of one scalar */

struct environment_values;

struct config_environment {
    const char *(*get)(const char *name, void *context); /* like getenv(): NULL if the variable is not set */
    void *context;
    struct environment_values *values; /* NULL: values are not trimmed */
};

struct substitution {
    char *text;         /* the caller frees it; NULL on failure */
    bool is_changed;    /* at least one reference was replaced */
    bool is_unfinished; /* a "${" without "}" was left unchanged */
};

/* INVALID: a malformed reference (the error says which and why); FULL: longer than SUBSTITUTED_BYTES_MAX;
 * NO_MEMORY. */
enum status substitute(const char *text, const struct config_environment *environment,
                       struct substitution *result, struct error *err) MUST_CHECK;
