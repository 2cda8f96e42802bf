#include "agent/config/file/file_reader.h"

#include "base/text/suggest.h"
#include "agent/config/text/pairs.h"

#include <stdlib.h>
#include <string.h>

struct attribute_type {
    const char *name;
    enum resource_value value;
    bool is_array;
};

static const struct attribute_type types[] = {
    {"string", RESOURCE_STRING, false},
    {"bool", RESOURCE_BOOL, false},
    {"int", RESOURCE_INT, false},
    {"double", RESOURCE_DOUBLE, false},
    {"string_array", RESOURCE_STRING, true},
    {"bool_array", RESOURCE_BOOL, true},
    {"int_array", RESOURCE_INT, true},
    {"double_array", RESOURCE_DOUBLE, true},
};

static const struct attribute_type *find_type(struct file_reader *reader, const struct node_place *place,
                                              const struct node *node)
{
    if (!node || node_is_null(node))
        return &types[0];
    if (node->kind != NODE_SCALAR || node->type != SCALAR_STRING) {
        reader_expected(reader, place, "string, bool, int, double, or one of them with _array", node);
        return NULL;
    }
    struct suggest suggest;
    suggest_init(&suggest, node->text);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i].name, node->text) == 0)
            return &types[i];
        suggest_offer(&suggest, types[i].name);
    }
    reader_error(
        reader, place, "expected string, bool, int, double, or one of them with _array, not \"%.40s\"%s%s%s",
        node->text, suggest.best[0] ? "; did you mean " : "", suggest.best, suggest.best[0] ? "?" : "");
    return NULL;
}

static bool fits(const struct node *node, enum resource_value type)
{
    if (node->kind != NODE_SCALAR)
        return false;
    switch (type) {
    case RESOURCE_STRING: /* a variable's text may look like a number */
        return node->type == SCALAR_STRING || (node->is_substituted && node->type != SCALAR_NULL);
    case RESOURCE_BOOL:
        return node->type == SCALAR_BOOL;
    case RESOURCE_INT:
        return node->type == SCALAR_INT;
    case RESOURCE_DOUBLE:
        return node->type == SCALAR_INT || node->type == SCALAR_FLOAT;
    case RESOURCE_STRING_ARRAY:
    case RESOURCE_ARRAY:
        break;
    }
    return false;
}

/* A number or a boolean. */
static bool parse_value(const char *text, enum resource_value type, union resource_item *value)
{
    bool truth;
    if (type == RESOURCE_INT)
        return scalar_parse_int(text, &value->integer);
    if (type == RESOURCE_DOUBLE)
        return scalar_parse_float(text, &value->real);
    if (!scalar_parse_bool(text, &truth))
        return false;
    value->integer = truth;
    return true;
}

static enum status set_scalar(struct resource *resource, const char *name, enum resource_value type,
                              const char *text)
{
    union resource_item value;
    if (type == RESOURCE_STRING)
        return resource_set_string(resource, name, text);
    if (!parse_value(text, type, &value))
        return STATUS_INVALID;
    if (type == RESOURCE_DOUBLE)
        return resource_set_double(resource, name, value.real);
    return type == RESOURCE_INT ? resource_set_int(resource, name, value.integer)
                                : resource_set_bool(resource, name, value.integer);
}

/* The items' texts, each with its NUL, and an empty one at the end. */
static char *join(const struct node *list)
{
    size_t bytes = 1;
    for (const struct item *item = list->items; item; item = item->next)
        bytes += strlen(item->value->text) + 1;
    char *joined = malloc(bytes);
    char *at = joined;
    for (const struct item *item = list->items; item && joined; item = item->next) {
        size_t length = strlen(item->value->text) + 1;
        memcpy(at, item->value->text, length);
        at += length;
    }
    if (joined)
        *at = '\0';
    return joined;
}

static void keep(struct file_reader *reader, const struct node_place *place, enum status status)
{
    if (status == STATUS_FULL)
        reader_error(reader, place, "more than %d attributes: remove some", RESOURCE_ATTRS_MAX);
    else if (status == STATUS_INVALID)
        reader_error(reader, place, "the number is out of range: expected at most 64 bits");
    else if (status != STATUS_OK)
        reader->status = status;
}

static enum status set_strings(struct resource *resource, const char *name, const struct node *list)
{
    char *joined = join(list);
    enum status status = joined ? resource_set_strings(resource, name, joined) : STATUS_NO_MEMORY;
    free(joined);
    return status;
}

