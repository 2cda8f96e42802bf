#include "agent/config/file/file_reader.h"

#include "base/text/suggest.h"

#include <stdlib.h>
#include <string.h>

#define PATTERNS_MAX 1024
#define NEWEST_MINOR 1 /* of file_format 1.x */

const struct item *read_choice(struct file_reader *reader, const struct node_place *place,
                               const struct node *node, const char *what)
{
    if (node->kind != NODE_MAP)
        reader_expected(reader, place, what, node);
    else if (node->count != 1)
        reader_error(reader, place, "expected one key, %s, and not %u", what, node->count);
    else
        return node->items;
    return NULL;
}

void read_nothing(struct file_reader *reader, const struct node_place *place, const struct node *node)
{
    if (!node_is_null(node) && (node->kind != NODE_MAP || node->count > 0))
        reader_error(reader, place, "expected nothing below this key, not %s",
                     node->kind == NODE_MAP ? "keys of its own" : node_kind_name(node));
}

/* Valid, but probably mistakes. */
static void warn_endpoint(struct file_reader *reader, const struct node_place *place,
                          const struct setting *setting, const char *url)
{
    const char *authority = strstr(url, "://") ? strstr(url, "://") + 3 : url;
    size_t length = strcspn(authority, "/?#");
    bool is_http = setting->exporters != FOR_GRPC;
    const char *other = is_http ? ":4317" : ":4318";
    if (length > 5 && strncmp(authority + length - 5, other, 5) == 0)
        reader_warning(reader, place,
                       is_http ? "port 4317 is usually gRPC: for otlp_http use 4318, or use otlp_grpc"
                               : "port 4318 is usually HTTP: for otlp_grpc use 4317, or use otlp_http");
    else if (is_http && authority[length] == '\0')
        reader_warning(reader, place, "the URL has no path and is used unchanged: a collector accepts %s",
                       setting_is_own(setting)        ? "profiles at /v1development/profiles"
                       : setting->owner == IN_METRICS ? "metrics at /v1/metrics"
                                                      : "spans at /v1/traces");
}

void read_patterns(struct file_reader *reader, const struct node_place *place, const struct node *list,
                   struct pattern_list *patterns)
{
    unsigned index = 0;
    for (const struct item *item = list->items; item; item = item->next) {
        struct node_place at = place_of_index(place, item, index++);
        const char *text = item->value->text;
        if (item->value->kind != NODE_SCALAR || item->value->type != SCALAR_STRING || !text[0])
            reader_expected(reader, &at, "a name or a pattern", item->value);
        else if (patterns_add(patterns, text, strlen(text)) != STATUS_OK)
            reader->status = STATUS_NO_MEMORY;
    }
}

static void read_pattern_setting(struct file_reader *reader, const struct node_place *place,
                                 const struct setting *setting, const struct node *node)
{
    struct pattern_list *patterns = (void *)((char *)reader->settings + setting->offset);
    if (!reader_takes(reader, place, node, NODE_LIST, "a list of names or patterns, like [kernel, memcpy*]"))
        return;
    if (node->count > PATTERNS_MAX)
        reader_error(reader, place, "expected at most %d names or patterns, not %u", PATTERNS_MAX,
                     node->count);
    else
        read_patterns(reader, place, node, patterns);
}

static bool is_text(const struct setting *setting)
{
    return setting->type == SETTING_TEXT || setting->type == SETTING_PATH ||
           setting->type == SETTING_ENDPOINT;
}

static void wrong_type(struct file_reader *reader, const struct node_place *place,
                       const struct setting *setting, const struct node *node)
{
    char expected[SETTING_TEXT_BYTES];
    setting_expected(setting, expected);
    if (node->type == SCALAR_STRING && setting_accepts(setting, scalar_type_of(node->text)))
        reader_error(reader, place, "expected %s: remove the quotes, which make it a string", expected);
    else if (is_text(setting))
        reader_error(reader, place, "expected %s, not %s: put it in quotes", expected, node_kind_name(node));
    else if (node->type == SCALAR_STRING && !(setting->flags & SETTING_SECRET))
        reader_error(reader, place, "expected %s, not \"%.40s\"", expected, node->text);
    else
        reader_expected(reader, place, expected, node);
}

