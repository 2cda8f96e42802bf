#include "agent/config/table/settings_table.h"

#include "agent/config/text/pairs.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define METRICS_QUEUE_POINTS 65536

const struct setting *setting_find(const char *path)
{
    for (size_t i = 0; i < settings_count; i++) {
        if (settings_table[i].path && strcmp(settings_table[i].path, path) == 0)
            return &settings_table[i];
    }
    return NULL;
}

bool setting_is_own(const struct setting *setting)
{
    return setting->path && strncmp(setting->path, SETTING_OWN_PREFIX, sizeof SETTING_OWN_PREFIX - 1) == 0;
}

void setting_own_variable(const struct setting *setting, char name[SETTING_NAME_BYTES])
{
    snprintf(name, SETTING_NAME_BYTES, "CUSPAN_%s", setting->path + sizeof SETTING_OWN_PREFIX - 1);
    for (char *at = name; *at; at++)
        *at = *at == '.' ? '_' : (char)toupper((unsigned char)*at);
}

/* False: an alias, or the end of the list. */
static bool is_listed(const struct setting_word *words, const struct setting_word *word)
{
    while (words < word && words->value != word->value)
        words++;
    return words == word && word->word;
}

static void expected_words(const struct setting *setting, char text[SETTING_TEXT_BYTES])
{
    size_t used = 0;
    for (const struct setting_word *word = setting->words; is_listed(setting->words, word); word++) {
        bool is_last = !is_listed(setting->words, word + 1);
        const char *before = word == setting->words ? "" : is_last ? " or " : ", ";
        used += (size_t)snprintf(text + used, SETTING_TEXT_BYTES - used, "%s%s", before, word->word);
    }
}

const char *setting_expected(const struct setting *setting, char text[SETTING_TEXT_BYTES])
{
    static const char *const texts[] = {
        [SETTING_BOOL] = "true or false",
        [SETTING_TEXT] = "a string",
        [SETTING_PATH] = "an absolute path",
        [SETTING_ENDPOINT] = "http://HOST:PORT/PATH or https://HOST:PORT/PATH",
        [SETTING_PATTERNS] = "a list of names or patterns",
        [SETTING_PAIRS] = "key=value,key=value",
        [SETTING_STRUCTURE] = "a string",
    };
    uint8_t type = setting->type;
    const char *integer = setting->flags & SETTING_POWER_OF_TWO ? "a power of two" : "an integer";
    if (type == SETTING_UINT32 || type == SETTING_UINT64 || type == SETTING_NUMBER)
        snprintf(text, SETTING_TEXT_BYTES, "%s from %" PRIu64 " to %" PRIu64,
                 type == SETTING_NUMBER ? "a number" : integer, setting->min, setting->max);
    else if (type == SETTING_WORD)
        expected_words(setting, text);
    else if (type == SETTING_TEXT && setting->max > 0)
        snprintf(text, SETTING_TEXT_BYTES, "a string of at most %" PRIu64 " bytes", setting->max);
    else if (type == SETTING_ENDPOINT && setting->exporters == FOR_GRPC)
        snprintf(text, SETTING_TEXT_BYTES, "http://HOST:PORT, https://HOST:PORT or HOST:PORT");
    else
        snprintf(text, SETTING_TEXT_BYTES, "%s", texts[type]);
    return text;
}

bool setting_accepts(const struct setting *setting, enum scalar_type type)
{
    static const unsigned accepted[] = {
        [SETTING_BOOL] = 1u << SCALAR_BOOL,
        [SETTING_UINT32] = 1u << SCALAR_INT,
        [SETTING_UINT64] = 1u << SCALAR_INT,
        [SETTING_NUMBER] = 1u << SCALAR_INT | 1u << SCALAR_FLOAT,
        [SETTING_WORD] = 1u << SCALAR_STRING,
        [SETTING_TEXT] = 1u << SCALAR_STRING,
        [SETTING_PATH] = 1u << SCALAR_STRING,
        [SETTING_ENDPOINT] = 1u << SCALAR_STRING,
        [SETTING_PATTERNS] = 0,
        /* a list */[SETTING_PAIRS] = 1u << SCALAR_STRING,
        [SETTING_STRUCTURE] = 0,
    };
    return accepted[setting->type] >> type & 1;
}