static enum status set_items(struct resource *resource, const char *name, enum resource_value type,
                             const struct node *list)
{
    union resource_item *values = calloc(list->count + 1, sizeof *values);
    enum status status = values ? STATUS_OK : STATUS_NO_MEMORY;
    size_t index = 0;
    for (const struct item *item = list->items; item && status == STATUS_OK; item = item->next)
        if (!parse_value(item->value->text, type, &values[index++]))
            status = STATUS_INVALID;
    if (status == STATUS_OK)
        status = resource_set_array(resource, name, type, values, list->count);
    free(values);
    return status;
}

static void set_array(struct file_reader *reader, const struct node_place *place, const char *name,
                      const struct attribute_type *type, const struct node *list)
{
    if (list->kind != NODE_LIST) {
        reader_error(reader, place, "expected a list, because type is %s, not %s", type->name,
                     node_kind_name(list));
        return;
    }
    unsigned index = 0;
    for (const struct item *item = list->items; item; item = item->next) {
        struct node_place at = place_of_index(place, item, index++);
        union resource_item ignored;
        bool is_good =
            fits(item->value, type->value) && item->value->text[0] &&
            (type->value == RESOURCE_STRING || parse_value(item->value->text, type->value, &ignored));
        if (!is_good) {
            reader_error(reader, &at, "expected a value of type %s that is not empty", type->name);
            return;
        }
    }
    struct resource *resource = &reader->settings->resource;
    keep(reader, place,
         type->value == RESOURCE_STRING ? set_strings(resource, name, list)
                                        : set_items(resource, name, type->value, list));
}

static void set_attribute(struct file_reader *reader, const struct node_place *place, const char *name,
                          const struct attribute_type *type, const struct node *value)
{
    if (node_is_null(value))
        return;
    if (type->is_array)
        set_array(reader, place, name, type, value);
    else if (!fits(value, type->value))
        reader_error(reader, place, "expected a value of type %s, not %s: correct it, or set type",
                     type->name, node_kind_name(value));
    else
        keep(reader, place, set_scalar(&reader->settings->resource, name, type->value, value->text));
}

static void read_attribute(struct file_reader *reader, const struct node_place *place,
                           const struct node *node)
{
    static const char shape[] = "a mapping with the keys name, value and optionally type";
    if (node->kind != NODE_MAP) {
        reader_expected(reader, place, shape, node);
        return;
    }
    const struct item *name = node_find(node, "name"), *value = node_find(node, "value"),
                      *type_item = node_find(node, "type");
    for (const struct item *item = node->items; item; item = item->next) {
        if (item != name && item != value && item != type_item) {
            struct node_place at = place_of_item(place, item);
            reader_error(reader, &at, "unknown key: expected name, value or type");
            return;
        }
    }
    bool has_name = name && name->value->kind == NODE_SCALAR && name->value->type == SCALAR_STRING &&
                    name->value->text[0];
    if (!has_name || !value) {
        reader_error(reader, place, "%s is missing: expected %s", has_name ? "value" : "name", shape);
        return;
    }
    struct node_place type_place = type_item ? place_of_item(place, type_item) : *place;
    const struct attribute_type *type = find_type(reader, &type_place, type_item ? type_item->value : NULL);
    struct node_place value_place = place_of_item(place, value);
    if (type)
        set_attribute(reader, &value_place, name->value->text, type, value->value);
}

void read_attributes(struct file_reader *reader, const struct node_place *place, const struct node *node)
{
    if (!reader_takes(reader, place, node, NODE_LIST,
                      "a list like [{name: service.name, value: my-service}]"))
        return;
    unsigned index = 0;
    for (const struct item *item = node->items; item; item = item->next) {
        struct node_place at = place_of_index(place, item, index++);
        read_attribute(reader, &at, item->value);
    }
}

void read_attributes_list(struct file_reader *reader, const struct node_place *place, const struct node *node)
{
    if (node_is_null(node))
        return;
    if (!node_is_text(node)) {
        reader_expected(reader, place, "text like key=value,key=value", node);
        return;
    }
    struct error err = {""};
    enum status status = pairs_to_resource(node->text, &reader->settings->resource, &err);
    if (status == STATUS_INVALID)
        reader_warning(reader, place, "ignoring the whole list: %s", err.text);
    else if (status != STATUS_OK)
        reader->status = status;
}