static void wrong_value(struct file_reader *reader, const struct node_place *place,
                        const struct setting *setting, const struct node *node)
{
    char expected[SETTING_TEXT_BYTES];
    setting_expected(setting, expected);
    if (setting->flags & SETTING_OPEN_WORD) {
        reader_warning(reader, place, "\"%.40s\" is not supported: using %s; expected %s", node->text,
                       setting->default_text, expected);
        return;
    }
    struct suggest suggest = {.word = node->text};
    for (const struct setting_word *word = setting->words; word && word->word; word++)
        suggest_offer(&suggest, word->word);
    if (suggest.best[0])
        reader_error(reader, place, "expected %s, not \"%.40s\"; did you mean %s?", expected, node->text,
                     suggest.best);
    else if (setting->type == SETTING_ENDPOINT ||
             setting->type == SETTING_PATH) /* the value may contain a password or a key */
        reader_error(reader, place, "expected %s", expected);
    else
        reader_error(reader, place, "expected %s, not \"%.40s\"", expected, node->text);
}

void read_setting(struct file_reader *reader, const struct node_place *place, const struct setting *setting,
                  const struct node *node)
{
    if (node_is_null(node))
        return;
    if (setting->type == SETTING_PATTERNS) {
        read_pattern_setting(reader, place, setting, node);
        return;
    }
    if (node->kind != NODE_SCALAR) {
        char expected[SETTING_TEXT_BYTES];
        reader_expected(reader, place, setting_expected(setting, expected), node);
        return;
    }
    /* The value of a variable may look like a number: ${VERSION} is 1.10.2 today and 1.11 tomorrow. */
    if (!setting_accepts(setting, node->type) && !(is_text(setting) && node->is_substituted)) {
        wrong_type(reader, place, setting, node);
        return;
    }
    void *base = setting->owner != IN_SETTINGS ? (void *)reader->output : (void *)reader->settings;
    enum status status = setting_set(setting, base, node->text);
    if (status == STATUS_INVALID)
        wrong_value(reader, place, setting, node);
    else if (status != STATUS_OK)
        reader->status = status;
    else if (setting->type == SETTING_ENDPOINT)
        warn_endpoint(reader, place, setting, node->text);
}

static void read_items(struct file_reader *reader, const struct node_place *place, const struct node *node,
                       void (*read)(struct file_reader *, const struct node_place *, const struct item *))
{
    const struct item *last = NULL;
    for (const struct item *item = node->items; item; item = item->next) {
        struct node_place at = place_of_item(place, item);
        const struct schema_key *key = schema_find(at.path);
        if (key && key->is_last)
            last = item;
        else
            read(reader, place, item);
    }
    if (last)
        read(reader, place, last);
}

void read_map(struct file_reader *reader, const struct node_place *place, const struct node *node)
{
    if (!reader_takes(reader, place, node, NODE_MAP, "a mapping"))
        return;
    read_items(reader, place, node, read_item);
}

/* "1.1", or with a suffix: "1.0-rc.2". */
static bool parse_version(const char *text, unsigned long *major, unsigned long *minor, const char **tail)
{
    char *end;
    if (text[0] < '0' || text[0] > '9')
        return false;
    *major = strtoul(text, &end, 10);
    if (end[0] != '.' || end[1] < '0' || end[1] > '9')
        return false;
    *minor = strtoul(end + 1, &end, 10);
    *tail = end;
    return *end == '\0' || *end == '-';
}

