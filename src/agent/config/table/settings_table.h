/* The table of settings. It drives the parsing of files, variables and overrides, the checks, the defaults,
 * config/cuspan.yaml and the help text. */
#pragma once

#include "yaml/scalar.h"
#include "model/settings/settings.h"

#define SETTING_OWN_PREFIX "distribution.cuspan."
#define SETTING_NAME_BYTES 96
#define SETTING_TEXT_BYTES 160

enum setting_type {
    SETTING_BOOL,     /* bool */
    SETTING_UINT32,   /* uint32_t */
    SETTING_UINT64,   /* uint64_t */
    SETTING_NUMBER,   /* double */
    SETTING_WORD,     /* an enum: one of `words` */
    SETTING_TEXT,     /* char *, NULL when unset */
    SETTING_PATH,     /* the same: an absolute path */
    SETTING_ENDPOINT, /* the same: where an OTLP exporter sends to */
    SETTING_PATTERNS, /* struct pattern_list */
    SETTING_PAIRS,    /* key=value,key=value, which its reader parses */
    SETTING_STRUCTURE /* YAML with its own reader; listed for the documentation */
};

enum setting_owner {
    IN_SETTINGS,
    IN_OUTPUT, /* struct output_settings of spans */
    IN_METRICS /* struct output_settings of metrics */
};

enum setting_flags {
    SETTING_ALTERNATIVE = 1, /* commented out in the example, with the value `example` */
    SETTING_ENV_ONLY = 2,    /* not in a file: `path` is NULL */
    SETTING_SECRET = 4,      /* its value is never shown */
    SETTING_POWER_OF_TWO = 8,
    SETTING_ZERO_IS_NONE = 16,  /* 0: no limit */
    SETTING_NULL_IS_NONE = 32,  /* unset: no limit, stored as the type's maximum */
    SETTING_NULL_IS_OTHER = 64, /* unset: another setting of the same field applies */
    SETTING_OPEN_WORD = 128 /* other words cause a warning and the default, because other SDKs support more */
};

/* Exporters that have a setting. */
#define FOR_HTTP    (1u << EXPORTER_OTLP_HTTP)
#define FOR_GRPC    (1u << EXPORTER_OTLP_GRPC)
#define FOR_FILE    (1u << EXPORTER_FILE)
#define FOR_CONSOLE (1u << EXPORTER_CONSOLE)
#define FOR_ALL     (FOR_HTTP | FOR_GRPC | FOR_FILE | FOR_CONSOLE)

/* A word with the value of an earlier one is an alias: accepted, but not listed. Aliases come last. */
struct setting_word {
    const char *word; /* NULL ends the list */
    unsigned value;
};

struct setting {
    const char *path;         /* in the file; "[]" follows a list */
    const char *comment;      /* one line; NULL: an earlier name of the next row, accepted but not listed */
    const char *default_text; /* in YAML; NULL: null */
    const char *example;
    const char *env[2];        /* OpenTelemetry's variables by precedence */
    const char *variable_note; /* their values, if they differ from the file's */
    const struct setting_word *words;
    uint64_t min, max; /* SETTING_NUMBER: whole numbers. SETTING_TEXT: `max` bytes; 0: any */
    size_t offset;
    uint8_t type;      /* enum setting_type */
    uint8_t owner;     /* enum setting_owner */
    uint8_t exporters; /* FOR_*, for IN_OUTPUT and IN_METRICS */
    uint8_t flags;     /* enum setting_flags */
};

extern const struct setting settings_table[];
extern const size_t settings_count;

/* NULL if there is none. Settings of an output are below "tracer_provider.processors[].batch". */
const struct setting *setting_find(const char *path);
bool setting_is_own(const struct setting *setting);
/* CUSPAN_SESSION_SPANS_MAX for distribution.cuspan.session.spans_max. Only for cuspan's own settings. */
void setting_own_variable(const struct setting *setting, char name[SETTING_NAME_BYTES]);

/* The accepted values in words: "an integer from 1 to 100". */
const char *setting_expected(const struct setting *setting, char text[SETTING_TEXT_BYTES]);
/* Whether the setting accepts YAML scalars of this type. */
bool setting_accepts(const struct setting *setting, enum scalar_type type);

/* Sets it from the text of a file, variable or override (patterns: separated by commas). `base` is the struct
 * settings or output_settings that has the field. INVALID: not what setting_expected() says; NO_MEMORY. */
enum status setting_set(const struct setting *setting, void *base, const char *text) MUST_CHECK;
/* Sets the default. */
enum status setting_reset(const struct setting *setting, void *base) MUST_CHECK;
/* Appends the first `length` bytes of `pattern`. INVALID: it is empty; NO_MEMORY. */
enum status patterns_add(struct pattern_list *list, const char *pattern, size_t length) MUST_CHECK;

/* All defaults, and no output. */
enum status settings_init(struct settings *settings) MUST_CHECK;
/* An output with its defaults. On failure it is empty. */
enum status output_init(struct output_settings *output, enum signal signal,
                        enum exporter_kind kind) MUST_CHECK;