static void *field_of(const struct setting *setting, void *base)
{
    return (char *)base + setting->offset;
}

static enum status set_bool(void *field, const char *text)
{
    bool value = strcasecmp(text, "true") == 0;
    if (!value && strcasecmp(text, "false") != 0)
        return STATUS_INVALID;
    *(bool *)field = value;
    return STATUS_OK;
}

static enum status set_integer(const struct setting *setting, void *field, const char *text)
{
    uint64_t value;
    if (!scalar_parse_uint(text, &value) || value < setting->min || value > setting->max)
        return STATUS_INVALID;
    if ((setting->flags & SETTING_POWER_OF_TWO) && (value & (value - 1)) != 0)
        return STATUS_INVALID;
    if (setting->type == SETTING_UINT32)
        *(uint32_t *)field = (uint32_t)value;
    else
        *(uint64_t *)field = value;
    return STATUS_OK;
}

static enum status set_number(const struct setting *setting, void *field, const char *text)
{
    double value;
    if (!scalar_parse_float(text, &value) ||
        !(value >= (double)setting->min && value <= (double)setting->max))
        return STATUS_INVALID;
    *(double *)field = value;
    return STATUS_OK;
}

static enum status set_word(const struct setting *setting, void *field, const char *text)
{
    for (const struct setting_word *word = setting->words; word->word; word++) {
        if (strcasecmp(word->word, text) == 0) {
            *(unsigned *)field = word->value;
            return STATUS_OK;
        }
    }
    return STATUS_INVALID;
}

static enum status set_text(char **field, const char *text)
{
    char *copy = strdup(text);
    if (!copy)
        return STATUS_NO_MEMORY;
    free(*field);
    *field = copy;
    return STATUS_OK;
}

static bool is_port(const char *at, size_t length)
{
    unsigned long port = length <= 5 && strspn(at, "0123456789") == length ? strtoul(at, NULL, 10) : 0;
    return port >= 1 && port <= 65535;
}

/* [USER@]HOST[:PORT], the host possibly an IPv6 address in brackets. */
static bool is_authority(const char *at, size_t length)
{
    const char *user = memchr(at, '@', length);
    if (user) {
        length -= (size_t)(user + 1 - at);
        at = user + 1;
    }
    const char *end = at + length;
    const char *host_end = length > 0 && *at == '[' ? memchr(at, ']', length) : NULL;
    if (length > 0 && *at == '[' && (!host_end || host_end == at + 1))
        return false;
    const char *colon = host_end ? host_end + 1 : memchr(at, ':', length);
    if (!colon || colon == end)
        return length > 0;
    if (colon == at || *colon != ':')
        return false;
    return colon + 1 == end ||
           is_port(colon + 1, (size_t)(end - colon - 1)); /* "h:" is allowed by RFC 3986 */
}

static enum status set_endpoint(const struct setting *setting, char **field, const char *text)
{
    for (const char *at = text; *at; at++) {
        if ((unsigned char)*at <= ' ' || *at == 0x7f)
            return STATUS_INVALID;
    }
    bool has_scheme = strncasecmp(text, "http://", 7) == 0 || strncasecmp(text, "https://", 8) == 0;
    if (!has_scheme && (setting->exporters != FOR_GRPC || strstr(text, "://")))
        return STATUS_INVALID;
    const char *authority = has_scheme ? strstr(text, "://") + 3 : text;
    if (!is_authority(authority, strcspn(authority, "/?#")))
        return STATUS_INVALID;
    return set_text(field, text);
}