void read_file_format(struct file_reader *reader, const struct node_place *place, const struct node *node)
{
    unsigned long major, minor;
    const char *tail;
    bool is_scalar = node->kind == NODE_SCALAR && (node->type == SCALAR_STRING || node->type == SCALAR_FLOAT);
    if (!is_scalar || !parse_version(node->text, &major, &minor, &tail)) {
        reader_error(reader, place, "expected the version of the format in quotes, \"1.1\"");
        return;
    }
    if (major != 1)
        reader_error(
            reader, place,
            "version \"%.20s\" is not supported: expected \"1.1\"; adapt the file to config/cuspan.yaml",
            node->text);
    else if (*tail)
        reader_warning(reader, place,
                       "\"%.20s\" predates the stable 1.0 and is read as \"1.0\": expected \"1.1\"",
                       node->text);
    else if (minor > NEWEST_MINOR)
        reader_warning(reader, place,
                       "\"%.20s\" is newer than cuspan supports (\"1.1\"): newer keys are errors",
                       node->text);
    else if (node->type == SCALAR_FLOAT)
        reader_warning(reader, place, "a version is a string: put it in quotes, \"%.20s\"", node->text);
}

/* Other vendors' distributions are ignored. */
void read_distribution(struct file_reader *reader, const struct node_place *place, const struct node *node)
{
    if (!reader_takes(reader, place, node, NODE_MAP, "a mapping with the key cuspan"))
        return;
    for (const struct item *item = node->items; item; item = item->next) {
        struct suggest suggest = {.word = item->key};
        suggest_offer(&suggest, "cuspan");
        if (strcmp(item->key, "cuspan") == 0 || suggest.best[0])
            read_item(reader, place, item);
    }
}

static void read_known(struct file_reader *reader, const struct node_place *place,
                       const struct schema_key *key, const struct node *node)
{
    switch (key->kind) {
    case SCHEMA_MAP:
        read_map(reader, place, node);
        break;
    case SCHEMA_READER:
        reader->key = key;
        if (key->read)
            key->read(reader, place, node);
        break;
    case SCHEMA_SETTING:
        read_setting(reader, place, setting_find(key->effect), node);
        break;
    case SCHEMA_UNSUPPORTED:
        reader_warning(reader, place, "%s", key->effect);
        break;
    case SCHEMA_IGNORED:
        break;
    }
}

void read_item(struct file_reader *reader, const struct node_place *parent, const struct item *item)
{
    struct node_place place = place_of_item(parent, item);
    const struct setting *setting = setting_find(place.path);
    if (setting && setting->type != SETTING_STRUCTURE && setting->type != SETTING_PAIRS) {
        read_setting(reader, &place, setting, item->value);
        return;
    }
    const struct schema_key *key = schema_find(place.path);
    if (key)
        read_known(reader, &place, key, item->value);
    else
        reader_unknown_key(reader, parent, item);
}

/* The schema lets anyone add keys here. */
static void read_root_item(struct file_reader *reader, const struct node_place *root, const struct item *item)
{
    if (strncmp(item->key, "x-", 2) == 0) /* the conventional home of YAML anchors */
        return;
    if (schema_find(item->key) || setting_find(item->key))
        read_item(reader, root, item);
    else
        reader_plugin(reader, root, item, "unknown key: ignoring it");
}

enum status read_document(struct file_reader *reader, const struct node *root)
{
    struct node_place place = {.line = 1, .column = 1};
    if (!root || node_is_null(root)) {
        config_error(
            reader->report,
            "%s: the file is empty: expected file_format: \"1.1\" and settings, as in config/cuspan.yaml",
            reader->file);
        return STATUS_OK;
    }
    if (root->kind != NODE_MAP) {
        config_error(reader->report,
                     "%s:%u:%u: expected a mapping that starts with file_format: \"1.1\", not %s",
                     reader->file, root->line, root->column, node_kind_name(root));
        return STATUS_OK;
    }
    if (!node_find(root, "file_format"))
        config_error(reader->report,
                     "%s:1:1: file_format is missing: put file_format: \"1.1\" on the first line",
                     reader->file);
    read_items(reader, &place, root, read_root_item);
    return reader->status;
}
