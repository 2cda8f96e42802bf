#include "agent/config/config.h"

#include "base/text/json_writer.h"
#include "base/text/sanitize.h"
#include "agent/config/table/settings_table.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define COMMENT_COLUMN 40
#define NOT_COMMENTED  UINT_MAX

struct example {
    FILE *out;
    const char *before;       /* the path of the last line */
    unsigned commented_depth; /* lines from this depth are comments, or NOT_COMMENTED */
};

static const char *header_comment =
    "# Every setting of cuspan with its default. The upper part is OpenTelemetry's declarative "
    "configuration, the lower part\n"
    "# (distribution.cuspan) is cuspan's own. Set CUSPAN_CONFIG_FILE to the path "
    "of this file, or OTEL_CONFIG_FILE to\n"
    "# share it with SDKs. Omitted settings have their default, except the exporter: "
    "without one, nothing is sent. ${VAR}\n"
    "# and ${VAR:-default} insert environment variables. `cuspan check FILE` "
    "validates a file; `cuspan help settings`\n"
    "# describes each setting and the values it accepts.\n"
    "\n";

/* Returns the column after it. A list item is indented two columns less, for its "- ". */
static int indent(struct example *e, unsigned depth, bool is_item)
{
    unsigned spaces = depth * 2;
    int column;
    if (depth >= e->commented_depth) {
        unsigned before = e->commented_depth * 2;
        column = fprintf(e->out, "%*s# %*s", (int)before, "", (int)(spaces - before) - (is_item ? 2 : 0), "");
    } else {
        column = fprintf(e->out, "%*s", (int)(is_item ? spaces - 2 : spaces), "");
    }
    return column + (is_item ? fprintf(e->out, "- ") : 0);
}

/* The key at `at` in a path, without the brackets of a list. Returns the column after it. */
static int print_key(struct example *e, const char *path, const char *at, unsigned depth)
{
    bool is_item = at > path && at[-2] == ']'; /* the first key of a list item */
    int column = indent(e, depth, is_item);
    return column + fprintf(e->out, "%.*s:", (int)strcspn(at, ".["), at);
}

static void print_in_example(struct example *e, const struct setting *setting)
{
    const char *path = setting->path, *at = path, *dot;
    const char *value =
        setting->flags & SETTING_ALTERNATIVE && setting->example ? setting->example : setting->default_text;
    unsigned depth = 0;
    for (; (dot = strchr(at, '.')) && strncmp(path, e->before, (size_t)(dot + 1 - path)) == 0; at = dot + 1)
        depth++;
    if (depth <= e->commented_depth)
        e->commented_depth = NOT_COMMENTED;
    if (depth == 0 && dot)
        fputc('\n', e->out);
    if ((setting->flags & SETTING_ALTERNATIVE) && e->commented_depth == NOT_COMMENTED)
        e->commented_depth = depth;
    for (; (dot = strchr(at, '.')); at = dot + 1) {
        print_key(e, path, at, depth++);
        fputc('\n', e->out);
    }
    int column = print_key(e, path, at, depth);
    column += fprintf(e->out, "%s%s", value ? " " : "", value ? value : "");
    fprintf(e->out, "%*s# %s\n", column < COMMENT_COLUMN - 2 ? COMMENT_COLUMN - column : 2, "",
            setting->comment);
    e->before = path;
}

void config_print_example(FILE *out)
{
    struct example example = {.out = out, .before = "", .commented_depth = NOT_COMMENTED};
    fputs(header_comment, out);
    fputs("file_format: \"1.1\"\n", out);
    for (size_t i = 0; i < settings_count; i++) {
        if (settings_table[i].path && settings_table[i].comment)
            print_in_example(&example, &settings_table[i]);
    }
}

static void print_variables(const struct setting *setting, FILE *out)
{
    char own[SETTING_NAME_BYTES];
    if (setting_is_own(setting))
        setting_own_variable(setting, own);
    else if (setting->env[0])
        snprintf(own, sizeof own, "%s%s%s", setting->env[0], setting->env[1] ? ", " : "",
                 setting->env[1] ? setting->env[1] : "");
    else
        return;
    const char *note = setting->variable_note;
    fprintf(out, "    variable: %s%s%s%s\n", own, note ? " (" : "", note ? note : "", note ? ")" : "");
}

void config_print_settings(FILE *out)
{
    char expected[SETTING_TEXT_BYTES];
    for (size_t i = 0; i < settings_count; i++) {
        const struct setting *setting = &settings_table[i];
        if (!setting->comment)
            continue;
        fprintf(out, "%s%s\n    %s\n", i ? "\n" : "", setting->path ? setting->path : setting->env[0],
                setting->comment);
        if (setting->type != SETTING_STRUCTURE && setting->path) {
            setting_expected(setting, expected);
            fprintf(out, "    values: %s; default: %s\n", expected,
                    setting->default_text ? setting->default_text : "unset");
        }
        print_variables(setting, out);
    }
}

/* The host's locale may write 0,5. */
static void print_number(double value, FILE *out)
{
    char text[40];
    snprintf(text, sizeof text, "%.17g", value);
    for (char *at = text; *at; at++) {
        if (*at == ',')
            *at = '.';
    }
    fputs(text, out);
}

static void print_string(const char *text, FILE *out)
{
    struct json_writer json = JSON_WRITER(out);
    json_write_text(&json, NULL, text);
}

static void print_endpoint(const char *url, FILE *out)
{
    char shown[1024];
    print_string(sanitize_url(shown, sizeof shown, url), out);
    if (strcmp(shown, url) != 0)
        fputs(" (user, query and fragment hidden)", out);
}

