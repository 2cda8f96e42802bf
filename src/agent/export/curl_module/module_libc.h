/* Replacements of libc functions for the libraries linked into the module (--wrap in cmake/export.cmake). */
#pragma once

typedef const char *module_variable_fn(const char *name);

/* Sets where getenv() looks. Before, there are no variables. */
void module_libc_set_variables(module_variable_fn *variable);

/* A variable that is not empty, or NULL. */
const char *module_libc_variable(const char *name);