enum status patterns_add(struct pattern_list *list, const char *pattern, size_t length)
{
    if (length == 0)
        return STATUS_INVALID;
    char **grown = realloc(list->patterns, (list->count + 1) * sizeof *grown);
    if (!grown)
        return STATUS_NO_MEMORY;
    list->patterns = grown;
    if (!(grown[list->count] = strndup(pattern, length)))
        return STATUS_NO_MEMORY;
    list->count++;
    return STATUS_OK;
}

static enum status set_patterns(struct pattern_list *list, const char *text)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->patterns[i]);
    free(list->patterns);
    *list = (struct pattern_list){0};
    if (strcmp(text, "[]") == 0)
        return STATUS_OK;
    enum status status = STATUS_OK;
    size_t bytes;
    for (const char *word; status == STATUS_OK && (word = text_next_word(&text, &bytes));)
        status = patterns_add(list, word, bytes);
    return status;
}

enum status setting_set(const struct setting *setting, void *base, const char *text)
{
    void *field = field_of(setting, base);
    switch ((enum setting_type)setting->type) {
    case SETTING_BOOL:
        return set_bool(field, text);
    case SETTING_UINT32:
    case SETTING_UINT64:
        return set_integer(setting, field, text);
    case SETTING_NUMBER:
        return set_number(setting, field, text);
    case SETTING_WORD:
        return set_word(setting, field, text);
    case SETTING_PATH:
        return text[0] == '/' ? set_text(field, text) : STATUS_INVALID;
    case SETTING_TEXT:
        if (!text[0] || (setting->max > 0 && strlen(text) > setting->max))
            return STATUS_INVALID;
        return set_text(field, text);
    case SETTING_ENDPOINT:
        return set_endpoint(setting, field, text);
    case SETTING_PATTERNS:
        return set_patterns(field, text);
    case SETTING_PAIRS:
    case SETTING_STRUCTURE:
        break;
    }
    return STATUS_INVALID;
}

enum status setting_reset(const struct setting *setting, void *base)
{
    bool has_no_default = setting->type == SETTING_STRUCTURE || setting->type == SETTING_PAIRS ||
                          (setting->flags & SETTING_NULL_IS_OTHER);
    if (has_no_default)
        return STATUS_OK;
    if (setting->default_text)
        return setting_set(setting, base, setting->default_text);
    void *field = field_of(setting, base);
    if (setting->flags & SETTING_NULL_IS_NONE) {
        *(uint32_t *)field = UINT32_MAX;
    } else {
        free(*(char **)field);
        *(char **)field = NULL;
    }
    return STATUS_OK;
}

enum status settings_init(struct settings *settings)
{
    *settings = (struct settings){.sampler = SAMPLER_ALWAYS_ON, .sampler_parent_based = true};
    enum status status = STATUS_OK;
    for (size_t i = 0; i < settings_count && status == STATUS_OK; i++) {
        if (settings_table[i].owner == IN_SETTINGS && settings_table[i].path)
            status = setting_reset(&settings_table[i], settings);
    }
    if (status != STATUS_OK)
        settings_deinit(settings);
    return status;
}

enum status output_init(struct output_settings *output, enum signal signal, enum exporter_kind kind)
{
    uint8_t owner = signal == SIGNAL_METRICS ? IN_METRICS : IN_OUTPUT;
    *output = (struct output_settings){.signal = signal, .exporter = {.kind = kind, .verify = true}};
    if (signal == SIGNAL_METRICS) /* no setting: what is made at once is far below it */
        output->queue_spans_max = output->batch_spans_max = METRICS_QUEUE_POINTS;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < settings_count && status == STATUS_OK; i++) {
        const struct setting *setting = &settings_table[i];
        if (setting->owner == owner && (setting->exporters & (1u << kind)))
            status = setting_reset(setting, output);
    }
    if (status != STATUS_OK) {
        free(output->exporter.endpoint);
        *output = (struct output_settings){0};
    }
    return status;
}