static void print_patterns(const struct pattern_list *list, FILE *out)
{
    fputc('[', out);
    for (size_t i = 0; i < list->count; i++) {
        fputs(i ? ", " : "", out);
        print_string(list->patterns[i], out);
    }
    fputc(']', out);
}

static void print_word(const struct setting *setting, unsigned value, FILE *out)
{
    for (const struct setting_word *word = setting->words; word->word; word++) {
        if (word->value == value) {
            fputs(word->word, out);
            return;
        }
    }
}

static void print_value(const struct setting *setting, const void *base, FILE *out)
{
    const void *field = (const char *)base + setting->offset;
    const char *text = NULL;
    switch ((enum setting_type)setting->type) {
    case SETTING_BOOL:
        fputs(*(const bool *)field ? "true" : "false", out);
        break;
    case SETTING_UINT32:
        if ((setting->flags & SETTING_NULL_IS_NONE) && *(const uint32_t *)field == UINT32_MAX)
            fputs("null", out);
        else
            fprintf(out, "%" PRIu32, *(const uint32_t *)field);
        break;
    case SETTING_UINT64:
        fprintf(out, "%" PRIu64, *(const uint64_t *)field);
        break;
    case SETTING_NUMBER:
        print_number(*(const double *)field, out);
        break;
    case SETTING_WORD:
        print_word(setting, *(const unsigned *)field, out);
        break;
    case SETTING_PATTERNS:
        print_patterns(field, out);
        break;
    case SETTING_TEXT:
    case SETTING_PATH:
    case SETTING_ENDPOINT:
        text = *(char *const *)field;
        if (!text)
            fputs("null", out);
        else if (setting->type == SETTING_ENDPOINT)
            print_endpoint(text, out);
        else
            print_string(text, out);
        break;
    case SETTING_PAIRS:
    case SETTING_STRUCTURE:
        break;
    }
}

static void print_resource_item(enum resource_value type, const union resource_item *item, FILE *out)
{
    if (type == RESOURCE_STRING)
        print_string(item->string, out);
    else if (type == RESOURCE_INT)
        fprintf(out, "%" PRIi64, item->integer);
    else if (type == RESOURCE_BOOL)
        fputs(item->integer ? "true" : "false", out);
    else
        print_number(item->real, out);
}

static void print_resource(const struct resource *resource, FILE *out)
{
    for (size_t i = 0; i < resource->attr_count; i++) {
        const struct resource_attr *attr = &resource->attrs[i];
        fprintf(out, "resource.attributes.%s: %s", attr->key, attr->is_array ? "[" : "");
        for (size_t at = 0; at < attr->item_count; at++) {
            fputs(at ? ", " : "", out);
            print_resource_item(attr->type, &attr->items[at], out);
        }
        fputs(attr->is_array ? "]\n" : "\n", out);
    }
}

static void print_sampler(const struct settings *settings, FILE *out)
{
    static const char *const names[] = {"always_on", "always_off", "trace_id_ratio_based"};
    fprintf(out, "tracer_provider.sampler: %s%s", settings->sampler_parent_based ? "parent_based, root " : "",
            names[settings->sampler]);
    if (settings->sampler == SAMPLER_TRACE_ID_RATIO) {
        fputs(" ", out);
        print_number(settings->sampler_ratio, out);
    }
    fputc('\n', out);
}

static void print_output(const struct output_settings *output, size_t index, FILE *out)
{
    static const char *const kinds[] = {"otlp_http", "otlp_grpc", "otlp_file/development", "console"};
    const struct exporter_settings *exporter = &output->exporter;
    fprintf(out, "output %zu: %s", index, kinds[exporter->kind]);
    if (exporter->kind == EXPORTER_FILE)
        fprintf(out, " to %s", exporter->endpoint ? exporter->endpoint : "stdout");
    fputc('\n', out);
    for (size_t i = 0; i < settings_count; i++) {
        const struct setting *setting = &settings_table[i];
        bool is_shown = setting->path && setting->owner == IN_OUTPUT &&
                        (setting->exporters & (1u << exporter->kind)) && setting->type != SETTING_PAIRS &&
                        setting->type != SETTING_STRUCTURE;
        if (!is_shown)
            continue;
        const char *dot = strrchr(setting->path, '.');
        fprintf(out, "output %zu: %s: ", index, dot ? dot + 1 : setting->path);
        print_value(setting, output, out);
        fputc('\n', out);
    }
    for (size_t i = 0; i < exporter->header_count; i++)
        fprintf(out, "output %zu: header %s: ***\n", index, exporter->headers[i].name);
}

void config_print_effective(const struct settings *settings, FILE *out)
{
    print_resource(&settings->resource, out);
    print_sampler(settings, out);
    for (size_t i = 0; i < settings_count; i++) {
        const struct setting *setting = &settings_table[i];
        bool is_shown = setting->comment && setting->path && setting->owner == IN_SETTINGS &&
                        setting->type != SETTING_PAIRS && setting->type != SETTING_STRUCTURE &&
                        (setting->type != SETTING_NUMBER || setting_is_own(setting)) &&
                        !(setting->flags & SETTING_NULL_IS_OTHER);
        if (!is_shown)
            continue;
        fprintf(out, "%s: ", setting->path);
        print_value(setting, settings, out);
        fputc('\n', out);
    }
    for (size_t i = 0; i < settings->output_count; i++)
        print_output(&settings->outputs[i], i, out);
}
