/* The keys of OpenTelemetry's declarative configuration, 1.0 and 1.1, that are not in the table of settings:
 * keys with their own reader, and keys that cuspan does not support. Keys below an ignored or unsupported one
 * are not checked. */
#pragma once

enum schema_kind {
    SCHEMA_MAP,        /* in no row: other paths in this table or in that of settings continue the path */
    SCHEMA_READER,     /* a function of a read_*.c file reads it */
    SCHEMA_SETTING,    /* sets the setting whose path is in `effect` */
    SCHEMA_IGNORED,    /* does not affect cuspan: no message */
    SCHEMA_UNSUPPORTED /* affects the output: one warning with `effect` */
};

struct schema_key {
    const char *path;
    enum schema_kind kind;
    const char *effect;
};

extern const struct schema_key schema_keys[];
extern const unsigned schema_key_count;

/* NULL if there is none. A mapping has neither path nor effect. */
const struct schema_key *schema_find(const char *path);
