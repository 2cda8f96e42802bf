/* The keys of OpenTelemetry's declarative configuration, 1.0 and 1.1, that are not plain settings of ours:
 * the mappings and lists around those, what has a reader of its own, and what an SDK knows and cuspan
 * doesn't. Below what cuspan ignores as a whole, keys are not looked at. */
#ifndef CUSPAN_CONFIG_FILE_SCHEMA_H
#define CUSPAN_CONFIG_FILE_SCHEMA_H

enum schema_kind {
    SCHEMA_MAP,        /* its keys are in this table or in that of settings */
    SCHEMA_READER,     /* read_file.c or one of its neighbours has a function for it */
    SCHEMA_SETTING,    /* sets the setting whose path is in `effect` */
    SCHEMA_IGNORED,    /* makes no difference to spans: nothing is said */
    SCHEMA_UNSUPPORTED /* makes a difference that the user should know: one warning with `effect` */
};

struct schema_key {
    const char *path;
    enum schema_kind kind;
    const char *effect;
};

extern const struct schema_key schema_keys[];
extern const unsigned schema_key_count;

/* NULL where there is none. */
const struct schema_key *schema_find(const char *path);

#endif
