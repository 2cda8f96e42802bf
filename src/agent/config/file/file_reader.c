#include "agent/config/file/file_reader.h"

#include "base/text/suggest.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MESSAGE_BYTES 320

static void append_path(char *path, size_t size, const char *separator, const char *key)
{
    size_t used = strlen(path);
    snprintf(path + used, size - used, "%s%s", path[0] ? separator : "", key);
}

struct node_place place_of_item(const struct node_place *parent, const struct item *item)
{
    struct node_place place = *parent;
    append_path(place.shown, sizeof place.shown, ".", item->key);
    append_path(place.path, sizeof place.path, ".", item->key);
    place.line = item->line;
    place.column = item->column;
    return place;
}

struct node_place place_of_index(const struct node_place *parent, const struct item *item, unsigned index)
{
    char shown[16];
    snprintf(shown, sizeof shown, "[%u]", index);
    struct node_place place = *parent;
    append_path(place.shown, sizeof place.shown, "", shown);
    append_path(place.path, sizeof place.path, "", "[]");
    place.line = item->line;
    place.column = item->column;
    return place;
}

typedef void add_line_fn(struct config_report *report, const char *format, ...);

static void add_line(struct file_reader *reader, const struct node_place *place, add_line_fn *add,
                     const char *format, va_list args)
{
    char text[MESSAGE_BYTES];
    vsnprintf(text, sizeof text, format, args);
    add(reader->report, "%s:%u:%u: %s: %s", reader->file, place->line, place->column, place->shown, text);
}

void reader_error(struct file_reader *reader, const struct node_place *place, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_line(reader, place, config_error, format, args);
    va_end(args);
}

void reader_warning(struct file_reader *reader, const struct node_place *place, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_line(reader, place, config_warning, format, args);
    va_end(args);
}

void reader_expected(struct file_reader *reader, const struct node_place *place, const char *what,
                     const struct node *node)
{
    reader_error(reader, place, "expected %s, not %s", what, node_kind_name(node));
}

bool reader_takes(struct file_reader *reader, const struct node_place *place, const struct node *node,
                  enum node_kind kind, const char *what)
{
    if (node->kind != kind && !node_is_null(node))
        reader_expected(reader, place, what, node);
    return node->kind == kind;
}

/* The component of `path` directly below `prefix`. False: it is not below it. */
static bool part_below(const char *path, const char *prefix, char part[SUGGEST_WORD_MAX + 1])
{
    size_t length = strlen(prefix);
    if (length > 0) {
        if (strncmp(path, prefix, length) != 0 || path[length] != '.')
            return false;
        path += length + 1;
    }
    size_t part_length = strcspn(path, ".[");
    if (part_length == 0 || part_length > SUGGEST_WORD_MAX)
        return false;
    memcpy(part, path, part_length);
    part[part_length] = '\0';
    return true;
}

struct known_keys {
    struct suggest suggest;
    char last[SUGGEST_WORD_MAX + 1]; /* consecutive rows often have the same parent */
    char list[200];
    size_t used;
};

static bool is_listed(const struct known_keys *keys, const char *part)
{
    size_t length = strlen(part);
    for (const char *at = keys->list; (at = strstr(at, part)); at += length) {
        bool begins = at == keys->list || at[-1] == ' ';
        if (begins && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

static void know(struct known_keys *keys, const char *path, const char *prefix)
{
    char part[SUGGEST_WORD_MAX + 1];
    if (!path || !part_below(path, prefix, part) || strcmp(part, keys->last) == 0)
        return;
    memcpy(keys->last, part, sizeof part);
    suggest_offer(&keys->suggest, part);
    size_t length = strlen(part);
    if (is_listed(keys, part) || keys->used + length + 3 > sizeof keys->list)
        return;
    keys->used += (size_t)snprintf(keys->list + keys->used, sizeof keys->list - keys->used, "%s%s",
                                   keys->used ? ", " : "", part);
}

static void find_known_keys(struct known_keys *keys, const char *word, const char *prefix)
{
    memset(keys, 0, sizeof *keys);
    keys->suggest = (struct suggest){.word = word};
    for (size_t i = 0; i < settings_count; i++)
        know(keys, settings_table[i].comment ? settings_table[i].path : NULL, prefix);
    for (unsigned i = 0; i < schema_key_count; i++)
        know(keys, schema_keys[i].path, prefix);
    for (unsigned i = 0; i < view_key_count; i++)
        know(keys, view_keys[i].path, prefix);
}

void reader_unknown_key(struct file_reader *reader, const struct node_place *parent, const struct item *item)
{
    struct known_keys keys;
    struct node_place place = place_of_item(parent, item);
    find_known_keys(&keys, item->key, parent->path);
    if (keys.suggest.best[0])
        reader_error(reader, &place, "unknown key; did you mean %s?", keys.suggest.best);
    else if (keys.list[0])
        reader_error(reader, &place, "unknown key: expected one of %s", keys.list);
    else
        reader_error(reader, &place, "unknown key: expected none here");
}

void reader_plugin(struct file_reader *reader, const struct node_place *parent, const struct item *item,
                   const char *effect)
{
    struct known_keys keys;
    find_known_keys(&keys, item->key, parent->path);
    if (keys.suggest.best[0]) {
        reader_unknown_key(reader, parent, item);
        return;
    }
    struct node_place place = place_of_item(parent, item);
    reader_warning(reader, &place, "%s", effect);
}
