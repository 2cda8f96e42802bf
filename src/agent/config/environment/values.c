#include "agent/config/environment/environment.h"

#include "base/text/suggest.h"

#include <stdlib.h>
#include <string.h>

#define BLANKS       " \t\r\n"
#define UNKNOWN_MAX  4 /* warnings */
#define PREFIX       "CUSPAN_"
#define PREFIX_BYTES (sizeof PREFIX - 1)

struct value {
    struct value *next;
    char *name, *text; /* behind this struct */
};

static const char *keep_trimmed(struct environment_values *values, const char *name, const char *text,
                                size_t bytes)
{
    for (const struct value *value = values->trimmed; value; value = value->next)
        if (strcmp(value->name, name) == 0)
            return value->text;
    config_warning(values->report,
                   "%s: ignoring white space around the value; remove it, such as a line break at its end",
                   name);
    size_t name_bytes = strlen(name) + 1;
    struct value *value = calloc(1, sizeof *value + bytes + 1 + name_bytes);
    if (!value)
        return NULL;
    value->name = memcpy(value + 1, name, name_bytes);
    value->text = memcpy(value->name + name_bytes, text, bytes);
    value->next = values->trimmed;
    values->trimmed = value;
    return value->text;
}

/* A Kubernetes secret often has a line break at its end. */
const char *environment_get(const struct config_environment *environment, const char *name)
{
    const char *value = environment->get(name, environment->context);
    if (!value)
        return NULL;
    size_t blanks = strspn(value, BLANKS), bytes = strlen(value + blanks);
    while (bytes > 0 && strchr(BLANKS, value[blanks + bytes - 1]))
        bytes--;
    if (bytes == 0)
        return NULL;
    bool is_trimmed = blanks > 0 || value[bytes];
    return is_trimmed && environment->values ? keep_trimmed(environment->values, name, value + blanks, bytes)
                                             : value;
}

void environment_values_deinit(struct environment_values *values)
{
    for (struct value *value = values->trimmed, *next; value; value = next) {
        next = value->next;
        free(value);
    }
    values->trimmed = NULL;
}

/* Not of settings; those that end in '_' are prefixes. Those from SHARE_CUPTI on are of our build, tests and
 * deployments. */
static const char *const others[] = {
    "SET",         "CONFIG_FILE", "JOB_ID",    "LIBRARY", "SHARE",  "ENGINES",    "SHARE_CUPTI",
    "DOCTOR_ROOT", "BREAK",       "REPLAY_",   "TEST_",   "BUILD_", "FLOOR_",     "UNDER_",
    "CLICKHOUSE_", "CACHE",       "LIBRARIES", "LONG",    "SPANS",  "TIMED_FILE", "VERSION"};

static bool is_known(const char *name)
{
    char own[SETTING_NAME_BYTES];
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        size_t length = strlen(others[i]);
        bool is_prefix = others[i][length - 1] == '_';
        if (is_prefix ? strncmp(name + PREFIX_BYTES, others[i], length) == 0
                      : strcmp(name + PREFIX_BYTES, others[i]) == 0)
            return true;
    }
    for (size_t i = 0; i < settings_count; i++) {
        if (!setting_is_own(&settings_table[i]))
            continue;
        setting_own_variable(&settings_table[i], own);
        if (strcmp(own, name) == 0)
            return true;
    }
    return false;
}

static void warn_unknown(const char *name, struct config_report *report)
{
    char candidate[SETTING_NAME_BYTES];
    struct suggest suggest = {.word = name + PREFIX_BYTES};
    suggest_offer(&suggest, "SET");
    suggest_offer(&suggest, "CONFIG_FILE");
    for (size_t i = 0; i < settings_count; i++) {
        if (!setting_is_own(&settings_table[i]))
            continue;
        setting_own_variable(&settings_table[i], candidate);
        suggest_offer(&suggest, candidate + PREFIX_BYTES);
    }
    if (*suggest.best)
        config_warning(report,
                       "%.60s: ignored, because there is no such variable; did you mean " PREFIX "%s?", name,
                       suggest.best);
    else
        config_warning(report,
                       "%.60s: ignored, because there is no such variable; `cuspan help settings` lists all",
                       name);
}

void environment_warn_unknown(char *const *variables, struct config_report *report)
{
    unsigned count = 0;
    for (; variables && *variables && count < UNKNOWN_MAX; variables++) {
        const char *equals = strchr(*variables, '=');
        if (!equals || strncmp(*variables, PREFIX, PREFIX_BYTES) != 0)
            continue;
        char *name = strndup(*variables, (size_t)(equals - *variables));
        if (name && name[PREFIX_BYTES] && !is_known(name)) {
            warn_unknown(name, report);
            count++;
        }
        free(name);
    }
}
